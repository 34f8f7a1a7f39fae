"""The limit of a body holds however the body is sent, over real HTTP."""

import json

import pytest

from tests.support.serving import running_service

LIMIT = 2000
HEAD = b"POST /v1/mint HTTP/1.1\r\nHost: deeds\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    settings = {"DEEDS_MAX_BODY_BYTES": str(LIMIT), "DEEDS_ARGON2": "m=8,t=1,p=1"}
    with running_service(tmp_path_factory.mktemp("service"), **settings) as service:
        yield service


def with_length(body):
    return HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body


def in_chunks(body):
    """Return a request whose body is in two chunks; it does not tell its length beforehand."""
    parts = [body[: len(body) // 2], body[len(body) // 2 :]]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    return HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"


@pytest.mark.parametrize("send", [with_length, in_chunks])
@pytest.mark.parametrize(
    ("size", "status", "code"),
    [
        (LIMIT, 200, None),
        (LIMIT + 1, 413, "body_too_large"),
        (LIMIT + 2, 413, "body_too_large"),
        (100 * LIMIT, 413, "body_too_large"),
    ],
)
def test_a_body_up_to_the_limit_is_read_and_a_larger_one_refused(service, send, size, status, code):
    # Whitespace at its end, so that a body cut off at the limit would be a good one.
    body = b'{"outputs": ["+5.a"]}'.ljust(size)

    answer = service.send_bytes(send(body))

    head, _, text = answer.partition(b"\r\n\r\n")
    assert head.split(b" ")[1] == str(status).encode()
    assert json.loads(text).get("code") == code
