"""Whatever bytes the application gets, it answers 4xx, a problem; nothing moves."""

import json

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from tests.support.requests import mint

PATHS = ["/v1/mint", "/v1/swap", "/v1/check"]
GOOD = b'{"outputs":["+1.a"]}'

# Each would be a good mint request, or a part of one, to a reader that is less strict
# than JSON.
BAD_JSON = {
    "nothing": b"",
    "half": GOOD[:-1],
    "two bodies": GOOD * 2,
    "NUL after": GOOD + b"\0",
    "form feed": b"\f" + GOOD,
    "BOM": b"\xef\xbb\xbf" + GOOD,
    "UTF-16": GOOD.decode().encode("utf-16"),
    "Latin-1": '{"outputs":["+1.é"]}'.encode("latin-1"),
    "overlong": b'{"outputs":["+1.\xc0\xae"]}',
    "surrogate in UTF-8": b'{"outputs":["+1.\xed\xa0\x80"]}',
    "control character": b'{"outputs":["+1.a\n"]}',
    "trailing comma": b'{"outputs":["+1.a"],}',
    "comment": b'{"outputs":["+1.a"]/* mine */}',
    "single quotes": GOOD.replace(b'"', b"'"),
    "half an escape": b'{"outputs":["+1.\\u12"]}',
    "NaN": b'{"outputs":["+1.a"],"metadata":NaN}',
    "-Infinity": b'{"outputs":[{"amount":-Infinity,"secret":"a"}]}',
    "5000 digits": b'{"outputs":[{"amount":' + b"5" * 5000 + b',"secret":"a"}]}',
    "a million digits below zero": b"-" + b"5" * 1_000_000,
    "key twice": b'{"outputs":["+1.a"],"outputs":["+1.a"]}',
    "key twice in escapes": b'{"outputs":["+1.a"],"\\u006futputs":["+1.a"]}',
    "unknown key twice": b'{"outputs":["+1.a"],"\\ud800":1,"\\ud800":1}',
    "key twice in an output": b'{"outputs":[{"amount":1,"amount":1,"secret":"a"}]}',
    "arrays": b"[" * 60_000,
    "arrays that end": b"[" * 30_000 + b"]" * 30_000,
    "arrays in the metadata": b'{"outputs":["+1.a"],"metadata":{"name":'
    + b"[" * 60_000,
    "gzip": bytes.fromhex(
        "1f8b0800000000000003ab56ca2f2d29282d2956b28a56d236d44b54aa0500"
    ),
    "every byte": bytes(range(256)),
}

# JSON, but no request.
BAD_SHAPES = {
    "null": b"null",
    "large fraction": b"0." + b"1" * 100_000,
    "key after a NUL": b'{"outputs":["+1.a"],"metadata\\u0000":null}',
    "key of 900 kB": b'{"' + b"k" * 900_000 + b'":1}',
    "key that is an attribute": b'{"outputs":["+1.a"],"_schema":1,"__class__":1,'
    b'"many":true}',
    "surrogates the wrong way round": b'{"outputs":["+1.\\udc00\\ud800"]}',
    "surrogate in an item id": b'{"outputs":["+1.a"],"inputs":["+1.deed_\\ud800.a"]}',
    "surrogate in an image": b'{"outputs":["+1.a"],'
    b'"metadata":{"image":"https://\\ud800"}}',
    "large amount": b'{"outputs":[{"amount":' + b"5" * 4000 + b',"secret":"a"}]}',
    "errors by the hundred": b'{"outputs":[' + b",".join([b'{"a":1}'] * 256) + b"]}",
    "nested in the outputs": b'{"outputs":' + b"[" * 500 + b"]" * 500 + b"}",
    "nested in an unknown key": b'{"a":' * 500 + b"1" + b"}" * 500,
    # So many values that nobody looks whether they are JSON.
    "empty objects": b"[" + b"{}," * 349_000 + b"{}]",
    "texts": b'{"outputs":[' + b'"ab",' * 200_000 + b'"ab"]}',
    "texts that nothing separates": b'""' * 500_000,
    "keys": b"{" + b",".join(b'"k%d":1' % n for n in range(50_000)) + b"}",
    "arrays that do not end": b"[" * 1_000_000,
}

# By CONTENT_LENGTH, with GOOD as the body.
BAD_LENGTHS = {
    "invalid_json": ["", "0", "1", "19", "-20", "+20", "20.0", "abc", "\xb2"],
    "body_unreadable": ["21", "1000000"],
    "body_too_large": ["1048577", "9" * 100, "9" * 4300],
}

MEDIA_TYPES = [
    None,
    "",
    "json",
    "application/problem+json",
    "application/json, text/plain",
]
MEDIA_TYPES += ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
MEDIA_TYPES += ['"application/json"', "\xe9\xff", "x" * 8000]

UNKNOWN_PATHS = [
    "",
    "*",
    "/v1//mint",
    "/../../etc/passwd",
    "/v1/mint\0",
    "/v1/mint;a=b",
]
UNKNOWN_PATHS += ["/V1/MINT", "/v1/\xff\xfe", "/v1/\xed\xa0\x80", "/v1/item/\0"]
UNKNOWN_PATHS += ["/v1/item/" + "x" * 100_000, "http://other.example/v1/mint"]

METHODS = [
    "",
    " ",
    "BREW",
    "PO ST",
    "POST\n",
    "P\xd6ST",
    "\0",
    "M" * 10_000,
    "*",
    "<b>",
]

# As WSGI names them.
HEADERS = ["HTTP_IDEMPOTENCY_KEY", "HTTP_IF_NONE_MATCH", "HTTP_RANGE", "CONTENT_TYPE"]
HEADERS += [
    "HTTP_CONTENT_ENCODING",
    "CONTENT_LENGTH",
    "HTTP_TRANSFER_ENCODING",
    "HTTP_EXPECT",
]
HEADERS += ["HTTP_X_FORWARDED_FOR", "HTTP_X_HTTP_METHOD_OVERRIDE"]


# One kind of database will do: nothing here comes so far.
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture(autouse=True)
def _nothing_moves(client, ledger):
    mint(client, "+5.a", "+3.b")
    before = ledger.rows()
    yield
    assert ledger.rows() == before


def assert_refused(answer, code=None):
    """Assert that the answer is a problem which the client has caused."""
    problem = json.loads(answer.data)
    assert 400 <= answer.status_code <= 499
    assert answer.content_type == "application/problem+json"
    assert problem["status"] == answer.status_code
    assert problem["code"] == (code or problem["code"])


def send(client, path, body, media_type="application/json", **environ):
    return client.post(
        path, data=body, content_type=media_type, environ_overrides=environ
    )


@pytest.mark.parametrize(
    ("bodies", "code"),
    [
        (BAD_JSON, "invalid_json"),
        (BAD_SHAPES, "invalid_request"),
        ({"5 MB": GOOD + b" " * 5_000_000}, "body_too_large"),
    ],
)
@pytest.mark.parametrize("path", PATHS)
def test_what_is_no_request_is_refused(client, path, bodies, code):
    for body in bodies.values():
        assert_refused(send(client, path, body), code)


def test_no_depth_of_nesting_is_too_deep_for_an_answer(client):
    """Near the depth that the interpreter takes, too much may fail at any place."""
    for depth in range(1, 1100, 3):
        assert_refused(send(client, "/v1/mint", b"[" * depth + b"]" * depth))


def test_another_media_type_length_or_method_is_refused(client):
    for media_type in MEDIA_TYPES:
        assert_refused(send(client, "/v1/mint", GOOD, media_type), "wrong_media_type")
    for code, lengths in BAD_LENGTHS.items():
        for length in lengths:
            assert_refused(send(client, "/v1/mint", GOOD, CONTENT_LENGTH=length), code)
    for method in METHODS:
        assert_refused(send(client, "/v1/mint", GOOD, REQUEST_METHOD=method))


def test_an_unknown_path_is_refused(client):
    """The path reaches the application as it is, past what a client library mends."""
    for path in UNKNOWN_PATHS:
        answer = send(client, "/", GOOD, PATH_INFO=path)

        assert_refused(answer)
        assert answer.status_code in {404, 405}, path


# One service serves all examples: none of them may change it.
@examples(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(HEADERS),
    value=st.binary(max_size=60).map(lambda value: value.decode("latin-1")),
)
def test_no_header_turns_a_refusal_into_something_else(client, name, value):
    wrong = b'{"inputs":["+1.deed_x.a"],"outputs":["+1.deed_x.b"]}'

    assert_refused(send(client, "/v1/swap", wrong, **{name: value}))
    assert_refused(client.get("/v1/item/deed_x", environ_overrides={name: value}))
