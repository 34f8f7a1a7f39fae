"""The turn of a process among those that share an SQLite file: which locks it holds, and when."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from deeds.domain.errors import LedgerUnavailableError
from storage.engine import make_engine, parse_database_url
from storage.sqlite_writer import ProcessLock, lock_path
from storage.transactions import Transactions, ignore_retry
from tests.support.waiting import WAIT_SECONDS_MAX, wait_until

NEXT, WRITER = 0, 1


HOLD = """
import fcntl, sys
file = open(sys.argv[1], "a")
fcntl.lockf(file, fcntl.LOCK_EX, 1, int(sys.argv[2]))
print("held", flush=True)
sys.stdin.read()
"""

PROBE = """
import fcntl, sys
file = open(sys.argv[1], "a")
for byte in 0, 1:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
    except OSError:
        print(byte)
"""


def held_locks(path):
    """Return which locks another process would have to wait for."""
    command = [sys.executable, "-c", PROBE, str(path)]
    probe = subprocess.run(command, capture_output=True, text=True, check=True)
    return [int(line) for line in probe.stdout.splitlines()]


@contextmanager
def holding_lock(path, first):
    """Let another process hold a lock of writers until the block ends, as one that was stopped."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path), str(first)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deeds.sqlite3-lock"


@pytest.fixture
def open_lock(path):
    opened = []

    def open_one(timeout_s=WAIT_SECONDS_MAX):
        opened.append(ProcessLock(path, timeout_s=timeout_s))
        return opened[-1]

    yield open_one
    for lock in opened:
        lock.close()


def test_a_process_that_waits_to_write_lets_no_other_overtake_it(open_lock, path):
    lock = open_lock()

    def take_turn():
        with lock.turn():
            return held_locks(path)

    with (
        ThreadPoolExecutor(1) as pool,
        holding_lock(path, WRITER) as writer,
    ):
        waiting = pool.submit(take_turn)
        wait_until(lambda: held_locks(path) == [NEXT, WRITER])
        writer.kill()
        within = waiting.result(WAIT_SECONDS_MAX)

    assert (within, held_locks(path)) == ([WRITER], [])


@pytest.mark.parametrize("held", [NEXT, WRITER])
def test_a_turn_that_does_not_come_in_time_is_given_up_and_holds_nothing(open_lock, path, held):
    lock = open_lock(timeout_s=0.05)

    with holding_lock(path, held):
        with pytest.raises(LedgerUnavailableError), lock.turn():
            pytest.fail("another process has the turn")
        left = held_locks(path)

    assert left == [held]


def test_work_that_fails_ends_its_turn(open_lock, path):
    with pytest.raises(KeyError), open_lock().turn():
        raise KeyError

    assert held_locks(path) == []


def test_a_turn_survives_the_closing_of_another_descriptor_of_its_file(open_lock, path):
    with open_lock().turn():
        path.open("r+").close()
        held = held_locks(path)

    assert held == [WRITER]


def test_two_locks_of_one_process_exclude_each_other(open_lock):
    with (
        open_lock().turn(),
        pytest.raises(LedgerUnavailableError),
        open_lock(timeout_s=0.05).turn(),
    ):
        pytest.fail("the other one has the turn")


def test_a_writer_has_the_turn_and_a_reader_waits_for_none(sqlite_url):
    url = parse_database_url(sqlite_url)
    transactions = Transactions(make_engine(url), ignore_retry)

    def look(_connection):
        return held_locks(lock_path(url))

    held = [transactions.write(look), transactions.read(look)]
    transactions.close()

    assert [*held, look(None)] == [[WRITER], [], []]
