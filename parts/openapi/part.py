"""GET /openapi.json: the interface in OpenAPI 3.1.

openapi.json beside this file is the whole document; no id or secret in it is real. Only
what depends on the settings and on other parts is filled in here. Tests compare it with
the routes, the schemas and the errors.
"""

import functools
import json
import re
from pathlib import Path
from typing import Any

from flask import Flask, Response, request

from deeds.blueprints.v1 import INTERFACE_VERSION
from deeds.part import Core, Part

_FILE = Path(__file__).parent / "openapi.json"


def register(app: Flask, core: Core) -> None:
    """Add the route of the document, which is made at its first request."""

    @functools.cache
    def text() -> bytes:
        # By now every part has registered its routes.
        rules = [rule.rule for rule in app.url_map.iter_rules()]
        return json.dumps(build_document(core, rules), ensure_ascii=False).encode()

    @app.get("/openapi.json")
    def read_openapi() -> Response:
        answer = Response(text(), content_type="application/json")
        # Asked for again each time; the ETag spares sending it.
        answer.headers["Cache-Control"] = "no-cache"
        answer.add_etag()
        answer.make_conditional(request)
        return answer


def build_document(core: Core, rules: list[str]) -> dict[str, Any]:
    """Return the document of a service with these rules of Flask's, and no others."""
    document: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    document["info"]["version"] = INTERFACE_VERSION
    served = {re.sub("<[^>]+>", "{id}", rule) for rule in rules}
    for path in document["paths"].keys() - served:
        del document["paths"][path]
    schemas = document["components"]["schemas"]
    schemas["Limits"]["required"] = sorted(core.info["limits"])
    schemas["Problem"]["properties"]["code"]["enum"] = [
        error.code for error in core.errors
    ]
    for schema in schemas.values():
        for field in schema.get("properties", {}).values():
            if "maxItems" in field:
                field["maxItems"] = core.settings.array_length_max
    return document


PART = Part("openapi", register)
