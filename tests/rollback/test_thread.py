"""The thread that raises the checkpoint file: when it begins and how it ends."""

import threading
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from parts.rollback import watch
from storage.database import NO_OPERATION
from storage.sqlite import SqliteDatabase
from tests.rollback.ledgers import (
    NEVER_S,
    next_time_ms,
    write_operation,
)
from tests.support.commanding import run_python
from tests.support.racing import at_once
from tests.support.waiting import wait_until

THREADS_COUNT = 8

PREPARE = """
import os, sys, threading, time
from pathlib import Path
from parts.rollback.checkpoint import CheckpointFile
from parts.rollback.watch import WatchedDatabase
from tests.rollback.ledgers import NEVER_S, SOON_S, open_database, write_operation
from tests.support.waiting import wait_until
file = CheckpointFile(Path(sys.argv[2]))
def start(check_interval_s):
    database = open_database(Path(sys.argv[1]))
    database = WatchedDatabase(database, file, None, check_interval_s)
    database.check_start()
    return database
"""

# Ends as a process does that was told to stop.
WRITE_AND_END = f"""{PREPARE}
write_operation(start(NEVER_S))
sys.exit()
"""

# Serves before a fork, closes, and serves in both processes after it.
FORK = f"""{PREPARE}
database = start(SOON_S)
write_operation(database)
database.close()
assert file.read().id == 1
child = os.fork()
assert threading.active_count() == 1
if child == 0:
    operation = write_operation(database)
    assert threading.active_count() == 2
    wait_until(lambda: file.read().id >= operation.id)
    os._exit(0)
write_operation(database)
assert threading.active_count() == 2
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0
wait_until(lambda: file.read().id == 3)
"""


class HangingDatabase(SqliteDatabase):
    """An SQLite ledger that hangs while several rows are read, if the test wants it."""

    def __init__(self, path):
        super().__init__(path, next_time_ms)
        self.is_asked, self.may_read = Event(), Event()
        self.may_read.set()

    def read_each(self, sql, keys):
        if not self.may_read.is_set():
            self.is_asked.set()
            self.may_read.wait(60)
        return super().read_each(sql, keys)


@pytest.fixture
def hanging(path, closing_all):
    database = HangingDatabase(path)
    closing_all.callback(database.may_read.set)
    return database


def watchers():
    return [each for each in threading.enumerate() if each.name == "rollback"]


def test_a_close_raises_the_file_and_never_lowers_it(start, file):
    first, second = start(check_interval_s=NEVER_S), start(check_interval_s=NEVER_S)
    write_operation(first)
    write_operation(second)
    assert file.read() == NO_OPERATION

    second.close()
    first.close()

    assert file.read().id == 2


def test_a_close_waits_for_a_check(start, file, hanging):
    watched = start(hanging)
    hanging.may_read.clear()
    operation = write_operation(watched)
    hanging.is_asked.wait(60)
    with ThreadPoolExecutor() as pool:
        closing = pool.submit(watched.close)
        with pytest.raises(TimeoutError):
            closing.result(timeout=0.05)
        hanging.may_read.set()
        closing.result(timeout=60)

    assert watchers() == []
    assert file.read() == operation


def test_a_close_does_not_wait_for_a_database_that_hangs(
    start, file, hanging, monkeypatch
):
    monkeypatch.setattr(watch, "CLOSE_SECONDS_MAX", 0.05)
    watched = start(hanging)
    hanging.may_read.clear()
    write_operation(watched)
    hanging.is_asked.wait(60)
    [first] = watchers()

    watched.close()

    assert file.read() == NO_OPERATION
    # The next write starts another thread, and the first one ends when it can.
    operation = write_operation(watched)
    hanging.may_read.set()
    first.join(60)
    assert len(watchers()) == 1
    wait_until(lambda: file.read() == operation)


def test_the_end_of_a_process_raises_the_file(path, file):
    ran = run_python("-c", WRITE_AND_END, str(path), str(file.path))

    assert (ran.returncode, ran.stderr) == (0, "")
    assert file.read().id == 1


def test_a_closed_service_can_be_used_again_in_both_processes_of_a_fork(path, file):
    ran = run_python("-c", FORK, str(path), str(file.path))

    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_thread_is_started_by_the_first_operation_and_ended_by_a_close(start):
    watched = start()
    watched.read("SELECT 1")
    watched.probe("SELECT 1")
    watched.write(lambda *_: NO_OPERATION, None)
    assert watchers() == []

    at_once([lambda: write_operation(watched)] * THREADS_COUNT)
    [thread] = watchers()
    assert thread.daemon

    watched.close()
    assert watchers() == []
    write_operation(watched)
    assert len(watchers()) == 1


def test_where_no_thread_can_be_started_the_next_operation_or_a_close_raises_the_file(
    start, file, monkeypatch
):
    def fail(_thread):
        raise RuntimeError("can't start new thread")

    watched = start()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        first = write_operation(watched)
        watched.close()
        assert file.read() == first
        write_operation(watched)
    assert watchers() == []

    operation = write_operation(watched)

    wait_until(lambda: file.read() == operation)
