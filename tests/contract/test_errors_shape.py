"""Every error has one shape and the headers of every answer, and is in the OpenAPI document.

A path that does not exist is a page for browsers, outside /v1.
"""

import json

import pytest

from deeds.blueprints.problems import PROBLEMS
from deeds.domain.errors import DeedError, RetryLaterError
from tests.support.headers import CORS, assert_safe
from tests.support.openapi import answer_faults, operation_at, read_document
from tests.support.requests import mint, refusal, swap
from tests.support.ways_to_fail import WAYS, Ground

# What no domain error stands for: paths, methods, bytes that are not HTTP, and defects.
HTTP_CODES = {
    "bad_request",
    "not_found",
    "method_not_allowed",
    "body_too_large",
    "uri_too_long",
    "expectation_failed",
    "headers_too_large",
    "internal",
}

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


@pytest.fixture
def ground(client, settings, open_app, monkeypatch):
    item_id = mint(client, "+5.a", "+3.b")
    swap(client, [f"+3.{item_id}.b"], [f"+3.{item_id}.c"])
    return Ground(client, item_id, settings, open_app, monkeypatch)


@pytest.mark.parametrize(("code", "index", "way"), WAYS.values(), ids=WAYS)
def test_every_error_has_one_shape(ground, code, index, way):
    document = read_document(ground.client)

    answer = way(ground)

    problem = json.loads(answer.data)
    detail = problem.pop("detail")
    assert problem == {
        "type": f"/problems#{code}",
        "title": PROBLEMS[code].title,
        "status": PROBLEMS[code].status,
        "code": code,
    } | ({} if index is None else {"index": index})
    assert answer.status_code == PROBLEMS[code].status
    assert detail
    assert b"<b>" not in answer.data
    assert_headers(answer)
    operation_id = operation_at(document, answer.request.path)
    if operation_id and answer.status_code != 405:
        assert answer_faults(document, operation_id, answer) == []


def assert_headers(answer):
    """Assert that the headers are those of a problem, with nothing missing and no more."""
    rest = assert_safe(answer.headers)
    assert rest.pop("Content-Type") == "application/problem+json"
    assert rest.pop("Cache-Control") == "no-store"
    assert ("Retry-After" in rest) == (answer.status_code in {429, 503})
    assert ("Allow" in rest) == (answer.status_code == 405)
    assert rest.keys() <= {"Content-Length", "Allow", "Retry-After"} | CORS.keys()


def test_every_problem_was_met_in_its_shape():
    assert {code for code, _, _ in WAYS.values()} == set(PROBLEMS)


def concrete_errors(base=DeedError):
    """Yield the error classes that are raised: those that nothing derives from."""
    for each in base.__subclasses__():
        if each.__subclasses__():
            yield from concrete_errors(each)
        else:
            yield each


def test_every_error_has_a_code_of_its_own_in_the_table():
    codes = [vars(error)["code"] for error in concrete_errors()]

    assert len(codes) == len(set(codes))
    assert set(codes) | HTTP_CODES == set(PROBLEMS)
    assert set(codes).isdisjoint(HTTP_CODES)


def test_what_passes_by_itself_is_answered_503_and_the_rest_of_the_errors_4xx():
    for error in concrete_errors():
        # These pass by themselves too, but the client has brought them about.
        is_the_clients = error.code in {"too_many_failures", "too_many_requests"}
        passes = issubclass(error, RetryLaterError) and not is_the_clients
        assert PROBLEMS[error.code].status // 100 == (5 if passes else 4)


@pytest.mark.parametrize("path", ["/nothing", "/docs/nothing", "/v2/info", "/item/"])
def test_a_browser_gets_a_page_with_ways_on(client, path):
    answer = client.get(path, headers={"Accept": BROWSER})

    assert (answer.status_code, answer.content_type) == (404, "text/html; charset=utf-8")
    assert 'href="/"' in answer.text
    assert path.strip("/") + "<" not in answer.text
    assert answer.headers["Cache-Control"] == "no-store"
    assert "require-trusted-types-for" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("path", "accept"),
    [(path, BROWSER) for path in ("/v1", "/v1/", "/v1/nothing", "/v1/mint/")]
    + [("/nothing", accept) for accept in ("*/*", "application/json, text/html;q=0.9")]
    + [("/nothing", accept) for accept in ("text/html;q=0", "image/avif,*/*;q=0.8")],
)
def test_a_program_or_what_asks_below_v1_gets_a_problem(client, path, accept):
    answer = client.get(path, headers={"Accept": accept})

    assert refusal(answer) == (404, "not_found", None)
