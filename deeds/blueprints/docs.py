"""GET /openapi.json, /docs, a page to read and try the interface with, and /problems.

Swagger UI comes from the package flask-swagger-ui, as files alone: its own page has
scripts in the HTML, which our policy forbids. Head and foot are those of the pages
(deeds/page/templates).
"""

import functools
import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import PurePath
from typing import Any

from flask import Blueprint, Response, abort, render_template

from deeds.blueprints.openapi import build_document
from deeds.blueprints.problems import PROBLEMS
from deeds.blueprints.responses import MEDIA_TYPES, file_answer, page_answer

# Swagger UI has its icons in its style sheet, as data: URIs.
_ALLOWED = (
    "script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'"
)

_OURS = files("deeds.blueprints") / "static"
_SWAGGER_UI = files("flask_swagger_ui") / "dist"

# Where the files are that the pages load.
_DIRECTORIES = dict.fromkeys(("docs.css", "docs.js", "problems.css"), _OURS)
_DIRECTORIES |= dict.fromkeys(("swagger-ui-bundle.js", "swagger-ui.css"), _SWAGGER_UI)


def docs_blueprint(info: Mapping[str, Any]) -> Blueprint:
    """Return the blueprint; `info` is what GET /v1/info tells."""
    blueprint = Blueprint("docs", __name__, template_folder="templates")

    @functools.cache
    def openapi_text() -> bytes:
        return json.dumps(build_document(info), ensure_ascii=False).encode("utf-8")

    @blueprint.get("/openapi.json")
    def read_openapi() -> Response:
        return file_answer(openapi_text(), "application/json")

    @blueprint.get("/docs", strict_slashes=False)
    def read_docs() -> Response:
        return page_answer(render_template("docs.html"), allowed=_ALLOWED)

    @blueprint.get("/docs/<name>")
    def read_docs_file(name: str) -> Response:
        if name not in _DIRECTORIES:
            abort(404)
        return file_answer(
            (_DIRECTORIES[name] / name).read_bytes(), MEDIA_TYPES[PurePath(name).suffix]
        )

    @blueprint.get("/problems")
    def read_problems() -> Response:
        html = render_template(
            "problems.html", page="problems", problems=PROBLEMS.values()
        )
        return page_answer(
            html, allowed="style-src 'self'; img-src 'self'; manifest-src 'self'"
        )

    return blueprint
