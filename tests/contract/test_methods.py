"""Methods, CORS and the headers of every answer (contract part 2)."""

import pytest

from tests.support.requests import mint, refusal

PATHS = {
    "/v1/mint": {"POST", "OPTIONS"},
    "/v1/swap": {"POST", "OPTIONS"},
    "/v1/check": {"POST", "OPTIONS"},
    "/v1/item/deed_x": {"GET", "HEAD", "OPTIONS"},
    "/v1/info": {"GET", "HEAD", "OPTIONS"},
}
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "BREW"]
REFUSED = [(path, each) for path, taken in PATHS.items() for each in METHODS if each not in taken]


def allowed(answer):
    """Return the methods that the header Allow names."""
    return {method.strip() for method in answer.headers["Allow"].split(",")}


@pytest.mark.parametrize(("path", "method"), REFUSED)
def test_a_method_that_a_path_does_not_take_is_refused_with_those_it_takes(client, path, method):
    answer = client.open(path, method=method)

    assert answer.status_code == 405
    assert allowed(answer) == PATHS[path]
    assert answer.headers["Cache-Control"] == "no-store"
    if method != "HEAD":
        assert refusal(answer) == (405, "method_not_allowed", None)


@pytest.mark.parametrize("path", PATHS)
def test_any_page_may_ask_what_it_may_send(client, path):
    answer = client.options(
        path,
        headers={
            "Origin": "https://wallet.example",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type,idempotency-key",
        },
    )

    assert (answer.status_code, answer.data) == (200, b"")
    assert allowed(answer) == PATHS[path]
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    methods = answer.headers["Access-Control-Allow-Methods"].split(",")
    assert {method.strip() for method in methods} == PATHS[path]
    names = answer.headers["Access-Control-Allow-Headers"].lower().split(",")
    assert {name.strip() for name in names} == {"content-type", "idempotency-key", "x-request-id"}
    assert answer.headers["Access-Control-Max-Age"] == "86400"


@pytest.mark.parametrize("path", [*PATHS, "/v1/nothing", "/v1/"])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
def test_any_page_may_read_every_answer_good_or_bad(client, path, method):
    answer = client.open(path, method=method, headers={"Origin": "https://wallet.example"})

    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in answer.headers
    exposed = answer.headers["Access-Control-Expose-Headers"].split(",")
    assert {"ETag", "Idempotency-Replayed", "Retry-After", "X-Request-ID"} <= {
        name.strip() for name in exposed
    }


def test_good_answers_may_be_read_too(client):
    item_id = mint(client, "+5.a")

    answer = client.get(f"/v1/item/{item_id}")

    assert answer.headers["Access-Control-Allow-Origin"] == "*"


def test_outside_the_interface_nothing_is_opened_to_other_pages(client):
    answer = client.get("/nothing", headers={"Origin": "https://other.example"})

    assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.parametrize("path", ["/v1/info", "/v1/nothing", "/nothing", "/v1/item/deed_x"])
def test_browsers_neither_guess_types_nor_tell_where_they_come_from(client, path):
    answer = client.get(path)

    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "Set-Cookie" not in answer.headers


def test_head_of_info_has_its_headers_and_no_body(client):
    got = client.get("/v1/info", headers={"X-Request-ID": "1"})

    answer = client.head("/v1/info", headers={"X-Request-ID": "1"})

    assert (answer.status_code, answer.data) == (200, b"")
    assert dict(answer.headers) == dict(got.headers)
