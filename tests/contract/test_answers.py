"""All headers of every answer, of each route with each method, and every problem.

Every problem has one shape and is in the OpenAPI document. A path that does not exist
is a page for browsers, outside /v1.
"""

import json
import re

import pytest

from deeds.blueprints.problems import PROBLEMS
from deeds.domain.errors import DeedError, RetryLaterError
from tests.support.openapi import answer_faults, operation_at, read_document
from tests.support.requests import mint, refusal, swap
from tests.support.ways_to_fail import WAYS, Ground

METHODS = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"]
READ, WRITE = {"GET", "HEAD", "OPTIONS"}, {"POST", "OPTIONS"}
TAKEN = {
    "/v1/mint": WRITE,
    "/v1/swap": WRITE,
    "/v1/check": WRITE,
    "/v1/find": WRITE,
    "/v1/item/deed_x": READ,
    "/v1/info": READ,
    "/v1/offers": WRITE,
    "/v1/offers/offer_x": READ,
    "/v1/offers/offer_x/complete": WRITE,
}

# What fills the variable part of a route.
VALUES = {
    "<item_id>": "deed_x",
    "<offer_id>": "offer_x",
    "<name>": "swagger-ui.css",
    "<version>/<path:name>": "x/deeds.css",
}

HTML = "text/html; charset=utf-8"
SAFE = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
POLICY = "default-src 'none'; frame-ancestors 'none'"
CLOSED = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
)
EXPOSED = "ETag, Idempotency-Replayed, Retry-After, X-Request-ID"
CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": EXPOSED,
}
PREFLIGHT = {
    "Access-Control-Allow-Headers": "Content-Type, Idempotency-Key, X-Request-ID",
    "Access-Control-Max-Age": "86400",
}
COMPRESSED = ("text/html", "text/css", "text/javascript")

# Of the pages in deeds/page.
PAGE = {
    "Permissions-Policy": "camera=(self), microphone=(), geolocation=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}
KEPT = {
    "no-cache": {"ETag", "Date"},
    "public, max-age=31536000, immutable": {"ETag", "Date"},
    "no-store": set(),
    None: set(),
}

# Codes that no domain error stands for: paths, methods, bytes that are not HTTP, and
# defects.
HTTP_CODES = {"bad_request", "not_found", "method_not_allowed"}
HTTP_CODES |= {"body_too_large", "headers_too_large", "internal"}

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


def paths(app):
    """Return one path of each route, and some of none."""
    routes = {str(rule.rule) for rule in app.url_map.iter_rules()}
    for name, value in VALUES.items():
        routes = {route.replace(name, value) for route in routes}
    return sorted({*routes, "/nothing", "/v1/nothing", "/docs/nothing", "/v1/item/"})


def take(headers, expected):
    """Assert that the headers hold these, and take them out."""
    assert {name: headers.pop(name, None) for name in expected} == expected


def rest_of_safe(headers):
    """Assert that the headers hold what every answer has; return the rest."""
    rest = dict(headers)
    take(rest, SAFE)
    assert re.fullmatch("[0-9a-f]{32}", rest.pop("X-Request-ID"))
    policy = rest.pop("Content-Security-Policy")
    if rest.get("Content-Type") == HTML:
        assert policy.startswith(CLOSED)
        assert "unsafe" not in policy
    elif rest.get("Content-Type") == "text/javascript; charset=utf-8":
        # The service worker may fetch what it keeps.
        assert policy in (POLICY, "default-src 'none'; connect-src 'self'")
    else:
        assert policy == POLICY
    return rest


def assert_whole(answer):
    """Assert that the headers are those of such an answer, all and no more."""
    path, status, rest = (
        answer.request.path,
        answer.status_code,
        rest_of_safe(answer.headers),
    )
    expected = {"Content-Length"}
    if path.startswith("/v1/"):
        take(rest, CORS)
    if (answer.request.method, status) == ("OPTIONS", 200):
        expected |= {"Allow"}
        if path.startswith("/v1/"):
            take(rest, PREFLIGHT | {"Access-Control-Allow-Methods": rest["Allow"]})
    else:
        expected |= {"Content-Type", "Cache-Control"} | KEPT[rest.get("Cache-Control")]
    if status >= 400:
        is_page = path == "/item/deed_x" and status == 404
        assert rest["Content-Type"] == (HTML if is_page else "application/problem+json")
        assert rest["Cache-Control"] == "no-store"
        expected |= {405: {"Allow"}, 429: {"Retry-After"}, 503: {"Retry-After"}}.get(
            status, set()
        )
    if rest.get("Content-Type") == HTML and path not in (
        "/docs",
        "/docs/",
        "/problems",
    ):
        take(rest, PAGE)
    if rest.get("Content-Type", "").startswith(COMPRESSED):
        assert rest.pop("Vary") == "Accept-Encoding"
    assert rest.keys() == expected, f"{answer.request.method} {path}"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("method", METHODS)
def test_every_route_answers_every_method_with_the_headers_it_should(
    app, client, method
):
    found = paths(app)

    for path in found:
        answer = client.open(path, method=method)
        assert_whole(answer)
        if path in TAKEN:
            assert (answer.status_code == 405) == (method not in TAKEN[path])
            assert set(answer.allow or TAKEN[path]) == TAKEN[path]
    assert len(found) > 12


def test_good_answers_have_the_headers_they_should(client):
    item_id = mint(client, "+5.a", key="a")
    raws = [f"+5.{item_id}.a"], [f"+5.{item_id}.b"]

    read = client.get(f"/v1/item/{item_id}")
    first, replayed = swap(client, *raws, "b"), swap(client, *raws, "b")

    assert_whole(read)
    assert_whole(first)
    assert replayed.headers.pop("Idempotency-Replayed") == "true"
    assert_whole(replayed)


def test_the_server_names_no_header_twice_and_not_itself_nor_its_version(
    gunicorn_service,
):
    service = gunicorn_service(WEB_CONCURRENCY="1")
    close = b"Host: a\r\nConnection: close\r\n\r\n"

    for line in (
        b"GET /v1/info HTTP/1.1",
        b"GET / HTTP/1.1",
        b"GET /docs HTTP/1.1",
        b"no HTTP",
    ):
        head = (
            service.send_bytes(line + b"\r\n" + close)
            .partition(b"\r\n\r\n")[0]
            .decode()
        )

        # waitress writes the names of headers in its own case.
        lines = head.replace("X-Request-Id", "X-Request-ID").split("\r\n")[1:]
        headers = dict(line.split(": ", 1) for line in lines)
        assert len(headers) == len(lines)
        rest = rest_of_safe(headers)
        assert rest.keys().isdisjoint({"Server", "X-Powered-By"})


@pytest.fixture
def ground(client, settings, open_app, monkeypatch):
    item_id = mint(client, "+5.a", "+3.b")
    swap(client, [f"+3.{item_id}.b"], [f"+3.{item_id}.c"])
    return Ground(client, item_id, settings, open_app, monkeypatch)


@pytest.mark.parametrize(("code", "index", "way"), WAYS.values(), ids=WAYS)
def test_every_problem_has_one_shape(ground, code, index, way):
    document = read_document(ground.client)

    answer = way(ground)

    problem = json.loads(answer.data)
    assert problem.pop("detail")
    assert problem == {
        "type": f"/problems#{code}",
        "title": PROBLEMS[code].title,
        "status": PROBLEMS[code].status,
        "code": code,
        "isFinal": PROBLEMS[code].is_final,
    } | ({} if index is None else {"index": index})
    assert answer.status_code == PROBLEMS[code].status
    assert b"<b>" not in answer.data
    assert_whole(answer)
    operation_id = operation_at(document, answer.request.path)
    if operation_id and answer.status_code != 405:
        assert answer_faults(document, operation_id, answer) == []


def concrete_errors(base=DeedError):
    """Yield the error classes that are raised: those that nothing derives from."""
    for each in base.__subclasses__():
        if each.__subclasses__():
            yield from concrete_errors(each)
        else:
            yield each


def test_every_error_has_a_problem_of_its_own_and_every_problem_was_met():
    errors = list(concrete_errors())
    # Stated by each class itself.
    codes = {vars(error)["code"] for error in errors}

    assert len(codes) == len(errors)
    assert codes.isdisjoint(HTTP_CODES)
    assert codes | HTTP_CODES == set(PROBLEMS) == {code for code, _, _ in WAYS.values()}
    for error in errors:
        # Too many of something passes by itself too, but the client has brought it
        # about.
        passes = issubclass(error, RetryLaterError) and not error.code.startswith(
            "too_many_"
        )
        assert PROBLEMS[error.code].status // 100 == (5 if passes else 4)


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


@pytest.mark.parametrize("path", ["/nothing", "/docs/nothing", "/v2/info", "/item/"])
def test_a_browser_gets_a_page_with_ways_on(client, path):
    answer = client.get(path, headers={"Accept": BROWSER})

    assert (answer.status_code, answer.content_type) == (404, HTML)
    assert 'href="/"' in answer.text
    assert path.strip("/") + "<" not in answer.text
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("path", "accept"),
    [(path, BROWSER) for path in ("/v1", "/v1/", "/v1/nothing", "/v1/mint/")]
    + [("/nothing", accept) for accept in ("*/*", "application/json, text/html;q=0.9")]
    + [("/nothing", accept) for accept in ("text/html;q=0", "image/avif,*/*;q=0.8")],
)
def test_a_program_or_what_asks_below_v1_gets_a_problem(client, path, accept):
    answer = client.get(path, headers={"Accept": accept})

    assert refusal(answer) == (404, "not_found", None)
