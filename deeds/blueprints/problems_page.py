"""GET /problems: what every problem means, for people. `type` of every problem leads here."""

from flask import Blueprint, Response, render_template

from deeds.blueprints.pages import STATIC, file_answer, page_answer, read_file
from deeds.blueprints.problem_table import PROBLEMS


def problems_page_blueprint() -> Blueprint:
    """Return the blueprint."""
    blueprint = Blueprint("problems_page", __name__, template_folder="templates")

    @blueprint.get("/problems")
    def read_problems() -> Response:
        page = render_template("problems.html", problems=PROBLEMS.values())
        return page_answer(page, allowed="style-src 'self'")

    @blueprint.get("/problems.css")
    def read_style() -> Response:
        return file_answer(read_file(STATIC, "problems.css"), "text/css; charset=utf-8")

    return blueprint
