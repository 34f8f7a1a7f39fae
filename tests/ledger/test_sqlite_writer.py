"""Writers of one SQLite file: threads share commits, and processes take turns.

Locks of two descriptors exclude each other whether or not they are of one process.
"""

import fcntl
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy.exc import IntegrityError, OperationalError

from deeds.domain.errors import (
    IdempotencyKeyTakenError,
    LedgerInDoubtError,
    LedgerUnavailableError,
    SpentInputError,
)
from storage.driver import CauseLog
from storage.sqlite_writer import ProcessLock, SqliteWriter
from storage.transactions import WRITES
from tests.support.leftovers import hooked, logged_statements
from tests.support.waiting import WAIT_SECONDS_MAX, wait_until

NEXT, WRITER = "-next-lock", "-lock"
REFUSED = SpentInputError(index=0)
# Of the second of two requests with one idempotency key.
TWIN = IdempotencyKeyTakenError(None)


@pytest.fixture
def engine(sqlite_url, open_engine):
    engine = open_engine(sqlite_url).execution_options(**{WRITES: True})
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE notes (note TEXT UNIQUE)")
    return engine


@pytest.fixture
def writer(engine, monkeypatch):
    """A writer whose records are functions of a connection."""
    monkeypatch.setattr(
        "storage.sqlite_writer.write_record",
        lambda connection, record: record(connection),
    )
    lock = ProcessLock(engine.url, WAIT_SECONDS_MAX)
    with closing(SqliteWriter(engine, lock, CauseLog())) as writer:
        yield writer


def adding(words, error=None):
    """Return a record that notes the words, and returns how many notes there are."""

    def add(connection):
        connection.exec_driver_sql("INSERT INTO notes VALUES (?)", (words,))
        if error:
            raise error
        return connection.exec_driver_sql("SELECT count(*) FROM notes").scalar_one()

    return add


def notes(engine):
    with engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT note FROM notes ORDER BY rowid")
        return list(rows.scalars())


@contextmanager
def holding(engine, suffix):
    """Hold one of the locks, as another process does; fail if it is held."""
    with Path(f"{engine.url.database}{suffix}").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield file


def held_locks(engine):
    """Return which locks another process would have to wait for."""
    held = []
    for suffix in (NEXT, WRITER):
        try:
            with holding(engine, suffix):
                pass
        except BlockingIOError:
            held.append(suffix)
    return held


@pytest.fixture
def gather(writer, engine):
    """A function that writes records in one turn, in this order.

    Returns results and errors.
    """

    def write(*records):
        with ThreadPoolExecutor(len(records)) as threads:
            with holding(engine, WRITER):
                futures = []
                for record in records:
                    futures.append(threads.submit(writer.write_in_group, record))
                    wait_until(lambda: len(writer._waiting) == len(futures))
            return [
                future.exception(WAIT_SECONDS_MAX) or future.result()
                for future in futures
            ]

    return write


def test_a_process_that_waits_to_write_lets_no_other_overtake_it(
    writer, engine, thread
):
    with holding(engine, WRITER) as other:
        waiting = thread.submit(writer.write_in_group, lambda _: held_locks(engine))
        wait_until(lambda: held_locks(engine) == [NEXT, WRITER])
        fcntl.flock(other, fcntl.LOCK_UN)
        within = waiting.result(WAIT_SECONDS_MAX)

    assert (within, held_locks(engine)) == ([WRITER], [])


@pytest.mark.parametrize("held", [NEXT, WRITER])
def test_a_turn_that_does_not_come_in_time_is_given_up_and_holds_nothing(
    writer, engine, monkeypatch, held
):
    monkeypatch.setattr(writer._process_lock, "_timeout_s", 0.05)

    with holding(engine, held):
        with pytest.raises(LedgerUnavailableError):
            writer.write_in_group(adding("a"))
        left = held_locks(engine)

    assert left == [held]
    assert writer.write_in_group(adding("a")) == 1


def test_records_that_wait_together_share_a_commit_and_keep_their_order(gather, engine):
    with logged_statements() as log:
        made = gather(*map(adding, "abcd"))

    assert made == [1, 2, 3, 4]
    assert notes(engine) == ["a", "b", "c", "d"]
    assert log.commits_count == 1


def test_a_record_that_fails_is_undone_alone(gather, engine):
    with logged_statements() as log:
        first, failed, second, again = gather(
            adding("a"),
            adding("b", REFUSED),
            adding("c"),
            adding("a"),
        )

    assert (first, failed, second, type(again)) == (1, REFUSED, 2, IntegrityError)
    assert notes(engine) == ["a", "c"]
    assert log.commits_count == 1


@pytest.mark.parametrize("words", ["a", "ab"])
def test_where_all_records_fail_nothing_is_committed(gather, writer, engine, words):
    with logged_statements() as log:
        failed = gather(*(adding(each, REFUSED) for each in words))

    assert failed == [REFUSED] * len(words)
    assert (notes(engine), log.commits_count, held_locks(engine)) == ([], 0, [])
    assert writer.write_in_group(adding("a")) == 1


def test_a_transaction_that_cannot_begin_fails_each_with_its_own_error(writer, gather):
    failure = OperationalError("BEGIN", None, sqlite3.OperationalError())

    def fail(_connection):
        raise failure

    with hooked("begin", fail):
        first, second, third = gather(*map(adding, "abc"))

    assert first is failure
    assert (type(second), type(third)) == (LedgerUnavailableError,) * 2
    assert second is not third
    assert writer.write_in_group(adding("d")) == 1


def test_a_commit_that_breaks_off_is_in_doubt_for_what_was_kept(gather, engine):
    def commit_and_break_off(connection):
        connection.connection.driver_connection.execute("COMMIT")
        raise OperationalError(
            "COMMIT", None, sqlite3.OperationalError("disk I/O error")
        )

    with hooked("commit", commit_and_break_off):
        failed = gather(
            adding("a"),
            adding("b", REFUSED),
            adding("c", TWIN),
        )

    # The twin's request may be the one that is in doubt.
    in_doubt, refused = LedgerInDoubtError, LedgerUnavailableError
    assert [type(each) for each in failed] == [in_doubt, refused, in_doubt]
    assert notes(engine) == ["a"]


@pytest.mark.parametrize(
    ("pragma", "insert", "error"),
    [
        (
            "PRAGMA defer_foreign_keys = ON",
            "INSERT INTO offer_inputs VALUES ('no offer', 'no item', x'00')",
            IntegrityError,
        ),
        (
            # The size of now: it is never set below that.
            "PRAGMA max_page_count = 1",
            "INSERT INTO notes VALUES (hex(zeroblob(1000000)))",
            OperationalError,
        ),
    ],
    ids=["a commit is refused", "the disk is full"],
)
def test_a_refused_commit_or_a_full_disk_undoes_the_whole_group(
    writer, gather, engine, pragma, insert, error
):
    def break_off(connection):
        connection.exec_driver_sql(pragma)
        connection.exec_driver_sql(insert)

    failed = gather(
        adding("a"),
        adding("b", REFUSED),
        break_off,
    )

    unavailable = LedgerUnavailableError
    assert [type(each) for each in failed] == [error, unavailable, unavailable]
    assert notes(engine) == []
    assert writer.write_in_group(adding("c")) == 1
    assert notes(engine) == ["c"]
