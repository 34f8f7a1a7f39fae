"""Whatever bytes the application gets: it answers 4xx, as a problem, and nothing moves."""

import json

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from tests.support.hostile import BAD_JSON, BAD_SHAPES, GOOD, TOO_MANY
from tests.support.requests import mint

PATHS = ["/v1/mint", "/v1/swap", "/v1/check"]
MEDIA_TYPE = "application/json"

# One service serves all examples of a test: none of them may change it.
MANY = examples(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


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


@pytest.mark.parametrize("body", BAD_JSON.values(), ids=BAD_JSON)
def test_what_is_not_json_is_refused(client, body):
    for path in PATHS:
        answer = send(client, path, body)

        assert_refused(answer)
        assert answer.get_json()["code"] == "invalid_json"


@pytest.mark.parametrize("body", BAD_SHAPES.values(), ids=BAD_SHAPES)
def test_json_that_is_no_request_is_refused(client, body):
    for path in PATHS:
        answer = send(client, path, body)

        assert_refused(answer)
        assert answer.get_json()["code"] == "invalid_request"


@pytest.mark.parametrize("body", TOO_MANY.values(), ids=TOO_MANY)
def test_more_values_than_a_request_can_have_are_refused(client, body):
    for path in PATHS:
        answer = send(client, path, body)

        assert_refused(answer)
        assert answer.get_json()["code"] == "invalid_request"
        assert answer.get_json()["detail"] == "the body: has more values than a request can have"


@pytest.mark.parametrize(
    ("name", "detail"),
    {
        "nothing": "the body is not JSON from character 0 on",
        "half": "the body is not JSON from character 19 on",
        "Latin-1": "the body is not UTF-8",
        "arrays": "the body is nested too deeply",
        "5000 digits": "the body holds a number that is too long",
        "key twice": "an object names a key twice",
        "NaN": "NaN and Infinity are not JSON",
    }.items(),
)
def test_the_answer_says_what_keeps_the_body_from_being_json(client, name, detail):
    assert send(client, "/v1/mint", BAD_JSON[name]).get_json()["detail"] == detail


def test_no_depth_of_nesting_is_too_deep_for_an_answer(client):
    """Near the depth that the interpreter takes, too much may fail at any place."""
    for depth in range(1, 1100, 3):
        assert_refused(send(client, "/v1/mint", b"[" * depth + b"]" * depth))


@pytest.mark.parametrize(
    "media_type",
    [
        None,
        "",
        " ",
        ";",
        "json",
        "/",
        "*/*",
        "application/*",
        "text/plain",
        "text/json",
        "text/html",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "multipart/form-data",
        "application/problem+json",
        "application/json5",
        "application/jsonlines",
        "application/json, text/plain",
        "application / json",
        "application/json/",
        '"application/json"',
        "\xe9\xff",
        "x" * 8000,
    ],
)
def test_another_media_type_is_refused(client, media_type):
    for path in PATHS:
        answer = send(client, path, GOOD, media_type)

        assert_refused(answer)
        assert answer.get_json()["code"] == "wrong_media_type"


@pytest.mark.parametrize("length", ["", "0", "1", "19", "-1", "-20", "+20", "20.0", "abc", "\xb2"])
def test_a_content_length_that_is_less_or_no_number_is_refused(client, length):
    assert_refused(send(client, "/v1/mint", GOOD, CONTENT_LENGTH=length))


@pytest.mark.parametrize("length", ["21", "1000", "1048576"])
def test_a_body_that_ends_before_its_content_length_is_refused(client, length):
    answer = send(client, "/v1/mint", GOOD, CONTENT_LENGTH=length)

    assert_refused(answer)
    assert answer.get_json()["code"] == "body_unreadable"


@pytest.mark.parametrize("length", ["1048577", "9" * 100, "9" * 4300])
def test_a_content_length_over_the_limit_is_refused_without_reading(client, length):
    answer = send(client, "/v1/mint", GOOD, CONTENT_LENGTH=length)

    assert_refused(answer)
    assert answer.get_json()["code"] == "body_too_large"


@pytest.mark.parametrize("body", [b" " * 1_048_577, GOOD + b" " * 5_000_000])
def test_a_body_over_the_limit_is_refused(client, body):
    for path in PATHS:
        answer = send(client, path, body)

        assert_refused(answer)
        assert answer.status_code == 413


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/v1//mint",
        "/v1/mint/",
        "/v1/mint//",
        "/v1/./mint",
        "/v1/../v1/mint",
        "/../../etc/passwd",
        "/v1/mint\0",
        "/v1/mint\n",
        "/v1/mint ",
        "/v1/mint;a=b",
        "/v1/mint%2f",
        "/v1\\mint",
        "/V1/MINT",
        "/v1/m\xefnt",
        "/v1/\xff\xfe",
        "/v1/\xed\xa0\x80",
        "/v1/item/\0",
        "/v1/item/\xff",
        "/v1/item/..",
        "/v1/item/../mint",
        "/v1/item/{{7*7}}",
        "/v1/item/" + "x" * 100_000,
        "/" * 10_000,
        "/v1" + "/x" * 10_000,
        "mint",
        "*",
        "http://other.example/v1/mint",
    ],
)
def test_an_odd_path_is_refused(client, path):
    """The path reaches the application as it is, past what the client library would mend."""
    answer = send(client, "/", GOOD, PATH_INFO=path)

    assert_refused(answer)
    assert answer.status_code in {404, 405}


@pytest.mark.parametrize(
    "method", ["", " ", "BREW", "PO ST", "POST\n", "P\xd6ST", "\0", "M" * 10_000, "*", "<b>"]
)
def test_an_odd_method_is_refused(client, method):
    for path in PATHS:
        answer = client.post(
            path, data=GOOD, content_type=MEDIA_TYPE, environ_overrides={"REQUEST_METHOD": method}
        )

        assert_refused(answer)


@MANY
@given(body=st.binary(max_size=200))
def test_random_bytes_are_refused(client, body):
    for path in PATHS:
        assert_refused(send(client, path, body))


KEYS = st.sampled_from(["outputs", "inputs", "metadata", "amount", "secret", "name", "image"])
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=[]), max_size=20)
)
JSON = st.recursive(
    LEAVES,
    lambda below: (
        st.lists(below, max_size=4) | st.dictionaries(KEYS | st.text(max_size=5), below, max_size=4)
    ),
)


@MANY
@given(value=JSON)
def test_random_json_is_refused(client, value):
    for path in PATHS:
        assert_refused(send(client, path, json.dumps(value).encode()))


@MANY
@given(path=st.binary(max_size=100), method=st.sampled_from(["GET", "POST", "HEAD", "DELETE"]))
def test_random_paths_are_refused(client, path, method):
    raw = "/v1/" + path.decode("latin-1")

    answer = client.open("/", method=method, environ_overrides={"PATH_INFO": raw})

    assert 400 <= answer.status_code <= 499
    assert answer.content_type == "application/problem+json"


HEADERS = [
    "Idempotency-Key",
    "If-None-Match",
    "If-Modified-Since",
    "If-Match",
    "If-Range",
    "Range",
    "Accept",
    "Accept-Encoding",
    "Content-Type",
    "Content-Encoding",
    "Content-Length",
    "Transfer-Encoding",
    "Host",
    "Origin",
    "Cookie",
    "Authorization",
    "Expect",
    "Forwarded",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Forwarded-Prefix",
    "X-HTTP-Method-Override",
    "User-Agent",
]


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
