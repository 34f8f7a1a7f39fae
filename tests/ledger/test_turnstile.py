"""The turn of a process among those that share an SQLite file: which locks it holds, and when."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from deeds.domain.errors import LedgerUnavailableError
from storage.engine import make_engine, parse_database_url
from storage.sqlite_writer import ProcessLock, lock_path
from storage.transactions import Transactions, ignore_retry
from tests.support.holding import held_locks, holding_locks
from tests.support.waiting import WAIT_SECONDS_MAX, wait_until

TURNSTILE, WRITER = 0, 1


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deeds.sqlite3-lock"


@pytest.fixture
def open_turnstile(path):
    opened = []

    def open_one(timeout_s):
        opened.append(ProcessLock(path, timeout_s=timeout_s))
        return opened[-1]

    yield open_one
    for turnstile in opened:
        turnstile.close()


def test_in_its_turn_a_process_lets_another_one_wait_next_and_after_it_holds_nothing(
    open_turnstile, path
):
    turnstile = open_turnstile(WAIT_SECONDS_MAX)

    with turnstile.turn():
        within = held_locks(path)

    assert (within, held_locks(path)) == ([WRITER], [])


def test_who_waits_for_the_writer_lets_nobody_pass(open_turnstile, path):
    turnstile = open_turnstile(WAIT_SECONDS_MAX)

    def take_turn():
        with turnstile.turn():
            return held_locks(path)

    with (
        ThreadPoolExecutor(1) as pool,
        holding_locks(path, first=WRITER, count=1) as writer,
    ):
        waiting = pool.submit(take_turn)
        wait_until(lambda: held_locks(path) == [TURNSTILE, WRITER])
        writer.kill()
        within = waiting.result(WAIT_SECONDS_MAX)

    assert (within, held_locks(path)) == ([WRITER], [])


@pytest.mark.parametrize("held", [TURNSTILE, WRITER])
def test_a_turn_that_does_not_come_in_time_is_given_up_and_holds_nothing(
    open_turnstile, path, held
):
    turnstile = open_turnstile(0.05)

    with holding_locks(path, first=held, count=1):
        with pytest.raises(LedgerUnavailableError), turnstile.turn():
            pytest.fail("it was another one's turn")
        left = held_locks(path)

    assert left == [held]


def test_a_work_that_fails_in_its_turn_ends_it(open_turnstile, path):
    turnstile = open_turnstile(WAIT_SECONDS_MAX)

    with pytest.raises(KeyError), turnstile.turn():
        raise KeyError

    assert held_locks(path) == []


def test_the_file_is_for_its_owner_alone(open_turnstile, path):
    before = os.umask(0)
    try:
        open_turnstile(WAIT_SECONDS_MAX)
    finally:
        os.umask(before)

    assert path.stat().st_mode & 0o777 == 0o600


def test_whoever_writes_has_the_turn_and_a_reader_waits_for_nobody(sqlite_url):
    url = parse_database_url(sqlite_url)
    transactions = Transactions(make_engine(url), ignore_retry)

    def look(_connection):
        return held_locks(lock_path(url))

    held = [transactions.write(look), transactions.read(look)]
    transactions.close()

    assert [*held, look(None)] == [[WRITER], [], []]
