"""The turn of a process among those that share an SQLite file: which locks it holds, and when.

Locks of two descriptors exclude each other whether or not they are of one process.
"""

import fcntl
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic

import pytest

from deeds.domain.errors import LedgerUnavailableError
from storage.engine import make_engine, parse_database_url
from storage.sqlite_file import lock_file
from storage.sqlite_writer import ProcessLock
from storage.transactions import Transactions, ignore_retry
from tests.support.waiting import WAIT_SECONDS_MAX, wait_until

NEXT, WRITER = "-next-lock", "-lock"


@pytest.fixture
def url(sqlite_url):
    return parse_database_url(sqlite_url)


@pytest.fixture
def lock(url):
    with closing(ProcessLock(url, WAIT_SECONDS_MAX)) as opened:
        yield opened


@contextmanager
def holding(url, suffix):
    """Hold one of the locks, as another process does."""
    with Path(f"{url.database}{suffix}").open("a") as file:
        lock_file(file.fileno(), monotonic())
        yield file


def held_locks(url):
    """Return which locks another process would have to wait for."""
    held = []
    for suffix in (NEXT, WRITER):
        try:
            with holding(url, suffix):
                pass
        except BlockingIOError:
            held.append(suffix)
    return held


def test_a_process_that_waits_to_write_lets_no_other_overtake_it(lock, url):
    def take_turn():
        with lock.turn():
            return held_locks(url)

    with ThreadPoolExecutor(1) as pool, holding(url, WRITER) as writer:
        waiting = pool.submit(take_turn)
        wait_until(lambda: held_locks(url) == [NEXT, WRITER])
        fcntl.flock(writer, fcntl.LOCK_UN)
        within = waiting.result(WAIT_SECONDS_MAX)

    assert (within, held_locks(url)) == ([WRITER], [])


@pytest.mark.parametrize("held", [NEXT, WRITER])
def test_a_turn_that_does_not_come_in_time_is_given_up_and_holds_nothing(url, held):
    with holding(url, held), closing(ProcessLock(url, timeout_s=0.05)) as lock:
        with pytest.raises(LedgerUnavailableError), lock.turn():
            pytest.fail("another process has the turn")
        left = held_locks(url)

    assert left == [held]


def test_work_that_fails_ends_its_turn(lock, url):
    with pytest.raises(KeyError), lock.turn():
        raise KeyError

    assert held_locks(url) == []


def test_a_writer_has_the_turn_and_a_reader_waits_for_none(url):
    transactions = Transactions(make_engine(url), ignore_retry)

    with closing(transactions):
        held = [ask(lambda _: held_locks(url)) for ask in (transactions.write, transactions.read)]

    assert held == [[WRITER], []]
