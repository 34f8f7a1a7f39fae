"""A log that nobody reads holds up no request, no worker and no stop."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest

from deeds.blueprints.log import configure_log
from deeds.process import LINES_MAX, LogStream
from tests.support.api import Api, environ_of, good
from tests.support.commanding import output_of, run_redirected
from tests.support.databases import sqlite_path
from tests.support.serving import (
    READY_URL,
    REPOSITORY,
    START_SECONDS_MAX,
    children,
    clean_environment,
)
from tests.support.waiting import wait_until

# As much as a pipe holds on Linux.
PIPE_BYTES = 65_536

# A stop without requests takes less than a second; its log may add one.
STOP_SECONDS_MAX = 5


@contextmanager
def service_into_pipe(**settings):
    """Run gunicorn with its log in a pipe; yield its process and its URL.

    Nobody reads the pipe once the service listens.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "gunicorn", "app:create_app()"],
        cwd=REPOSITORY,
        env=clean_environment(settings),
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        log = ""
        while not READY_URL.search(log):
            log += process.stderr.readline().decode()
        yield process, f"http://127.0.0.1:{READY_URL.search(log)[1]}"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.stderr.close()
        process.wait(START_SECONDS_MAX)


def is_replaced(process, pid):
    pids = {child.pid for child in children(process.pid)}
    return len(pids) == 2 and pid not in pids


def test_a_full_pipe_holds_up_no_request_no_worker_and_no_stop(sqlite_url):
    settings = environ_of(sqlite_url) | {
        "WEB_CONCURRENCY": "2",
        "DEEDS_LOG": "json",
        "DEEDS_METRICS": "on",
    }
    with service_into_pipe(**settings) as (process, url):
        with closing(Api.of_url(url)) as api:
            # A line has more than 200 bytes: three times what a pipe holds.
            answers = [
                api.get("/v1/item/deed_nobody").status_code
                for _ in range(3 * PIPE_BYTES // 200)
            ]
            item_id = api.mint("+5.a")
        killed = children(process.pid)[0].pid
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: is_replaced(process, killed))
        with closing(Api.of_url(url)) as api:
            statuses = [api.get(path).status_code for path in ("/healthz", "/readyz")]
            swapped = api.swap([f"+5.{item_id}.a"], [f"+5.{item_id}.b"])

        begun = time.monotonic()
        process.terminate()
        assert process.wait(timeout=30) == 0
        assert time.monotonic() - begun < STOP_SECONDS_MAX

    assert set(answers) == {404}
    assert statuses == [200, 200]
    assert good(swapped) == {"success": True}
    assert "Every invariant holds." in output_of(settings, "audit")


@pytest.fixture
def pipe(monkeypatch):
    """A full pipe in the place of standard error; what has filled it is read first."""
    reader, writer = os.pipe()
    monkeypatch.setattr("deeds.process.STDERR", writer)
    os.set_blocking(writer, False)
    filled = os.write(writer, b"x" * PIPE_BYTES * 16)
    os.set_blocking(writer, True)
    with os.fdopen(reader, "rb") as file:
        yield lambda: file.read(filled), file
    # One that a stop has left waiting ends now, and writes to no other test's.
    for thread in threading.enumerate():
        if thread.name == "log":
            thread.join(STOP_SECONDS_MAX)
    os.close(writer)


@pytest.fixture
def stream(monkeypatch):
    """A stream of its own, to which everything is logged."""
    stream = LogStream()
    monkeypatch.setattr("deeds.blueprints.log.LOG_STREAM", stream)
    root = logging.getLogger()
    before = root.handlers[:]
    configure_log("json", "info")
    yield stream
    stream.stop()
    root.handlers[:] = before


def test_the_queue_is_bounded_and_what_is_dropped_is_counted_and_said(pipe, stream):
    empty_pipe, log = pipe
    counts = []
    stream.on_drop = counts.append
    stream.start()

    # The thread holds one line or more, which wait for the pipe.
    for number in range(LINES_MAX + 200):
        stream.write(b"%d\n" % number)
    dropped_count = sum(counts)
    empty_pipe()
    read = [log.readline() for _ in range(LINES_MAX + 201 - dropped_count)]

    assert 100 <= dropped_count <= 200
    *lines, said = read
    numbers = [int(line) for line in lines if line.strip().isdigit()]
    assert numbers == sorted(numbers)
    assert numbers[0] == 0
    said = next(json.loads(line) for line in read if line.startswith(b"{"))
    assert (said["level"], said["event"]) == ("warning", "log_dropped")
    assert said["message"] == f"dropped log lines: {dropped_count}"


def test_their_number_is_said_where_the_queue_is_full_still(pipe, stream, monkeypatch):
    empty_pipe, log = pipe
    stream.start()
    stream.write(b"first\n")
    monkeypatch.setattr("deeds.process.LINES_MAX", 0)

    for _ in range(7):
        stream.write(b"dropped\n")
    empty_pipe()

    assert log.readline() == b"first\n"
    assert json.loads(log.readline())["message"] == ("dropped log lines: 7")


def test_without_a_thread_a_line_is_written_at_once_or_dropped(pipe, stream):
    """The master of gunicorn forks, so that it must have no thread."""
    empty_pipe, log = pipe

    stream.write(b"dropped\n")
    empty_pipe()
    stream.write(b"written\n")

    assert log.readline() == b"written\n"
    assert json.loads(log.readline())["message"] == ("dropped log lines: 1")


def test_a_thread_that_cannot_start_leaves_the_lines_to_be_written_at_once(
    pipe, stream, monkeypatch
):
    empty_pipe, log = pipe
    empty_pipe()
    no_thread = Mock(side_effect=RuntimeError("can't start new thread"))
    monkeypatch.setattr(threading.Thread, "start", no_thread)

    with pytest.raises(RuntimeError):
        stream.start()
    stream.write(b"why\n")

    assert log.readline() == b"why\n"


def test_a_closed_standard_error_writes_into_no_file(sqlite_url):
    """Its number would be the next file's that is opened: the ledger's, say."""
    script = (
        "import app; client = app.create_app().test_client();"
        ' print(client.post("/v1/mint", json={"outputs": ["+5.a"]}).status_code)'
    )
    ran = run_redirected("2>&-", "-c", script, **environ_of(sqlite_url))

    path = Path(sqlite_path(sqlite_url))
    beside = [each for each in path.parent.iterdir() if each.name.startswith(path.name)]
    assert (ran.returncode, ran.stdout) == (0, "200\n")
    assert [each for each in beside if b"event" in each.read_bytes()] == []


def test_a_stop_waits_a_second_at_most_and_writes_what_can_be(pipe, stream):
    empty_pipe, log = pipe
    stream.start()
    stream.write(b"late\n")

    begun = time.monotonic()
    stream.stop()
    waited_s = time.monotonic() - begun
    stream.write(b"dropped\n")
    empty_pipe()

    assert 1 <= waited_s < STOP_SECONDS_MAX
    assert log.readline() == b"late\n"


def test_lines_of_several_threads_are_whole_and_in_order(pipe, stream):
    empty_pipe, log = pipe
    empty_pipe()
    stream.start()

    def write(thread):
        for number in range(200):
            stream.write(b"%d %d %s\n" % (thread, number, b"x" * 300))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))
    read = [log.readline().split() for _ in range(800)]

    assert {(len(line), len(line[2])) for line in read} == {(3, 300)}
    for thread in (b"0", b"1", b"2", b"3"):
        numbers = [int(line[1]) for line in read if line[0] == thread]
        assert numbers == list(range(200))
