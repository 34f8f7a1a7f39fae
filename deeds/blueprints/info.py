"""GET /v1/info (contract part 2): what are the limits?"""

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response

from deeds.blueprints.answers import json_answer
from schemas.info import InfoSchema


def info_blueprint(info: Mapping[str, Any]) -> Blueprint:
    """Return the blueprint; `info` has the attributes of `schemas.info.InfoSchema`."""
    blueprint = Blueprint("info", __name__)
    body = InfoSchema().dump(info)

    @blueprint.get("/v1/info")
    def read_info() -> Response:
        return json_answer(body)

    return blueprint
