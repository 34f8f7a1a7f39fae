"""A log that nobody reads delays no request, no worker and no stop."""

import fcntl
import json
import logging
import os
import signal
import time
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from deeds.blueprints.log import configure_log
from deeds.process import LogStream
from tests.support.api import SUCCESS, Api, environ_of, good
from tests.support.commanding import run_redirected
from tests.support.databases import sqlite_path
from tests.support.serving import READY_URL, children, start_gunicorn
from tests.support.waiting import wait_until

# Enough for the first lines, because the master drops lines that do not fit.
PIPE_BYTES = 16_384

# A stop without requests takes less than a second; the log may add another.
STOP_SECONDS_MAX = 5


@contextmanager
def service_into_pipe(**settings):
    """Run gunicorn with its log in a small pipe; yield its process and its URL.

    Nobody reads the pipe once the service listens.
    """
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    with (
        os.fdopen(reader, "rb") as log,
        start_gunicorn(Path(f"/dev/fd/{writer}"), settings) as process,
    ):
        os.close(writer)
        while (ready := READY_URL.search(log.readline().decode())) is None:
            pass
        yield process, f"http://127.0.0.1:{ready[1]}"


def is_replaced(process, pid):
    pids = {child.pid for child in children(process.pid)}
    return len(pids) == 2 and pid not in pids


def test_a_full_pipe_delays_no_request_no_worker_and_no_stop(sqlite_url):
    settings = environ_of(sqlite_url) | {"WEB_CONCURRENCY": "2", "DEEDS_LOG": "json"}
    with service_into_pipe(**settings) as (process, url):
        with closing(Api.of_url(url)) as api:
            # A line has more than 200 bytes, so they are three times the pipe's size.
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

        stopped_at = time.monotonic()
        process.terminate()
        assert process.wait(timeout=30) == 0
        assert time.monotonic() - stopped_at < STOP_SECONDS_MAX

    assert set(answers) == {404}
    assert statuses == [200, 200]
    assert good(swapped) == SUCCESS


@pytest.fixture
def pipe(monkeypatch):
    """A full pipe in place of stderr: a function that empties it, and its reader."""
    reader, writer = os.pipe()
    monkeypatch.setattr("deeds.process.STDERR", writer)
    filled = os.write(writer, b"x" * fcntl.fcntl(writer, fcntl.F_GETPIPE_SZ))
    with os.fdopen(reader, "rb") as file:
        yield lambda: file.read(filled), file
    os.close(writer)


@pytest.fixture
def stream(monkeypatch):
    """A new stream, to which everything is logged."""
    stream = LogStream()
    monkeypatch.setattr("deeds.blueprints.log.LOG_STREAM", stream)
    root = logging.getLogger()
    before = root.handlers[:]
    configure_log("json", "info")
    yield stream
    stream.stop()
    root.handlers[:] = before


def test_the_queue_is_bounded_and_dropped_lines_are_counted_and_reported(
    pipe, stream, monkeypatch
):
    empty_pipe, log = pipe
    counts = []
    stream.on_drop = counts.append
    stream.start()
    stream.write_line(b"first\n")
    monkeypatch.setattr("deeds.process.LINES_MAX", 0)

    for _ in range(7):
        stream.write_line(b"dropped\n")
    empty_pipe()

    # The report is written even if the queue is still full.
    assert log.readline() == b"first\n"
    line = json.loads(log.readline())
    assert (line["level"], line["event"]) == ("warning", "log_dropped")
    assert line["message"] == "dropped log lines: 7"
    assert sum(counts) == 7


def test_without_a_thread_a_line_is_written_at_once_or_dropped(pipe, stream):
    """The master of gunicorn must have no thread, because it forks."""
    empty_pipe, log = pipe

    stream.write_line(b"dropped\n")
    empty_pipe()
    stream.write_line(b"written\n")

    assert log.readline() == b"written\n"
    assert json.loads(log.readline())["message"] == "dropped log lines: 1"


def test_with_a_closed_standard_error_the_log_is_written_to_no_file(sqlite_url):
    """The next file that is opened, such as the ledger, gets the number of stderr."""
    script = (
        "import app; client = app.create_app().test_client();"
        ' print(client.post("/v1/mint", json={"outputs": ["+5.a"]}).status_code)'
    )
    ran = run_redirected("2>&-", "-c", script, **environ_of(sqlite_url))

    path = Path(sqlite_path(sqlite_url))
    files = path.parent.glob(f"{path.name}*")
    assert (ran.returncode, ran.stdout) == (0, "200\n")
    assert [file for file in files if b"event" in file.read_bytes()] == []


def test_lines_that_the_pipe_cannot_take_at_once_stay_whole_and_in_order(pipe, stream):
    empty_pipe, log = pipe
    empty_pipe()
    stream.start()
    lines = [b"%d %s\n" % (number, b"x" * 300) for number in range(800)]

    for line in lines:
        stream.write_line(line)

    assert [log.readline() for _ in lines] == lines
