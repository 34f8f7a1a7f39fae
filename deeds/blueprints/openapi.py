"""GET /openapi.json: this interface in OpenAPI 3.1, for programs."""

import functools
import json
import threading
from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response, request


def openapi_blueprint(info: Mapping[str, Any]) -> Blueprint:
    """Return the blueprint; `info` is what GET /v1/info tells."""
    blueprint = Blueprint("openapi", __name__)
    building = threading.Lock()

    @functools.cache
    def text() -> bytes:
        # Not before somebody asks: importing apispec would slow every start.
        from deeds.blueprints.openapi_document import build_document  # noqa: PLC0415

        document = build_document(info)
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8")

    @blueprint.get("/openapi.json")
    def read_document() -> Response:
        with building:
            answer = Response(text(), content_type="application/json")
        answer.headers["Cache-Control"] = "no-cache"
        answer.add_etag()
        answer.make_conditional(request)
        return answer

    return blueprint
