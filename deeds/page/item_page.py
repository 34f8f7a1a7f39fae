"""GET /item/{id}: a deed as a card that people can look at, without any script."""

from http import HTTPStatus

from flask import Blueprint, Response, request

from deeds.blueprints.problem_table import PROBLEMS
from deeds.blueprints.request_log import notes
from deeds.domain.errors import DeedError, ItemNotFoundError, RetryLaterError
from deeds.domain.service import DeedService
from deeds.page.deed_card import deed_card
from deeds.page.public_address import public_origin
from deeds.page.static_files import StaticFiles
from deeds.page.web_page import web_page


def item_page_blueprint(
    service: DeedService, static: StaticFiles, *, trusted_proxies: int
) -> Blueprint:
    """Return the blueprint; so many proxies may say that a request came by TLS."""
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
        origin = public_origin(request, trusted_proxies)
        address = origin and f"{origin}/item/{card.item_id}"
        return web_page("item.html", static, card=card, address=address)

    return blueprint


def _no_item(error: DeedError, static: StaticFiles) -> Response:
    problem = PROBLEMS[error.code]
    notes().problem_code = problem.code
    is_unknown = problem.status == HTTPStatus.NOT_FOUND
    return web_page("no_item.html", static, status=problem.status, is_unknown=is_unknown)
