"""A stop finishes the requests that were begun, and keeps what they were answered."""

import json
import os
import signal
import socket
from http.client import HTTPResponse

from tests.support.serving import running_service

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


def kept(port):
    """Return a connection that has had an answer and is kept open by both sides."""
    client = socket.create_connection(("127.0.0.1", port), timeout=SECONDS_MAX)
    client.sendall(b"GET /v1/info HTTP/1.1\r\nHost: deeds\r\n\r\n")
    answer = HTTPResponse(client)
    answer.begin()
    assert (answer.status, len(answer.read()) > 0, answer.will_close) == (200, True, False)
    return client


def test_a_stop_closes_kept_connections_without_a_reset(tmp_path):
    with running_service(tmp_path, WEB_CONCURRENCY="2") as service:
        clients = [kept(service.port) for _ in range(REQUESTS_COUNT)]
        os.kill(service.process.pid, signal.SIGTERM)
        # Raises ConnectionResetError where the end is not an orderly one.
        ends = [client.recv(1) for client in clients]
        for client in clients:
            client.close()

    assert ends == [b""] * REQUESTS_COUNT
