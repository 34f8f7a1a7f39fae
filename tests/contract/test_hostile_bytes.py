"""Whatever bytes the application gets: it answers 4xx, as a problem, and nothing moves."""

import json

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from tests.support.hostile import BAD_JSON, BAD_SHAPES, GOOD, TOO_MANY
from tests.support.mutating import ANY_JSON
from tests.support.requests import mint

PATHS = ["/v1/mint", "/v1/swap", "/v1/check"]
MEDIA_TYPE = "application/json"

# One service serves all examples of a test: none of them may change it.
MANY = examples(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def database_url(sqlite_url):
    """One kind of database will do: nothing here comes so far."""
    return sqlite_url


@pytest.fixture(autouse=True)
def _nothing_moves(client, ledger):
    mint(client, "+5.a", "+3.b")
    before = ledger.rows()
    yield
    assert ledger.rows() == before


def assert_refused(answer):
    """Assert that the answer is a problem which the client has caused."""
    problem = json.loads(answer.data)
    assert 400 <= answer.status_code <= 499
    assert answer.content_type == "application/problem+json"
    assert problem["status"] == answer.status_code
    assert b"<html" not in answer.data.lower()


def send(client, path, body, media_type=MEDIA_TYPE, **environ):
    return client.post(path, data=body, content_type=media_type, environ_overrides=environ)


@pytest.mark.parametrize(
    ("bodies", "code"),
    [
        (BAD_JSON, "invalid_json"),
        (BAD_SHAPES | TOO_MANY, "invalid_request"),
        ({"5 MB": GOOD + b" " * 5_000_000}, "body_too_large"),
    ],
)
def test_what_is_no_request_is_refused(client, bodies, code):
    for name, body in bodies.items():
        for path in PATHS:
            answer = send(client, path, body)

            assert_refused(answer)
            assert answer.get_json()["code"] == code, name


DETAILS = {
    "nothing": "the body is not JSON from character 0 on",
    "half": "the body is not JSON from character 19 on",
    "Latin-1": "the body is not UTF-8",
    "arrays": "the body is nested too deeply",
    "5000 digits": "the body holds a number that is too long",
    "key twice": "an object names a key twice",
    "NaN": "NaN and Infinity are not JSON",
}


def test_the_answer_says_what_keeps_the_body_from_being_json(client):
    for name, detail in DETAILS.items():
        assert send(client, "/v1/mint", BAD_JSON[name]).get_json()["detail"] == detail


def test_no_depth_of_nesting_is_too_deep_for_an_answer(client):
    """Near the depth that the interpreter takes, too much may fail at any place."""
    for depth in range(1, 1100, 3):
        assert_refused(send(client, "/v1/mint", b"[" * depth + b"]" * depth))


MEDIA_TYPES = [None, "", "json", "application/problem+json", "application/json, text/plain"]
MEDIA_TYPES += ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
MEDIA_TYPES += ['"application/json"', "\xe9\xff", "x" * 8000]


@pytest.mark.parametrize("path", PATHS)
def test_another_media_type_is_refused(client, path):
    for media_type in MEDIA_TYPES:
        answer = send(client, path, GOOD, media_type)

        assert_refused(answer)
        assert answer.get_json()["code"] == "wrong_media_type"


@pytest.mark.parametrize(
    ("code", "lengths"),
    [
        ("invalid_json", ["", "0", "1", "19", "-20", "+20", "20.0", "abc", "\xb2"]),
        ("body_unreadable", ["21", "1000", "1048576"]),
        ("body_too_large", ["1048577", "9" * 100, "9" * 4300]),
    ],
)
def test_a_content_length_that_is_not_that_of_the_body_is_refused(client, code, lengths):
    for length in lengths:
        answer = send(client, "/v1/mint", GOOD, CONTENT_LENGTH=length)

        assert_refused(answer)
        assert answer.get_json()["code"] == code


UNKNOWN_PATHS = [
    "",
    "*",
    "/v1//mint",
    "/../../etc/passwd",
    "/v1/mint\0",
    "/v1/mint;a=b",
    "/V1/MINT",
]
UNKNOWN_PATHS += ["/v1/\xff\xfe", "/v1/\xed\xa0\x80", "/v1/item/\0", "/v1/item/" + "x" * 100_000]
UNKNOWN_PATHS += ["http://other.example/v1/mint"]


def test_an_unknown_path_is_refused(client):
    """The path reaches the application as it is, past what the client library would mend."""
    for path in UNKNOWN_PATHS:
        answer = send(client, "/", GOOD, PATH_INFO=path)

        assert_refused(answer)
        assert answer.status_code in {404, 405}, path


@pytest.mark.parametrize("path", PATHS)
def test_an_unknown_method_is_refused(client, path):
    for method in ["", " ", "BREW", "PO ST", "POST\n", "P\xd6ST", "\0", "M" * 10_000, "*", "<b>"]:
        overrides = {"REQUEST_METHOD": method}
        assert_refused(send(client, path, GOOD, **overrides))


@MANY
@given(value=ANY_JSON)
def test_random_json_is_refused(client, value):
    for path in PATHS:
        assert_refused(send(client, path, json.dumps(value).encode()))


HEADERS = ["Idempotency-Key", "If-None-Match", "Range", "Content-Type", "Content-Encoding"]
HEADERS += ["Content-Length", "Transfer-Encoding", "Expect", "X-Forwarded-For"]
HEADERS += ["X-HTTP-Method-Override"]


@MANY
@given(
    name=st.sampled_from(HEADERS),
    value=st.binary(max_size=60).map(lambda value: value.decode("latin-1")),
)
def test_no_header_turns_a_refusal_into_something_else(client, name, value):
    key = name.upper().replace("-", "_")
    environ = {key if name in {"Content-Type", "Content-Length"} else f"HTTP_{key}": value}
    wrong = b'{"inputs":["+1.deed_x.a"],"outputs":["+1.deed_x.b"]}'

    assert_refused(send(client, "/v1/swap", wrong, **environ))
    assert_refused(client.get("/v1/item/deed_x", environ_overrides=environ))
