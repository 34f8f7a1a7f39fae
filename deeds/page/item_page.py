"""GET /item/{id}: a deed as a card that people can look at, without any script."""

from http import HTTPStatus

from flask import Blueprint, Response, request

from deeds.blueprints.problem_table import PROBLEMS
from deeds.blueprints.request_log import notes
from deeds.domain.errors import DeedError, ItemNotFoundError, RetryLaterError
from deeds.domain.service import DeedService
from deeds.page.deed_card import deed_card
from deeds.page.static_files import StaticFiles
from deeds.page.web_page import web_page


def item_page_blueprint(service: DeedService, static: StaticFiles) -> Blueprint:
    """Return the blueprint."""
    blueprint = Blueprint("item_page", __name__, template_folder="templates")

    @blueprint.get("/item/<item_id>")
    def read_item_page(item_id: str) -> Response:
        try:
            card = deed_card(service.item(item_id))
        except ItemNotFoundError as error:
            return _no_item(error, static)
        except RetryLaterError as error:
            answer = _no_item(error, static)
            answer.headers["Retry-After"] = str(error.retry_after_s)
            return answer
        scheme = "https" if request.is_secure else "http"
        # Empty where the header Host holds what no host name can.
        host = request.host
        address = f"{scheme}://{host}/item/{card.item_id}" if host else None
        return web_page("item.html", static, card=card, address=address)

    return blueprint


def _no_item(error: DeedError, static: StaticFiles) -> Response:
    problem = PROBLEMS[error.code]
    notes().problem_code = problem.code
    is_unknown = problem.status == HTTPStatus.NOT_FOUND
    return web_page("no_item.html", static, status=problem.status, is_unknown=is_unknown)
