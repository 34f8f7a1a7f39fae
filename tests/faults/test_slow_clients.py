"""Clients that send slowly, or nothing, or never close: others notice nothing."""

import os
import socket
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from select import select

import pytest
from psutil import Process

from tests.support.abusers import (
    ABUSES,
    GET,
    POST,
    UNREAD,
    abusing,
    connected,
    slow_reader,
)
from tests.support.serving import running_service
from tests.support.waiting import wait_until

# Threads of one process (gunicorn.conf.py), so that as many clients could hold them
# all.
THREADS_COUNT = 32

IMPATIENT = (
    "--bind 127.0.0.1:0 --worker-class tests.support.applications.ImpatientWorker"
)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """The service, whose clients have a second for a request."""
    directory = tmp_path_factory.mktemp("impatient")
    with running_service(
        directory, WEB_CONCURRENCY="1", GUNICORN_CMD_ARGS=IMPATIENT
    ) as service:
        yield service
        assert '"level":"error"' not in service.log_text()


@pytest.fixture(scope="module")
def lasting(tmp_path_factory):
    """The same worker with an application that takes longer than that to answer."""
    with running_service(
        tmp_path_factory.mktemp("lasting"),
        application="tests.support.applications:lasting_app",
        WEB_CONCURRENCY="1",
        GUNICORN_CMD_ARGS=IMPATIENT,
    ) as service:
        yield service


@contextmanager
def clients_that_send(service, data, count):
    """Open `count` connections, send `data` on each and leave them open."""
    with ExitStack() as stack:
        yield [stack.enter_context(connected(service, data)) for _ in range(count)]


@pytest.mark.parametrize("name", ["a slow head", "a slow body", "endless chunks"])
def test_a_request_that_is_not_whole_in_time_is_cut_off(service, name):
    """Each byte comes soon after the last, but the whole request takes too long."""
    with abusing(service.port, [ABUSES[name]], THREADS_COUNT) as clients:
        assert service.get_status("/v1/info") == 200
        for client in clients:
            with suppress(ConnectionResetError):
                assert client.recv(1) == b""


def test_a_client_that_expects_a_word_and_sends_nothing_is_closed(service):
    with clients_that_send(service, POST + b"Expect: 100-continue\r\n", 1) as [client]:
        assert client.recv(1) == b""


def test_a_client_that_does_not_read_its_answers_is_cut_off(service):
    def is_held():
        [worker] = Process(service.process.pid).children()
        return any(
            each.raddr == client.getsockname() for each in worker.net_connections()
        )

    with closing(slow_reader(service.port)) as client:
        client.sendall(UNREAD)
        wait_until(is_held)

        wait_until(lambda: not is_held())


def test_urgent_data_ends_a_connection(service):
    """It would wake the loop again and again."""
    with clients_that_send(service, b"", 1) as [client]:
        client.send(b"!", socket.MSG_OOB)

        with suppress(ConnectionResetError):
            assert client.recv(1) == b""


def test_the_deadline_is_over_once_a_request_is_whole(lasting):
    """However long the answer takes, the connection stays what it was."""
    post = b"POST /?last HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody"
    with clients_that_send(lasting, post, 1) as [client]:
        while not (answer := client.recv(65_536)).endswith(b"body"):
            assert answer
        client.sendall(GET + b"Connection: close\r\n\r\n")

        assert client.recv(65_536).startswith(b"HTTP/1.1 200 ")


def test_monitors_are_answered_while_all_other_threads_wait(lasting):
    """For a database that has stopped, say: /readyz waits for it too."""
    waiting = b"GET /%s?last HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with (
        clients_that_send(lasting, waiting % b"", THREADS_COUNT) as others,
        clients_that_send(lasting, waiting % b"readyz", 1) as [monitor],
    ):
        for path in ("/healthz", "/metrics", "/v1/info"):
            assert lasting.get_status(path) == 200
        assert select(others, [], [], 0)[0] == []
        assert lasting.get_status("/other") == 200
        assert select(others, [], [], 0)[0] != []
        assert monitor.recv(65_536).startswith(b"HTTP/1.1 200 ")


def test_what_is_received_or_not_yet_read_is_on_no_disk(service):
    """A body holds secrets, and waitress would write large ones to temporary files."""
    [worker] = Process(service.process.pid).children()
    stuck = POST + b"Content-Length: 1048576\r\n\r\n" + b" " * 1_000_000
    with clients_that_send(service, stuck, 4):
        assert service.get_status("/v1/info") == 200

        # realpath, because the one that reads the directory is closed meanwhile.
        files = [
            os.path.realpath(each) for each in Path(f"/proc/{worker.pid}/fd").iterdir()
        ]

    assert [
        file for file in files if file.endswith("(deleted)") and "/shm/" not in file
    ] == []
