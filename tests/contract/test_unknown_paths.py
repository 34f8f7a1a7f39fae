"""A path that does not exist: a page for people outside /v1, a problem for programs everywhere."""

import pytest

from tests.support.requests import refusal

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


@pytest.fixture
def database_url(sqlite_url):
    """One kind of database will do here."""
    return sqlite_url


@pytest.mark.parametrize("path", ["/nothing", "/docs/nothing", "/v2/info", "/item/"])
def test_a_browser_gets_a_page_with_ways_on(client, path):
    answer = client.get(path, headers={"Accept": BROWSER})

    assert (answer.status_code, answer.content_type) == (404, "text/html; charset=utf-8")
    assert 'href="/"' in answer.text
    assert path.strip("/") + "<" not in answer.text
    assert answer.headers["Cache-Control"] == "no-store"
    assert "require-trusted-types-for" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/nothing", "/v1/mint/"])
def test_below_v1_a_browser_gets_a_problem_too(client, path):
    answer = client.get(path, headers={"Accept": BROWSER})

    assert refusal(answer) == (404, "not_found", None)


@pytest.mark.parametrize(
    "accept",
    [
        None,
        "*/*",
        "application/json",
        "application/json, text/html;q=0.9",
        "application/problem+json, text/html",
        "text/html;q=0",
        "image/avif,image/webp,*/*;q=0.8",
    ],
)
def test_a_program_gets_a_problem(client, accept):
    answer = client.get("/nothing", headers={} if accept is None else {"Accept": accept})

    assert refusal(answer) == (404, "not_found", None)
