"""The web pages, such as GET /claim, /wallet, /item/{id} and /docs.

Scripts in the browser add personal data, above all secrets. The server receives no
personal data here, except for the texts of QR codes.
"""

import functools
from collections.abc import Callable, Mapping
from http import HTTPStatus
from operator import attrgetter
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from babel import Locale
from babel.support import Translations
from flask import (
    Blueprint,
    Flask,
    Response,
    abort,
    current_app,
    make_response,
    redirect,
    render_template,
    request,
)
from flask_babel import Babel, Domain, force_locale, get_locale
from werkzeug.exceptions import NotFound

from deeds.blueprints.answers import FOREVER, PROBLEM_MEDIA_TYPE, http_error_answer
from deeds.blueprints.log import request_notes
from deeds.blueprints.requests import client_of
from deeds.errors import DeedError, PathNotFoundError
from deeds.part import Core
from parts.pages.answers import MEDIA_TYPES, file_answer, page_answer
from parts.pages.card import DeedCard, clock_text, deed_card
from parts.pages.offers import Offer, OfferCard, offer_card
from parts.pages.picture import picture_answer, uploaded_picture
from parts.pages.qr_codes import serve_qr_codes
from parts.pages.static_files import (
    LANGUAGE_HEADERS,
    StaticFiles,
    read_static_files,
    serve_offline,
)

# Pictures may come from any address, because metadata names them; scripts only from our
# files. Trusted Types prevent text from becoming HTML or code: the only policy returns
# the address of the service worker.
_ALLOWED = (
    "script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' blob: data: https: http:; "
    "worker-src 'self'; manifest-src 'self'; "
    "require-trusted-types-for 'script'; trusted-types deeds-offline"
)

# The camera scans QR codes. Windows of other origins that open a page, or that it
# opens, have no access to it.
_HEADERS = {
    "Permissions-Policy": "camera=(self), microphone=(), geolocation=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}

# The policy of the documentation. Swagger UI's style sheet has icons as data: URIs.
_DOCS_ALLOWED = (
    "script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'"
)
_PROBLEMS_ALLOWED = "style-src 'self'; img-src 'self'; manifest-src 'self'"

# Pages without personal data, which scripts add in the browser.
_PAGES = {"landing": "/"} | {
    name: f"/{name}"
    for name in ("mint", "claim", "offer", "wallet", "door", "till", "help")
}

# The language of texts without a catalogue.
_OWN_LANGUAGE = "en"
_YEAR_S = 31_536_000


# Cached, because tests and `deeds dev` create many services in a process, and reading
# the files takes most of that time.
read_static_files_once = functools.cache(read_static_files)


def register(app: Flask, core: Core) -> None:
    """Add the pages, including those of offers if that part is loaded."""
    static = read_static_files_once()
    languages = _add_languages(app, static.translations)
    blueprint = Blueprint("pages", __name__, template_folder="templates")
    blueprint.add_app_template_filter(clock_text, "clock")
    array_length_max = core.settings.array_length_max
    blueprint.app_context_processor(
        lambda: {
            "static": static,
            "array_length_max": array_length_max,
            "contact": core.settings.contact,
            "needs_mint_token": core.info.get("minting") == "token",
            "language": get_locale(),
            "languages": languages,
        }
    )
    pages = _PAGES.copy()
    if offers := app.extensions.get("deeds.offers"):
        _serve_offers(blueprint, core, offers.read)
    else:
        del pages["offer"]
    for name, path in pages.items():
        blueprint.get(path, endpoint=name)(functools.partial(_page, name))
    _serve_files(blueprint, static)
    _serve_items(blueprint, core)
    serve_qr_codes(blueprint, core.limits)
    _serve_documentation(blueprint, core)
    serve_offline(blueprint, static, list(pages.values()))
    app.register_blueprint(blueprint)
    app.register_error_handler(NotFound, _answer_not_found)


def _add_languages(
    app: Flask, translations: Mapping[str, Translations]
) -> dict[str, Locale]:
    """Let pages have the chosen language, else the browser's; return all languages."""
    languages = {name: Locale.parse(name) for name in (_OWN_LANGUAGE, *translations)}
    app.extensions["languages"] = languages

    def select() -> str:
        chosen = request.cookies.get("language", "")
        best = request.accept_languages.best_match(languages, _OWN_LANGUAGE)
        return chosen if chosen in languages else best

    # Fill Flask-Babel's cache. Otherwise it would look for compiled catalogues, and
    # there are none.
    domain = Domain()
    for language, texts in translations.items():
        domain.cache[language, "messages"] = texts
    Babel(app, locale_selector=select).domain_instance = domain
    return languages


def _serve_files(blueprint: Blueprint, static: StaticFiles) -> None:
    @blueprint.get("/web/<version>/<path:name>")
    def read_web_file(version: str, name: str) -> Response:
        # A file of another release: serving ours would mix the modules of two.
        if name not in static.by_name or version != static.version:
            abort(404)
        answer = file_answer(static.by_name[name], MEDIA_TYPES[PurePath(name).suffix])
        answer.headers["Cache-Control"] = FOREVER
        return answer


def _answer_not_found(error: NotFound) -> Response:
    """Respond to browsers with a page, and to other clients with a problem."""
    types = ["application/json", PROBLEM_MEDIA_TYPE, "text/html"]
    wants_page = request.accept_mimetypes.best_match(types) == "text/html"
    if not wants_page or f"{request.path}/".startswith("/v1/"):
        return http_error_answer(error)
    request_notes().problem_code = PathNotFoundError.code
    return _page("not_found", status=HTTPStatus.NOT_FOUND)


def _serve_items(blueprint: Blueprint, core: Core) -> None:
    def read_card(item_id: str) -> DeedCard:
        # Count here, where callers catch the error: a browser still gets a page.
        core.limits.count("item", client_of(request))
        return deed_card(core.service.item(item_id))

    @blueprint.get("/item/<item_id>")
    def read_item_page(item_id: str) -> Response:
        try:
            card = read_card(item_id)
        except DeedError as error:
            request_notes().problem_code = error.code
            return _page("no_item", status=error.status)
        return _page("item", card=card)

    @blueprint.get("/item/<item_id>/picture")
    def read_picture(item_id: str) -> Response:
        picture = uploaded_picture(read_card(item_id).image)
        if picture is None:
            abort(404)
        return picture_answer(*picture)

    @blueprint.get("/claim/<item_id>", strict_slashes=False)
    def read_claim_page(item_id: str) -> Response:
        return _page_with_card("claim", read_card, item_id)


def _serve_offers(
    blueprint: Blueprint, core: Core, read_offer: Callable[[str], Offer]
) -> None:
    def read_card(offer_id: str) -> OfferCard | None:
        core.limits.count("item", client_of(request))
        offer = read_offer(offer_id)
        if offer.state != "open":
            # The page's script shows the state.
            return None
        return offer_card(offer, lambda each: deed_card(core.service.item(each)))

    @blueprint.get("/offer/<offer_id>", strict_slashes=False)
    def read_offer_page(offer_id: str) -> Response:
        return _page_with_card("offer", read_card, offer_id)


def _serve_documentation(blueprint: Blueprint, core: Core) -> None:
    @blueprint.get("/docs", strict_slashes=False)
    def read_docs() -> Response:
        with force_locale(_OWN_LANGUAGE):
            html = render_template("docs.html", page="docs")
        return page_answer(html, allowed=_DOCS_ALLOWED)

    @blueprint.get("/problems", strict_slashes=False)
    def read_problems() -> Response:
        problems = sorted(core.errors, key=attrgetter("status"))
        return _page("problems", allowed=_PROBLEMS_ALLOWED, problems=problems)


def _page_with_card(
    name: str, read_card: Callable[[str], DeedCard | OfferCard | None], card_id: str
) -> Response:
    try:
        return _page(name, card=read_card(card_id))
    except DeedError as error:
        request_notes().problem_code = error.code
        # The page's script repeats the request and shows the error.
        return _page(name)


def _page(
    name: str, *, status: int = HTTPStatus.OK, allowed: str = _ALLOWED, **values: Any
) -> Response:
    language = request.args.get("language", "")
    if language in current_app.extensions["languages"]:
        return _switch_answer(language)
    # Not request.scheme, because a proxy may forward any text of a client.
    scheme = "https" if request.is_secure else "http"
    # Empty if the header Host is not a valid host name.
    origin = f"{scheme}://{request.host}" if request.host else ""
    html = render_template(
        f"{name}.html", page=name, status=status, origin=origin, **values
    )
    answer = page_answer(html, allowed=allowed, status=status)
    answer.headers.update(_HEADERS)
    answer.vary.update(LANGUAGE_HEADERS)
    return answer


def _switch_answer(language: str) -> Response:
    """Redirect to the same page, and set the language from now on.

    Browsers keep the fragment of the address.
    """
    # Relative, because a path such as `//example.org/` would lead to another site.
    # Quoted, because a path may contain line breaks, and a header must not.
    address = "./" + quote(request.path.rpartition("/")[2])
    answer = make_response(redirect(address, HTTPStatus.SEE_OTHER))
    answer.set_cookie(
        "language", language, _YEAR_S, secure=request.is_secure, samesite="Lax"
    )
    return answer
