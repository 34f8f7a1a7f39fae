"""A stop completes requests that have begun, and waits for no other client."""

import json
import os
import re
import signal
import socket
import time
from contextlib import ExitStack
from http.client import HTTPResponse

import psutil
import pytest

from tests.support.abusers import GET, POST, open_connection
from tests.support.applications import STOPPED
from tests.support.databases import on_sqlite
from tests.support.load import Load, line_of, rounds
from tests.support.waiting import wait_until

REQUESTS_COUNT = 6

# A stop that waited for idle clients would take 95 s, and one that is forced 10 s.
STOP_SECONDS_MAX = 8

# With `Expect` the service says when it waits for the body.
HEAD = POST + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def idle_connection(service):
    """Return a connection that is kept open after an answer.

    An empty line follows the request, as old clients send it.
    """
    client = open_connection(service, GET + b"\r\n" + b"\r\n")
    client.settimeout(STOP_SECONDS_MAX)
    answer = HTTPResponse(client)
    answer.begin()
    assert answer.status == 200
    assert answer.read()
    assert not answer.will_close
    return client


def unfinished_request(service, body):
    """Return a connection on which the service waits for the body."""
    client = open_connection(service, HEAD % len(body))
    assert client.recv(len(CONTINUE), socket.MSG_WAITALL) == CONTINUE
    return client


@pytest.mark.slow
def test_a_stop_completes_requests_and_waits_for_no_other_client(
    gunicorn_service,
):
    service = gunicorn_service(WEB_CONCURRENCY="2")
    body = json.dumps({"outputs": ["+1.a"]}).encode()
    with ExitStack() as stack:
        idle, requests = [], []
        for _ in range(REQUESTS_COUNT):
            idle.append(stack.enter_context(idle_connection(service)))
            requests.append(stack.enter_context(unfinished_request(service, body)))
        stack.enter_context(open_connection(service))

        stopped_at = time.monotonic()
        service.process.terminate()
        # Raises ConnectionResetError if the connection is not closed in order.
        ends = [client.recv(1) for client in idle]
        for client in requests:
            client.sendall(body)
            answer = HTTPResponse(client)
            answer.begin()
            assert (answer.status, answer.will_close) == (200, True)
            assert b'"itemId"' in answer.read()
            assert client.recv(1) == b""
        assert service.process.wait(timeout=30) == 0

    assert time.monotonic() - stopped_at < STOP_SECONDS_MAX
    assert ends == [b""] * REQUESTS_COUNT


@pytest.mark.slow
def test_ctrl_c_waits_for_nobody(gunicorn_service):
    service = gunicorn_service()
    with ExitStack() as stack:
        for data in (b"", GET + b"\r\n", GET + b"X: "):
            stack.enter_context(open_connection(service, data))
        # After this the service has read what the other connections sent.
        assert service.get("/v1/info").status_code == 200

        started = time.monotonic()
        os.killpg(service.process.pid, signal.SIGINT)
        assert service.process.wait(timeout=25) == 0

    assert time.monotonic() - started < STOP_SECONDS_MAX
    assert "Traceback" not in service.log_text()


@pytest.mark.slow
def test_workers_end_when_told_to_just_after_their_fork_and_with_their_master(
    gunicorn_service,
):
    service = gunicorn_service(WEB_CONCURRENCY="2", GUNICORN_CMD_ARGS=STOPPED)
    first = re.findall(r"Booting worker with pid: (\d+)", service.log_text())[0]
    # Otherwise gunicorn would kill it after 10 s.
    wait_until(lambda: f"Worker exiting (pid: {first})" in service.log_text())

    with idle_connection(service):
        workers = service.workers
        service.process.kill()
        _, alive = psutil.wait_procs(workers, timeout=STOP_SECONDS_MAX)

    assert alive == []


@pytest.mark.slow
@on_sqlite
@pytest.mark.soak(share=2)
def test_a_stop_under_load_answers_all_that_the_ledger_has_recorded(
    database_url, make_service, tmp_path, ledger, *, seed, report, soak_seconds
):
    checkpoint = tmp_path / "checkpoint"
    settings = {"workers": 3, "DEEDS_CHECKPOINT_FILE": str(checkpoint)}
    service = make_service(database_url, **settings)
    stops_count = 0

    load = Load([service.find_port], seed)
    with load.running():
        for _ in rounds(seed, soak_seconds):
            load.wait_for_answers(60)
            assert service.stop() == 0
            stops_count += 1
            recorded_count = len(ledger.operations())
            [(newest_id,)] = ledger.read("SELECT max(id) FROM operations")
            assert checkpoint.read_text().split()[1] == str(newest_id)
            wait_until(
                lambda count=recorded_count: load.fates.count("acknowledged") == count
            )
            service.start()

    counts = load.assert_nothing_lost(database_url)
    assert counts["found done"] == 0
    report(f"stops {stops_count}, {line_of(counts)}")
