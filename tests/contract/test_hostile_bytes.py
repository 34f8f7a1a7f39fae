"""Whatever bytes the application gets, it answers 4xx, a problem; nothing moves."""

from unittest.mock import ANY

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

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
    "gzip": bytes.fromhex(
        "1f8b0800000000000003ab56ca2f2d29282d2956b28a56d236d44b54aa0500"
    ),
    "every byte": bytes(range(256)),
}

# JSON, but no request.
BAD_SHAPES = {
    "null": b"null",
    "large fraction": b"0." + b"1" * 100_000,
    "key that is an attribute": b'{"outputs":["+1.a"],"_schema":1,"__class__":1,'
    b'"many":true}',
    "key of 900 kB": b'{"' + b"k" * 900_000 + b'":1}',
    "large amount": b'{"outputs":[{"amount":' + b"5" * 4000 + b',"secret":"a"}]}',
    "errors by the hundred": b'{"outputs":[' + b",".join([b'{"a":1}'] * 256) + b"]}",
    # So many values that nobody looks whether they are JSON.
    "empty objects": b"[" + b"{}," * 349_000 + b"{}]",
    "texts": b'{"outputs":[' + b'"ab",' * 200_000 + b'"ab"]}',
    "texts that nothing separates": b'""' * 500_000,
    "keys": b"{" + b",".join(b'"k%d":1' % n for n in range(50_000)) + b"}",
    "arrays that do not end": b"[" * 1_000_000,
}

# By CONTENT_LENGTH, with GOOD as the body.
BAD_LENGTHS = {
    "": "invalid_json",
    "0": "invalid_json",
    "19": "invalid_json",
    "-20": "invalid_json",
    "+20": "invalid_json",
    "20.0": "invalid_json",
    "\xb2": "invalid_json",
    "21": "body_unreadable",
    "1000000": "body_unreadable",
    "1048577": "body_too_large",
    "9" * 4300: "body_too_large",
}

MEDIA_TYPES = ["", "json", "application/problem+json", "application/json, text/plain"]
MEDIA_TYPES += ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
MEDIA_TYPES += ['"application/json"', "\xe9\xff", "x" * 8000]

# As WSGI names them.
HEADERS = ["HTTP_IDEMPOTENCY_KEY", "HTTP_IF_NONE_MATCH", "HTTP_RANGE", "CONTENT_TYPE"]
HEADERS += ["HTTP_CONTENT_ENCODING", "CONTENT_LENGTH", "HTTP_TRANSFER_ENCODING"]
HEADERS += ["HTTP_EXPECT", "HTTP_X_FORWARDED_FOR", "HTTP_X_HTTP_METHOD_OVERRIDE"]

# One kind of database will do: nothing here comes so far.
pytestmark = [
    pytest.mark.parametrize("shared_url", ["sqlite"], indirect=True, scope="module"),
    pytest.mark.usefixtures("nothing_moves"),
]


@pytest.fixture
def client(shared_app):
    """A client that sends what no other could, as JSON unless a test says otherwise."""
    client = shared_app.test_client()
    client.environ_base["CONTENT_TYPE"] = "application/json"
    return client


def assert_refused(answer, code=ANY):
    """Assert that the answer is a problem which the client has caused."""
    assert 400 <= answer.status_code <= 499
    assert answer.content_type == "application/problem+json"
    assert answer.json["status"] == answer.status_code
    assert answer.json["code"] == code


@pytest.mark.parametrize("body", BAD_JSON.values(), ids=BAD_JSON)
def test_what_is_no_json_is_refused(client, body):
    assert_refused(client.post("/v1/mint", data=body), "invalid_json")


@pytest.mark.parametrize("body", BAD_SHAPES.values(), ids=BAD_SHAPES)
def test_json_that_is_no_request_is_refused(client, body):
    assert_refused(client.post("/v1/mint", data=body), "invalid_request")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (GOOD[:-1], "invalid_json"),
        (BAD_SHAPES["empty objects"], "invalid_request"),
    ],
    ids=["half", "empty objects"],
)
@pytest.mark.parametrize(
    "path", ["mint", "swap", "check", "find", "offers", "offers/find"]
)
def test_every_path_refuses_what_is_no_request(client, path, body, code):
    assert_refused(client.post(f"/v1/{path}", data=body), code)


@pytest.mark.parametrize("media_type", MEDIA_TYPES)
def test_another_media_type_is_refused(client, media_type):
    answer = client.post("/v1/mint", data=GOOD, content_type=media_type)

    assert_refused(answer, "wrong_media_type")


@pytest.mark.parametrize(("length", "code"), BAD_LENGTHS.items())
def test_a_wrong_length_is_refused(client, length, code):
    environ = {"CONTENT_LENGTH": length}

    answer = client.post("/v1/mint", data=GOOD, environ_overrides=environ)

    assert_refused(answer, code)


# One service serves all examples: none of them may change it.
@examples(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(HEADERS), value=st.binary(max_size=60))
def test_no_header_turns_a_refusal_into_something_else(client, name, value):
    wrong = b'{"inputs":["+1.deed_x.a"],"outputs":["+1.deed_x.b"]}'
    environ = {name: value.decode("latin-1")}

    assert_refused(client.post("/v1/swap", data=wrong, environ_overrides=environ))
    assert_refused(client.get("/v1/item/deed_x", environ_overrides=environ))
