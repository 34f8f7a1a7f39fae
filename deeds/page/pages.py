"""GET /, /claim, /wallet and /item/{id}: the pages for people, and the files that they load.

What is personal in them, secrets above all, is in the browser and never comes here.
"""

from http import HTTPStatus
from typing import Any

from flask import Blueprint, Response, abort, render_template, request

from deeds.blueprints.problem_table import PROBLEMS
from deeds.blueprints.problems import retry_after
from deeds.blueprints.request_log import notes
from deeds.blueprints.responses import FOREVER, file_answer, page_answer
from deeds.domain.errors import DeedError, ItemNotFoundError, RetryLaterError
from deeds.domain.service import DeedService
from deeds.page.card import deed_card
from deeds.page.static_files import StaticFiles

# Pictures come from wherever the metadata says, and scripts are files of ours alone: no text is
# ever made into HTML or code (Trusted Types).
_ALLOWED = (
    "script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' blob: data: https: http:; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)

# The camera scans QR codes. A window that opened a page of ours, or that one opens, sees nothing.
_HEADERS = {
    "Permissions-Policy": "camera=(self), microphone=(), geolocation=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def pages_blueprint(
    service: DeedService, static: StaticFiles, *, array_length_max: int
) -> Blueprint:
    """Return the blueprint; `array_length_max` is how many outputs a mint may have."""
    blueprint = Blueprint("pages", __name__, template_folder="templates")

    @blueprint.get("/")
    def read_mint_page() -> Response:
        return _page("mint.html", static, outputs_max=array_length_max)

    @blueprint.get("/claim")
    def read_claim_page() -> Response:
        return _page("claim.html", static)

    @blueprint.get("/wallet")
    def read_wallet_page() -> Response:
        return _page("wallet.html", static)

    @blueprint.get("/item/<item_id>", endpoint="item")
    def read_item_page(item_id: str) -> Response:
        try:
            card = deed_card(service.item(item_id))
        except (ItemNotFoundError, RetryLaterError) as error:
            return _no_item(error, static)
        scheme = "https" if request.is_secure else "http"
        # Empty where the header Host holds what no host name can.
        host = request.host
        address = f"{scheme}://{host}/item/{card.item_id}" if host else None
        return _page("item.html", static, card=card, address=address)

    @blueprint.get("/web/<version>/<path:name>")
    def read_web_file(version: str, name: str) -> Response:
        file = static.by_name.get(name)
        # Another release's: to answer with ours would mix the modules of two.
        if file is None or version != static.version:
            abort(404)
        answer = file_answer(file.content, file.media_type)
        answer.headers["Cache-Control"] = FOREVER
        return answer

    return blueprint


def not_found_page(static: StaticFiles) -> Response:
    """Return the page for a browser that asked for a path that does not exist."""
    return _page("not_found.html", static, status=HTTPStatus.NOT_FOUND)


def _no_item(error: DeedError, static: StaticFiles) -> Response:
    problem = PROBLEMS[error.code]
    notes().problem_code = problem.code
    is_unknown = problem.status == HTTPStatus.NOT_FOUND
    answer = _page("no_item.html", static, status=problem.status, is_unknown=is_unknown)
    answer.headers.update(retry_after(error))
    return answer


def _page(
    template: str, static: StaticFiles, *, status: int = HTTPStatus.OK, **values: Any
) -> Response:
    """Return a template filled in, with the modules of the page that has the template's name."""
    name = template.removesuffix(".html")
    modules = [static.url(each) for each in static.modules.get(name, ())]
    html = render_template(template, page=name, url=static.url, modules=modules, **values)
    answer = page_answer(html, allowed=_ALLOWED, status=status)
    answer.headers.update(_HEADERS)
    return answer
