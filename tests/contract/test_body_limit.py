"""The limit of a body holds however the body is sent, over real HTTP."""

import socket
from functools import partial

import pytest

LIMIT = 2000
HEAD = b"POST /v1/mint HTTP/1.1\r\nHost: deeds\r\nContent-Type: application/json\r\n"
EXPECT = b"Connection: close\r\nExpect: 100-continue\r\n"

# Fields, the body that is sent after the first answer to them, and all answers.
ASKED = {
    "owed": (
        EXPECT + b"Content-Length: 21\r\n",
        b'{"outputs": ["+5.a"]}',
        [b"100", b"200"],
    ),
    "too large": (EXPECT + b"Content-Length: 9999\r\n", b"", [b"413"]),
    "malformed": (EXPECT + b"Content-Length: 5\r\nHost: twice\r\n", b"", [b"400"]),
    "none": (EXPECT, b"", [b"400"]),
    # Closed at once, the connection would be reset, and the answer often lost.
    "sent all the same": (b"Content-Length: 500000\r\n", b" " * 500_000, [b"413"]),
}


@pytest.fixture(scope="module")
def service(shared_service):
    return shared_service(DEEDS_MAX_BODY_BYTES=str(LIMIT), DEEDS_ARGON2="m=8,t=1,p=1")


@pytest.mark.parametrize(
    "sent",
    [bytes, partial(bytes.splitlines, keepends=True)],
    ids=["with its length", "in two chunks"],
)
@pytest.mark.parametrize(
    ("size", "code"),
    [
        (LIMIT, None),
        (LIMIT + 1, "body_too_large"),
    ],
)
def test_a_body_up_to_the_limit_is_read(service, size, code, sent):
    # Blanks at its end, so that a body cut off at the limit would be a good one.
    body = b'{"outputs":\n["+5.a"]}'.ljust(size)
    headers = {"Content-Type": "application/json"}

    with service.open_api() as api:
        answer = api.http.post("/v1/mint", content=sent(body), headers=headers)

    assert answer.json().get("code") == code


@pytest.mark.parametrize(("fields", "body", "statuses"), ASKED.values(), ids=ASKED)
def test_a_body_is_asked_for_only_where_it_is_owed_and_allowed(
    service, fields, body, statuses
):
    with socket.create_connection(("127.0.0.1", service.port), timeout=10) as client:
        client.sendall(HEAD + fields + b"\r\n")
        answer = client.recv(65_536)
        client.sendall(body)
        while received := client.recv(65_536):
            answer += received

    assert [part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]] == statuses
