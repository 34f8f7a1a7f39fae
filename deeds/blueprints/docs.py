"""GET /docs, a page to read and try the interface with, and GET /problems, what each error means.

Swagger UI comes from the package flask-swagger-ui, as files alone: its own page has scripts in the
HTML, which our policy forbids.
"""

from flask import Blueprint, Response, abort, render_template

from deeds.blueprints.problem_table import PROBLEMS
from deeds.blueprints.responses import STATIC, file_answer, page_answer, read_file

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
    blueprint = Blueprint("docs", __name__, template_folder="templates")

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

    @blueprint.get("/problems")
    def read_problems() -> Response:
        page = render_template("problems.html", problems=PROBLEMS.values())
        return page_answer(page, allowed="style-src 'self'")

    @blueprint.get("/problems.css")
    def read_problems_style() -> Response:
        return file_answer(read_file(STATIC, "problems.css"), _CSS)

    return blueprint
