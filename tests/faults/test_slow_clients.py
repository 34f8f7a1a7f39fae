"""Clients that send slowly, or nothing, or never close, and what others notice of them: nothing."""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from psutil import Process

from tests.support.abusers import UNREAD, connect_to_read_little
from tests.support.serving import Service, running_service
from tests.support.waiting import wait_until

# Threads of one process (gunicorn.conf.py), so that as many clients could hold them all.
THREADS_COUNT = 32

# Any of the faults these tests look for costs at least 2 s.
PROMPT_SECONDS_MAX = 1.5

# A stop that waits for a client lasts 20 s, and one that must be forced 30.
STOP_SECONDS_MAX = 15

GET = b"GET /v1/info HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    arguments = "--bind 127.0.0.1:0 --worker-class tests.support.impatient_worker.ImpatientWorker"
    with running_service(tmp_path, WEB_CONCURRENCY="1", GUNICORN_CMD_ARGS=arguments) as service:
        yield service


@contextmanager
def clients_that_send(service: Service, data: bytes, count: int) -> Iterator[list[socket.socket]]:
    """Open `count` connections, send `data` on each and leave them open."""
    with ExitStack() as stack:
        clients = []
        for _ in range(count):
            client = socket.create_connection(("127.0.0.1", service.port), timeout=10)
            clients.append(stack.enter_context(client))
            client.sendall(data)
        yield clients


def seconds_of(act: Callable[[], object]) -> float:
    start = time.monotonic()
    act()
    return time.monotonic() - start


@pytest.mark.parametrize(
    "data",
    [b"", b"garbage\r\n\r\n", GET + b"Connection: close\r\n\r\n", GET + b"\r\n"],
    ids=["silent", "refused", "answered", "kept alive"],
)
def test_clients_that_do_not_close_delay_nobody(service: Service, data: bytes) -> None:
    with clients_that_send(service, data, 2 * THREADS_COUNT):
        assert seconds_of(lambda: service.get_status("/v1/info")) < PROMPT_SECONDS_MAX


def test_half_requests_hold_the_threads_only_until_the_deadline(service: Service) -> None:
    with clients_that_send(service, GET + b"X: ", THREADS_COUNT) as clients:
        assert service.get_status("/v1/info") == 200
        assert [client.recv(1) for client in clients] == [b""] * THREADS_COUNT


def test_a_client_that_trickles_is_cut_off(service: Service) -> None:
    """Each byte comes soon after the last, but the request as a whole takes too long."""
    with clients_that_send(service, GET + b"X: ", 1) as [client]:
        deadline = time.monotonic() + 8
        client.settimeout(0.05)
        while time.monotonic() < deadline:
            try:
                client.sendall(b"x")
                assert client.recv(1) == b""
                return
            except TimeoutError:
                continue
            except OSError:
                return
    raise AssertionError("the service went on listening to a client that trickles")


def test_a_client_that_does_not_read_its_answers_is_cut_off(service: Service) -> None:
    def is_held() -> bool:
        [worker] = Process(service.process.pid).children()
        return any(each.raddr == client.getsockname() for each in worker.net_connections())

    with closing(connect_to_read_little(service.port)) as client:
        client.sendall(UNREAD)
        wait_until(is_held)

        wait_until(lambda: not is_held())


def test_a_body_that_stalls_is_refused(service: Service) -> None:
    head = b"POST /v1/mint HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    answer = service.send_bytes(head + b'Content-Length: 99\r\n\r\n{"out', half_close=False)

    assert answer.startswith(b"HTTP/1.1 400 ")


def test_the_deadline_is_over_once_a_request_is_whole(tmp_path: Path) -> None:
    """However long the answer takes, the connection stays what it was."""
    arguments = "--bind 127.0.0.1:0 --worker-class tests.support.impatient_worker.ImpatientWorker"
    application = "tests.support.lasting_app:lasting_app"
    post = b"POST /lasting HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody"
    with (
        running_service(
            tmp_path,
            application=application,
            WEB_CONCURRENCY="1",
            GUNICORN_CMD_ARGS=arguments,
        ) as service,
        clients_that_send(service, post, 1) as [client],
    ):
        while not (answer := client.recv(65_536)).endswith(b"4\r\nbody\r\n0\r\n\r\n"):
            assert answer
        client.sendall(GET + b"Connection: close\r\n\r\n")

        assert client.recv(65_536).startswith(b"HTTP/1.1 200 ")


def test_waiting_clients_do_not_delay_a_polite_stop(service: Service) -> None:
    with (
        clients_that_send(service, b"", 2),
        clients_that_send(service, GET + b"\r\n", 2),
        clients_that_send(service, GET + b"X: ", 2),
    ):
        assert service.get_status("/v1/info") == 200  # By now those before it are served or read.
        os.kill(service.process.pid, signal.SIGTERM)
        assert seconds_of(lambda: service.process.wait(timeout=25)) < STOP_SECONDS_MAX
    assert service.process.returncode == 0


def test_waiting_clients_do_not_delay_ctrl_c(service: Service) -> None:
    with clients_that_send(service, b"", 2), clients_that_send(service, GET + b"X: ", 2):
        assert service.get_status("/v1/info") == 200
        os.killpg(service.process.pid, signal.SIGINT)
        assert seconds_of(lambda: service.process.wait(timeout=25)) < STOP_SECONDS_MAX
    assert service.process.returncode == 0
    assert "Traceback" not in service.log_text()
