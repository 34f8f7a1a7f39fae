"""Clients that send slowly, send nothing or never close do not affect others."""

import json
import os
import re
import socket
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from tests.support.abusers import (
    ABUSES,
    GET,
    STUCK,
    UNREAD,
    abusing,
    open_connection,
    readable,
    slow_reader,
)
from tests.support.applications import IMPATIENT, LASTING
from tests.support.marker import MARK
from tests.support.waiting import wait_until

# The threads of one process (gunicorn_conf.py).
THREADS_COUNT = 32


@pytest.fixture(scope="module")
def service(shared_service):
    """A service whose clients have half a second for a request."""
    service = shared_service(GUNICORN_CMD_ARGS=IMPATIENT)
    yield service
    assert '"level":"error"' not in service.log_text()


@pytest.fixture(scope="module")
def lasting(shared_service):
    """The same worker with an application that waits before it answers."""
    return shared_service(application=LASTING, GUNICORN_CMD_ARGS=IMPATIENT)


def test_a_request_that_is_not_complete_in_time_is_cut_off(service):
    """Its bytes keep coming, but the whole request takes too long."""
    slow = [ABUSES[name] for name in ("a slow head", "a slow body", "endless chunks")]
    with abusing(service.port, slow, THREADS_COUNT) as clients:
        assert service.get("/v1/info").status_code == 200
        for client in clients:
            with suppress(ConnectionResetError):
                assert client.recv(1) == b""


def test_a_client_that_does_not_read_its_answers_is_cut_off(service):
    [worker] = service.workers
    with closing(slow_reader(service.port)) as client:
        own = client.getsockname()
        client.sendall(UNREAD)
        wait_until(lambda: own in [each.raddr for each in worker.net_connections()])

        wait_until(lambda: own not in [each.raddr for each in worker.net_connections()])


def test_urgent_data_ends_a_connection(service):
    """Otherwise it would wake the server's loop again and again."""
    with open_connection(service, b"") as client:
        client.send(b"!", socket.MSG_OOB)

        with suppress(ConnectionResetError):
            assert client.recv(1) == b""


@pytest.mark.slow
def test_the_deadline_ends_once_a_request_is_complete(lasting):
    """The answer may take longer, and the connection stays usable."""
    post = b"POST /?last HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody"
    with open_connection(lasting, post) as client:
        while not (answer := client.recv(65_536)).endswith(b"body"):
            assert answer
        client.sendall(GET + b"Connection: close\r\n\r\n")

        assert client.recv(65_536).startswith(b"HTTP/1.1 200 ")


def test_monitors_are_answered_while_all_other_threads_wait(lasting):
    """For example for a database that has stopped, as /readyz does too."""
    last = b"GET /%s?last HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with ExitStack() as stack:
        others = [
            stack.enter_context(open_connection(lasting, last % b""))
            for _ in range(THREADS_COUNT)
        ]
        monitor = stack.enter_context(open_connection(lasting, last % b"readyz"))

        for path in ("/healthz", "/metrics", "/v1/info"):
            assert lasting.get(path).status_code == 200
        assert readable(others) == []
        assert lasting.get("/v1/info?go").status_code == 200
        for other in [*others, monitor]:
            assert other.recv(65_536).startswith(b"HTTP/1.1 200 ")


@pytest.mark.slow
def test_no_part_of_a_body_is_on_disk(service):
    """A body holds secrets, and waitress would write large ones to temporary files."""
    [worker] = service.workers
    with abusing(service.port, [STUCK], 4):
        assert service.get("/v1/info").status_code == 200

        # Not readlink, because the descriptor of the directory itself is closed by now.
        descriptors = Path(f"/proc/{worker.pid}/fd").iterdir()
        files = [os.path.realpath(each) for each in descriptors]

    assert not any(file.endswith("(deleted)") and "/shm/" not in file for file in files)


def test_a_system_exit_ends_only_its_connection_and_is_logged(lasting):
    """Otherwise the client would wait for ever on a connection that nobody closes."""
    answer = lasting.send_bytes(b"GET /?exit HTTP/1.1\r\nHost: a\r\n\r\n")

    assert answer == b""
    assert lasting.get("/v1/info").status_code == 200
    wait_until(lambda: "SystemExit" in lasting.log_text())
    [line] = re.findall(".*SystemExit.*", lasting.log_text())
    assert json.loads(line)["event"] == "defect"
    assert MARK not in lasting.log_text()
