"""GET /docs: a page to read and try the interface with, which needs nothing from elsewhere.

Swagger UI comes from the package flask-swagger-ui, as files alone: its own page has scripts in the
HTML, which our policy forbids.
"""

from flask import Blueprint, Response, abort

from deeds.blueprints.pages import STATIC, file_answer, page_answer, read_file

# Swagger UI has its icons in its style sheet, as data: URIs.
_ALLOWED = "script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'"

_JAVASCRIPT = "text/javascript; charset=utf-8"
_CSS = "text/css; charset=utf-8"

_SWAGGER_UI = ("flask_swagger_ui", "dist")

_FILES = {
    "docs.css": (STATIC, _CSS),
    "docs.js": (STATIC, _JAVASCRIPT),
    "favicon-32x32.png": (_SWAGGER_UI, "image/png"),
    "swagger-ui-bundle.js": (_SWAGGER_UI, _JAVASCRIPT),
    "swagger-ui.css": (_SWAGGER_UI, _CSS),
}


def docs_blueprint() -> Blueprint:
    """Return the blueprint."""
    blueprint = Blueprint("docs", __name__)

    # Both are served: a redirect from one to the other would have an HTML body.
    @blueprint.get("/docs")
    @blueprint.get("/docs/")
    def read_docs() -> Response:
        return page_answer(read_file(STATIC, "docs.html").decode("utf-8"), allowed=_ALLOWED)

    @blueprint.get("/docs/<name>")
    def read_docs_file(name: str) -> Response:
        if name not in _FILES:
            abort(404)
        place, media_type = _FILES[name]
        return file_answer(read_file(place, name), media_type)

    return blueprint
