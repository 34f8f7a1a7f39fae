"""The limit of a body holds however the body is sent, over real HTTP."""

import json
import socket

import pytest

from tests.support.serving import running_service

LIMIT = 2000
HEAD = b"POST /v1/mint HTTP/1.1\r\nHost: deeds\r\nContent-Type: application/json\r\n"
TOO_LARGE = (b"413", "body_too_large")


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    settings = {"DEEDS_MAX_BODY_BYTES": str(LIMIT), "DEEDS_ARGON2": "m=8,t=1,p=1"}
    with running_service(tmp_path_factory.mktemp("service"), **settings) as service:
        yield service


def with_length(body):
    return HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body


def in_chunks(body):
    """Return a request whose body is in two chunks.

    It does not tell its length beforehand.
    """
    parts = [body[: len(body) // 2], body[len(body) // 2 :]]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    return HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"


@pytest.mark.parametrize("send", [with_length, in_chunks])
def test_a_body_up_to_the_limit_is_read_and_a_larger_one_refused(service, send):
    sizes = {
        LIMIT: (b"200", None),
        LIMIT + 1: TOO_LARGE,
        LIMIT + 2: TOO_LARGE,
        10**6: TOO_LARGE,
    }
    for size, expected in sizes.items():
        # Whitespace at its end, so that a body cut off at the limit would be a good
        # one.
        answer = service.send_bytes(send(b'{"outputs": ["+5.a"]}'.ljust(size)))

        head, _, text = answer.partition(b"\r\n\r\n")
        assert (head.split(b" ")[1], json.loads(text).get("code")) == expected


def answer_to(service, head, body=b""):
    """Return all that comes back while the body is sent only after the first answer."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=10) as client:
        client.sendall(head)
        answer = client.recv(65_536)
        client.sendall(body)
        while received := client.recv(65_536):
            answer += received
    return answer


@pytest.mark.parametrize(
    ("fields", "body", "statuses"),
    [
        (b"Content-Length: 21\r\n", b'{"outputs": ["+5.a"]}', [b"100", b"200"]),
        (b"Content-Length: 9999\r\n", b"", [b"413"]),
        (b"Content-Length: 5\r\nHost: twice\r\n", b"", [b"400"]),
        (b"", b"", [b"400"]),
    ],
    ids=["owed", "too large", "malformed", "none"],
)
def test_a_body_is_asked_for_only_where_it_is_owed_and_allowed(
    service, fields, body, statuses
):
    head = HEAD + b"Connection: close\r\nExpect: 100-continue\r\n" + fields + b"\r\n"

    answer = answer_to(service, head, body)

    assert [part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]] == statuses


def test_a_client_that_goes_on_sending_still_reads_that_its_body_is_too_large(service):
    """Closed at once, the connection would be reset, and the answer often lost."""
    head = HEAD + b"Content-Length: 500000\r\n\r\n"

    assert answer_to(service, head, body=b" " * 500_000).startswith(b"HTTP/1.1 413 ")
