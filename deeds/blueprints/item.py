"""GET /v1/item/{id} (contract 4.3)."""

from flask import Blueprint, Response, request

from deeds.blueprints.answers import json_answer
from deeds.domain.service import DeedService
from schemas.item import ItemSchema

# An item never changes after its mint: a year, the longest that caches honour.
FOREVER = "public, max-age=31536000, immutable"


def item_blueprint(service: DeedService) -> Blueprint:
    """Return the blueprint."""
    blueprint = Blueprint("item", __name__)
    schema = ItemSchema()

    @blueprint.get("/v1/item/<item_id>")
    def item(item_id: str) -> Response:
        body = schema.dump(service.item(item_id))
        answer = json_answer(body, headers={"Cache-Control": FOREVER})
        answer.add_etag()
        answer.make_conditional(request)
        return answer

    return blueprint
