"""Metrics of a real gunicorn: one sum, whichever process answers and whichever have died."""

import http.client
import json
import os
import signal
import socket
from pathlib import Path

import pytest

from tests.support.marker import MARK, assert_no_trace
from tests.support.waiting import wait_until
from tests.support.watched import moved, read_metrics

WORKERS = 3
MINTS_COUNT = 30
MINTED = "deeds_operations_total{kind=mint,outcome=done}"
ROOM = "deeds_hash_queue_requests_max{lane=ordinary}"


def ask(port, path, body=None):
    """Return status and text of an answer over a new connection, which any process may take."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        headers = {"Content-Type": "application/json"}
        connection.request("GET" if body is None else "POST", path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def mint_some(service):
    body = json.dumps({"outputs": [f"+1.{MARK}"]})
    assert [ask(service.port, "/v1/mint", body)[0] for _ in range(MINTS_COUNT)] == 30 * [200]


def metrics(service):
    status, text = ask(service.port, "/metrics")
    assert status == 200
    return text


def workers(service):
    path = Path(f"/proc/{service.process.pid}/task/{service.process.pid}/children")
    return [int(each) for each in path.read_text().split()]


def directory_of(service):
    """Return where the processes count: the master holds a lock in it."""
    files = Path(f"/proc/{service.process.pid}/fd").iterdir()
    found = {path.readlink().parent for path in files if path.readlink().name == "lock"}
    return next((path for path in found if path.name.startswith("deeds-metrics-")), None)


@pytest.fixture
def service(gunicorn_service):
    service = gunicorn_service(
        DEEDS_METRICS="on", DEEDS_ARGON2="m=8,t=1,p=1", WEB_CONCURRENCY=str(WORKERS)
    )
    # Every process has told its room once it serves.
    wait_until(lambda: read_metrics(metrics(service))[ROOM] == WORKERS * 24)
    return service


def test_every_process_tells_the_sum_of_all(service):
    mint_some(service)

    told = {read_metrics(metrics(service))[MINTED] for _ in range(3 * WORKERS)}

    assert told == {MINTS_COUNT}


def test_what_a_killed_process_counted_stays_and_what_was_under_way_goes(service):
    mint_some(service)
    files = sorted(path.name for path in directory_of(service).iterdir())
    for _ in range(WORKERS):
        victim = workers(service)[0]
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda gone=victim: gone not in workers(service))
        wait_until(lambda: len(workers(service)) == WORKERS)
        wait_until(lambda: read_metrics(metrics(service))[ROOM] == WORKERS * 24)

    assert read_metrics(metrics(service))[MINTED] == MINTS_COUNT
    mint_some(service)
    assert read_metrics(metrics(service))[MINTED] == 2 * MINTS_COUNT
    assert sorted(path.name for path in directory_of(service).iterdir()) == files


def test_new_processes_of_a_reload_go_on_counting(service):
    mint_some(service)
    before = set(workers(service))
    os.kill(service.process.pid, signal.SIGHUP)
    wait_until(lambda: not before & set(workers(service)) and len(workers(service)) == WORKERS)
    wait_until(lambda: read_metrics(metrics(service))[ROOM] == WORKERS * 24)
    mint_some(service)

    assert read_metrics(metrics(service))[MINTED] == 2 * MINTS_COUNT


def test_the_files_are_private_and_go_with_the_service(service):
    directory = directory_of(service)
    modes = {path.stat().st_mode & 0o077 for path in [directory, *directory.iterdir()]}

    os.kill(service.process.pid, signal.SIGTERM)
    service.process.wait(timeout=30)

    assert modes == {0}
    assert not directory.exists()


def test_the_files_are_as_large_as_they_will_ever_be(service):
    """A file that grew while memory is full would kill its process."""
    sizes = {path.name: path.stat() for path in directory_of(service).glob("*.db")}
    mint_some(service)
    for path in ("/v1/info", "/nothing", "/healthz", "/readyz", "/docs", "/v1/item/x"):
        ask(service.port, path)

    assert len(sizes) == 3 * WORKERS
    for path in directory_of(service).glob("*.db"):
        assert path.stat().st_size == sizes[path.name].st_size
        assert path.stat().st_blocks * 512 >= path.stat().st_size


def test_what_is_no_http_is_counted_too(service):
    service.send_bytes(f"{MARK}\r\n\r\n".encode())

    assert moved(metrics(service), "deeds_refusals") == {
        "deeds_refusals_total{code=bad_request}": 1
    }


def test_no_metric_and_no_line_of_the_log_holds_a_secret(service):
    mint_some(service)
    ask(service.port, f"/v1/item/{MARK}?{MARK}")
    service.send_bytes(f"{MARK} /{MARK} HTTP/1.1\r\nHost: {MARK}\r\n\r\n".encode())
    service.send_bytes(f"GET /{MARK} HTTP/1.1\r\n{MARK}\r\n\r\n".encode())

    assert_no_trace(metrics(service).encode())
    assert_no_trace(service.log.read_bytes())


def test_on_an_address_of_their_own_there_is_nothing_else(gunicorn_service):
    with socket.create_server(("127.0.0.1", 0)) as free, socket.create_server(("", 0)) as other:
        port, own_port = free.getsockname()[1], other.getsockname()[1]
    # The tests' own --bind would replace both addresses.
    service = gunicorn_service(
        PORT=str(port), DEEDS_METRICS=f"127.0.0.1:{own_port}", GUNICORN_CMD_ARGS=""
    )
    paths = ["/metrics", "/healthz", "/readyz", "/v1/info", "/docs", "/no/such/path"]

    beside = [ask(service.port, path)[0] for path in paths]
    alone = [ask(own_port, path)[0] for path in paths]

    assert service.port == port
    assert beside == [404, 200, 200, 200, 200, 404]
    assert alone == [200, 200, 200, 404, 404, 404]


def test_without_the_setting_there_are_no_files(gunicorn_service):
    service = gunicorn_service()

    assert ask(service.port, "/metrics")[0] == 404
    assert directory_of(service) is None
