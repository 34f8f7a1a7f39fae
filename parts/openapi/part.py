"""GET /openapi.json: the interface in OpenAPI 3.1.

The document is openapi.json beside this file. Only the maximum length of arrays depends
on the settings. Ids and secrets in it are examples. Tests compare it with the routes,
the schemas and the errors.
"""

import json
from pathlib import Path

from flask import Flask, Response, request

from deeds.part import Core, Part

_FILE = Path(__file__).parent / "openapi.json"


def register(app: Flask, core: Core) -> None:
    """Add the route of the document."""
    document = json.loads(_FILE.read_text(encoding="utf-8"))
    for schema in document["components"]["schemas"].values():
        for field in schema.get("properties", {}).values():
            if "maxItems" in field:
                field["maxItems"] = core.settings.array_length_max
    content = json.dumps(document, ensure_ascii=False).encode()

    @app.get("/openapi.json")
    def read_openapi() -> Response:
        answer = Response(content, content_type="application/json")
        # Caches revalidate it each time; the ETag avoids sending it again.
        answer.headers["Cache-Control"] = "no-cache"
        answer.add_etag()
        answer.make_conditional(request)
        return answer


PART = Part("openapi", register)
