"""All headers of every answer, of each route with each method, and every problem.

Every problem has one shape and is in the documents. A path that does not exist
is a page for browsers, outside /v1.
"""

import re
from unittest.mock import ANY

import pytest

from tests.support.api import refusal
from tests.support.databases import on_shared_sqlite, on_sqlite
from tests.support.openapi import answer_faults, operation_of
from tests.support.problems import PROBLEMS
from tests.support.ways_to_fail import PLACES, WAYS, Ground

METHODS = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"]
METHODS += ["", "PO ST", "POST\n", "P\xd6ST", "M" * 10_000, "<b>"]
READ, WRITE = {"GET", "HEAD", "OPTIONS"}, {"POST", "OPTIONS"}
TAKEN = {
    "/v1/mint": WRITE,
    "/v1/swap": WRITE,
    "/v1/check": WRITE,
    "/v1/find": WRITE,
    "/v1/item/deed_x": READ,
    "/v1/info": READ,
    "/v1/offers": WRITE,
    "/v1/offers/find": WRITE,
    "/v1/offers/offer_x": READ,
    "/v1/offers/offer_x/complete": WRITE,
}

# What fills the variable part of a route.
VALUES = {
    "<item_id>": "deed_x",
    "<offer:offer_id>": "offer_x",
    "<offer_id>": "offer_x",
    "<version>/<path:name>": "x/deeds.css",
}

NO_ROUTES = ["/nothing", "/v1/nothing", "/docs/nothing", "/v1/item/"]

# Headers, by their names in lower case.
EVERY = {
    "content-length": ANY,
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-request-id": ANY,
}
EXPOSED = "ETag, Idempotency-Replayed, Retry-After, X-Request-ID"
CORS = {
    "access-control-allow-origin": "*",
    "access-control-expose-headers": EXPOSED,
}
PREFLIGHT = {
    "access-control-allow-headers": ANY,
    "access-control-allow-methods": ANY,
    "access-control-max-age": "86400",
    "vary": "Access-Control-Request-Headers",
}
NO_STORE = {"cache-control": "no-store"}
NO_CACHE = {"cache-control": "no-cache", "etag": ANY, "date": ANY}
PROBLEM = NO_STORE | {"content-type": "application/problem+json"}
JSON = NO_STORE | {"content-type": "application/json"}
FILE = NO_CACHE | {"content-type": ANY}
TEXT = {"content-type": ANY, "vary": "Accept-Encoding"}
# Of the pages, tests/page holds the policies.
HTML = TEXT | {"content-security-policy": ANY}
# The language is the one of a cookie, or that the browser asks for.
LANGUAGE = "Accept-Language, Cookie"
IN_LANGUAGES = {"vary": f"Accept-Encoding, {LANGUAGE}"}
PAGE = (HTML | IN_LANGUAGES) | {
    "permissions-policy": "camera=(self), microphone=(), geolocation=()",
    "cross-origin-opener-policy": "same-origin",
}

# What a GET is answered with, unless it is a page.
FOUND = {
    "/docs": HTML | NO_CACHE,
    # The service worker may fetch what it keeps.
    "/sw.js": (TEXT | IN_LANGUAGES)
    | NO_CACHE
    | {"content-security-policy": "default-src 'none'; connect-src 'self'"},
    "/manifest.webmanifest": FILE | {"vary": LANGUAGE},
    "/openapi.json": FILE,
    "/healthz": JSON,
    "/readyz": JSON,
    "/v1/info": JSON,
}
LATER = {"retry-after": ANY}
OF_STATUS = {401: {"www-authenticate": ANY}, 405: {"allow": ANY}}
OF_STATUS |= {429: LATER, 503: LATER}

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


def expected_headers(answer):
    """Return the headers that such an answer has, all and no more."""
    path, status = answer.request.url.path, answer.status_code
    is_v1 = path.startswith("/v1/")
    expected = EVERY | CORS if is_v1 else EVERY
    if (path, status) == ("/item/deed_x", 404):
        return expected | PAGE | NO_STORE
    if status >= 400:
        return expected | PROBLEM | OF_STATUS.get(status, {})
    if answer.request.method == "OPTIONS":
        allow = {"allow": ANY}
        return expected | allow | PREFLIGHT if is_v1 else expected | allow
    return expected | FOUND.get(path, PAGE | NO_CACHE)


@on_shared_sqlite
@pytest.mark.parametrize("method", METHODS)
def test_every_route_answers_every_method_with_its_headers(
    shared_app, shared_api, method
):
    routes = "\n".join(rule.rule for rule in shared_app.url_map.iter_rules())
    for name, value in VALUES.items():
        routes = routes.replace(name, value)
    paths = routes.split() + NO_ROUTES
    plain = {"Accept-Encoding": "identity"}

    answers = [shared_api.http.request(method, path, headers=plain) for path in paths]

    headers = {each.request.url.path: dict(each.headers) for each in answers}
    assert headers == {
        each.request.url.path: expected_headers(each) for each in answers
    }
    ids = {each["x-request-id"] for each in headers.values()}
    assert len(ids) == len(answers)
    assert [each for each in ids if not re.fullmatch("[0-9a-f]{32}", each)] == []


@on_shared_sqlite
@pytest.mark.parametrize(("path", "taken"), TAKEN.items(), ids=TAKEN)
def test_a_path_of_the_interface_takes_its_methods_and_no_others(
    shared_api, path, taken
):
    answers = {method: shared_api.http.request(method, path) for method in METHODS}

    refused = {method for method in METHODS if answers[method].status_code == 405}
    assert refused == set(METHODS) - taken
    for method in (*refused, "OPTIONS"):
        assert set(answers[method].headers["Allow"].split(", ")) == taken
    headers = answers["OPTIONS"].headers
    assert headers["Access-Control-Allow-Methods"] == headers["Allow"]


@pytest.mark.parametrize("line", ["GET / HTTP/1.1", "no HTTP"])
def test_the_server_names_no_header_twice_and_not_itself(gunicorn_service, line):
    request = f"{line}\r\nHost: a\r\nConnection: close\r\n\r\n"

    answer = gunicorn_service().send_bytes(request.encode())

    head, _, _ = answer.decode().lower().partition("\r\n\r\n")
    names = re.findall("^([^:\n]+): ", head, re.MULTILINE)
    assert len(names) == len(set(names))
    assert EVERY.keys() <= set(names)
    assert {"server", "x-powered-by"}.isdisjoint(names)


@pytest.fixture
def ground(app, api, database_url, open_api, monkeypatch):
    item_id = api.mint("+5.a", "+3.b")
    api.swap(f"+3.{item_id}.b", f"+3.{item_id}.c")
    return Ground(app, api, item_id, database_url, open_api, monkeypatch)


@on_sqlite
@pytest.mark.parametrize(("code", "fail"), WAYS.items(), ids=WAYS)
def test_every_problem_has_one_shape(ground, code, fail):
    document = ground.api.get("/openapi.json").json()
    shape = {
        "type": f"/problems#{code}",
        "title": PROBLEMS[code].title,
        "status": PROBLEMS[code].status,
        "detail": ANY,
        "code": code,
        "isFinal": PROBLEMS[code].is_final,
    }
    place = PLACES.get(code, "")
    if place:
        shape["index"] = int(place[-2])

    answer = fail(ground)

    assert answer.status_code == PROBLEMS[code].status
    assert answer.json() == shape
    assert re.match(re.escape(place) + ".", answer.json()["detail"])
    assert "<b>" not in answer.text
    assert dict(answer.headers) == expected_headers(answer)
    assert int(answer.headers.get("Retry-After", 1)) >= 1
    if operation_of(document, answer.request):
        assert answer_faults(document, answer) == []


def test_every_problem_was_met():
    assert WAYS.keys() == PROBLEMS.keys()


def test_what_is_refused_is_final_unless_it_is_listed_here():
    final = {code for code, problem in PROBLEMS.items() if problem.is_final}
    refusals = {code for code, problem in PROBLEMS.items() if problem.status < 500}

    # What wallets send again: another line, release or minute may let it pass.
    assert refusals - final == {
        "bad_request",
        "body_unreadable",
        "not_found",
        "method_not_allowed",
        "headers_too_large",
        "too_many_failures",
        "too_many_requests",
    }
    assert final <= refusals


@on_shared_sqlite
@pytest.mark.parametrize("path", ["/nothing", "/docs/nothing", "/v2/info", "/item/"])
def test_a_browser_gets_a_page_with_ways_on(shared_api, path):
    answer = shared_api.get(path, Accept=BROWSER)

    assert answer.status_code == 404
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert 'href="/"' in answer.text
    assert path.strip("/") + "<" not in answer.text
    assert answer.headers["Cache-Control"] == "no-store"


@on_shared_sqlite
@pytest.mark.parametrize(
    ("path", "accept"),
    [
        ("/v1", BROWSER),
        ("/v1/nothing", BROWSER),
        ("/nothing", "*/*"),
        ("/nothing", "application/json, text/html;q=0.9"),
        ("/nothing", "text/html;q=0"),
        ("/nothing", "image/avif,*/*;q=0.8"),
    ],
)
def test_a_program_or_what_asks_below_v1_gets_a_problem(shared_api, path, accept):
    answer = shared_api.get(path, Accept=accept)

    assert refusal(answer) == (404, "not_found", None)
