"""The whole set of headers of every good answer, and of each route with each method.

Those of refusals are in test_errors_shape.py.
"""

import pytest

from tests.support.headers import CORS, HTML, assert_safe
from tests.support.requests import mint, swap

METHODS = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"]
READ, WRITE = {"GET", "HEAD", "OPTIONS"}, {"POST", "OPTIONS"}
TAKEN = {
    "/v1/mint": WRITE,
    "/v1/swap": WRITE,
    "/v1/check": WRITE,
    "/v1/item/deed_x": READ,
    "/v1/info": READ,
}

# What fills the variable part of a route.
VALUES = {"<item_id>": "deed_x", "<name>": "docs.css", "<version>/<path:name>": "x/deeds.css"}

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


@pytest.fixture
def database_url(sqlite_url):
    """One kind of database will do here."""
    return sqlite_url


def paths(app):
    """Return one path of each route, and some of none."""
    routes = {str(rule.rule) for rule in app.url_map.iter_rules()}
    for name, value in VALUES.items():
        routes = {route.replace(name, value) for route in routes}
    return sorted({*routes, "/nothing", "/v1/nothing", "/docs/nothing", "/v1/item/"})


def assert_whole(answer, method, path):
    """Assert that the headers are those of such an answer, with nothing missing and no more."""
    rest = assert_safe(answer.headers)
    expected = {"Content-Length"}
    if path.startswith("/v1/"):
        assert {name: rest.pop(name, None) for name in CORS} == CORS
    if (method, answer.status_code) == ("OPTIONS", 200):
        expected |= {"Allow"}
        if path.startswith("/v1/"):
            assert {name: rest.pop(name, None) for name in PREFLIGHT} == PREFLIGHT
            assert rest.pop("Access-Control-Allow-Methods") == rest["Allow"]
    else:
        expected |= {"Content-Type", "Cache-Control"} | KEPT[rest.get("Cache-Control")]
    if answer.status_code == 405:
        expected |= {"Allow"}
    if answer.status_code >= 400:
        is_page = path.startswith("/item/") and answer.status_code == 404
        assert rest["Content-Type"] == (HTML if is_page else "application/problem+json")
        assert rest["Cache-Control"] == "no-store"
    if rest.get("Content-Type") == HTML and path not in ("/docs", "/docs/", "/problems"):
        assert {name: rest.pop(name, None) for name in PAGE} == PAGE
    if rest.get("Content-Type", "").startswith(COMPRESSED):
        assert rest.pop("Vary") == "Accept-Encoding"
    assert rest.keys() == expected, f"{method} {path}"


@pytest.mark.parametrize("method", METHODS)
def test_every_route_answers_every_method_with_the_headers_it_should(app, client, method):
    found = paths(app)

    for path in found:
        answer = client.open(path, method=method)
        assert_whole(answer, method, path)
        if path in TAKEN:
            assert (answer.status_code == 405) == (method not in TAKEN[path])
            assert set(answer.allow or TAKEN[path]) == TAKEN[path]
    assert len(found) > 12


def test_good_answers_have_the_headers_they_should(client):
    item_id = mint(client, "+5.a", key="a")
    path = f"/v1/item/{item_id}"
    raws = [f"+5.{item_id}.a"], [f"+5.{item_id}.b"]

    read = client.get(path)
    again = client.get(path, headers={"If-None-Match": read.headers["ETag"]})
    first, replayed = swap(client, *raws, "b"), swap(client, *raws, "b")

    assert_whole(read, "GET", path)
    assert_whole(first, "POST", "/v1/swap")
    assert again.status_code == 304
    assert replayed.headers["Idempotency-Replayed"] == "true"
    for answer in (again, replayed):
        assert CORS.items() <= assert_safe(answer.headers).items()


@pytest.mark.parametrize("page", ["/docs", "/problems", "/openapi.json"])
def test_a_document_that_has_not_changed_is_not_sent_again_and_keeps_its_policy(client, page):
    first = client.get(page)

    again = client.get(page, headers={"If-None-Match": first.headers["ETag"]})

    assert first.headers["Cache-Control"] == "no-cache"
    assert (again.status_code, again.data) == (304, b"")
    assert again.headers["Content-Security-Policy"] == first.headers["Content-Security-Policy"]


def test_the_server_tells_neither_its_name_nor_its_version(gunicorn_service):
    service = gunicorn_service(WEB_CONCURRENCY="1")
    close = b"Host: a\r\nConnection: close\r\n\r\n"

    for line in (b"GET /v1/info HTTP/1.1", b"GET /docs HTTP/1.1", b"no HTTP"):
        head = service.send_bytes(line + b"\r\n" + close).partition(b"\r\n\r\n")[0].decode()

        # waitress writes the names of headers in its own case.
        lines = head.replace("X-Request-Id", "X-Request-ID").split("\r\n")[1:]
        fields = dict(line.split(": ", 1) for line in lines)
        assert_safe(fields)
        assert "Server" not in fields
        assert "X-Powered-By" not in fields
