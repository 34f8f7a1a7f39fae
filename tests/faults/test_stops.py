"""A stop answers what has begun, keeps what it answers, and waits for nobody else."""

import json
import os
import re
import signal
import time
from contextlib import ExitStack
from http.client import HTTPResponse

import psutil
import pytest

from storage.checkpoint import CheckpointFile, read_newest
from tests.faults.load import Load, assert_nothing_lost, line_of
from tests.support.abusers import GET, POST, connected
from tests.support.serving import running_service
from tests.support.waiting import wait_until

REQUESTS_COUNT = 6

# One that waits for idle clients lasts 65 s, and one that must be forced 30.
STOP_SECONDS_MAX = 10

# `Expect` makes the service say when it waits for the body.
HEAD = POST + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def begun(service, body):
    """Return a connection on which the service waits for the body."""
    client = connected(service, HEAD % len(body))
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


def kept(service):
    """Return a connection that has had an answer and is kept open by both sides.

    An empty line has followed the request, as old clients send it.
    """
    client = connected(service, GET + b"\r\n" + b"\r\n")
    client.settimeout(STOP_SECONDS_MAX)
    answer = HTTPResponse(client)
    answer.begin()
    assert answer.status == 200
    assert answer.read()
    assert not answer.will_close
    return client


def test_a_stop_finishes_the_requests_that_were_begun(tmp_path):
    body = json.dumps({"outputs": [f"+1.{number}" for number in range(16)]}).encode()
    settings = {"DEEDS_ARGON2": "m=7168,t=5,p=1", "WEB_CONCURRENCY": "2"}

    with running_service(tmp_path, **settings) as service, ExitStack() as stack:
        clients = [
            stack.enter_context(begun(service, body)) for _ in range(REQUESTS_COUNT)
        ]
        os.kill(service.process.pid, signal.SIGTERM)
        for client in clients:
            client.sendall(body)
        answers = [rest_of(client) for client in clients]
        assert service.process.wait(timeout=30) == 0

    items = [
        json.loads(answer.partition(b"\r\n\r\n")[2])["itemId"] for answer in answers
    ]
    assert [answer[:15] for answer in answers] == [b"HTTP/1.1 200 OK"] * REQUESTS_COUNT
    assert all(b"\r\nConnection: close\r\n" in answer for answer in answers)
    with running_service(tmp_path) as service:
        assert [service.get_status(f"/v1/item/{item}") for item in items] == [
            200
        ] * REQUESTS_COUNT


def test_a_stop_closes_kept_connections_without_a_reset(tmp_path):
    with (
        running_service(tmp_path, WEB_CONCURRENCY="2") as service,
        ExitStack() as stack,
    ):
        clients = [stack.enter_context(kept(service)) for _ in range(REQUESTS_COUNT)]
        os.kill(service.process.pid, signal.SIGTERM)
        # Raises ConnectionResetError where the end is not an orderly one.
        ends = [client.recv(1) for client in clients]

    assert ends == [b""] * REQUESTS_COUNT


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT], ids=["polite", "Ctrl-C"]
)
def test_waiting_clients_do_not_delay_a_stop(tmp_path, number):
    arguments = (
        "--bind 127.0.0.1:0 --worker-class tests.support.applications.ImpatientWorker"
    )
    settings = {"WEB_CONCURRENCY": "1", "GUNICORN_CMD_ARGS": arguments}
    with running_service(tmp_path, **settings) as service, ExitStack() as stack:
        for data in (b"", GET + b"\r\n", GET + b"X: "):
            stack.enter_context(connected(service, data))
        assert (
            service.get_status("/v1/info") == 200
        )  # By now those before it are served or read.
        started = time.monotonic()
        os.killpg(service.process.pid, number)
        assert service.process.wait(timeout=25) == 0

        assert time.monotonic() - started < STOP_SECONDS_MAX
        assert "Traceback" not in service.log_text()


def test_workers_end_with_their_master(tmp_path):
    with running_service(tmp_path, WEB_CONCURRENCY="2") as service, kept(service):
        master = psutil.Process(service.process.pid)
        wait_until(
            lambda: len(master.children()) == 2
        )  # The first one answers before the second.
        workers = master.children()
        service.process.kill()

        gone, _ = psutil.wait_procs(workers, timeout=STOP_SECONDS_MAX)

    assert len(gone) == 2


def test_a_worker_that_is_told_to_stop_just_after_its_fork_stops(tmp_path):
    """gunicorn would wait for it for 30 s and kill it."""
    arguments = (
        "--bind 127.0.0.1:0 --worker-class tests.support.applications.StoppedWorker"
    )
    with running_service(
        tmp_path, GUNICORN_CMD_ARGS=arguments, WEB_CONCURRENCY="2"
    ) as service:
        first = re.findall(r"Booting worker with pid: (\d+)", service.log_text())[0]

        wait_until(lambda: f"Worker exiting (pid: {first})" in service.log_text())

        assert service.get_status("/v1/info") == 200


@pytest.mark.soak(share=2)
def test_a_stop_under_load_answers_all_that_the_ledger_has_recorded(
    database_url, make_service, tmp_path, ledger, *, seed, report, soak_seconds
):
    file = CheckpointFile(tmp_path / "checkpoint")
    service = make_service(
        database_url, workers=3, DEEDS_CHECKPOINT_FILE=str(file.path)
    )
    service.start()
    deadline = time.monotonic() + soak_seconds
    stops = []
    load = Load([service.find_port], seed)
    with load.running():
        while not stops or time.monotonic() < deadline:
            load.wait_for_answers(100)
            exit_code = service.stop()
            stops.append((exit_code, file.read() == read_newest(ledger.engine)))
            recorded_count = len(ledger.operations())
            wait_until(lambda count=recorded_count: load.acknowledged_count() == count)
            service.start()

    counts = assert_nothing_lost(load, service.find_port, database_url)
    assert set(stops) == {(0, True)}
    assert counts["found done"] == 0
    report(f"stops {len(stops)}, {line_of(counts)}")
