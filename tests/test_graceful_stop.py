"""A stop finishes the requests that were begun, and keeps what they were answered."""

import json
import os
import signal
import socket

from tests.serving import running_service

REQUESTS_COUNT = 6
SECONDS_MAX = 30

# `Expect` makes the service say when a thread has taken the request up.
HEAD = (
    b"POST /v1/mint HTTP/1.1\r\nHost: deeds\r\nContent-Type: application/json\r\n"
    b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n"
)
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def begun(port, body):
    """Return a connection on which the service waits for the body."""
    client = socket.create_connection(("127.0.0.1", port), timeout=SECONDS_MAX)
    client.sendall(HEAD % len(body))
    said = b""
    while len(said) < len(CONTINUE):
        said += client.recv(1024)
    assert said == CONTINUE
    return client


def rest_of(client):
    said = b""
    while received := client.recv(65536):
        said += received
    return said


def test_a_stop_finishes_the_requests_that_were_begun(tmp_path):
    body = json.dumps({"outputs": [f"+1.{number}" for number in range(16)]}).encode()
    settings = {"DEEDS_ARGON2": "m=7168,t=5,p=1", "WEB_CONCURRENCY": "2"}

    with running_service(tmp_path, **settings) as service:
        clients = [begun(service.port, body) for _ in range(REQUESTS_COUNT)]
        os.kill(service.process.pid, signal.SIGTERM)
        for client in clients:
            client.sendall(body)
        answers = [rest_of(client) for client in clients]
        for client in clients:
            client.close()
        assert service.process.wait(timeout=SECONDS_MAX) == 0

    items = [json.loads(answer.partition(b"\r\n\r\n")[2])["itemId"] for answer in answers]
    assert [answer[:15] for answer in answers] == [b"HTTP/1.1 200 OK"] * REQUESTS_COUNT
    with running_service(tmp_path) as service:
        assert [service.get_status(f"/v1/item/{item}") for item in items] == [200] * REQUESTS_COUNT
