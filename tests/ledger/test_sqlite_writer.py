"""Writers of one SQLite file: threads share commits, and processes take turns.

Locks of two descriptors exclude each other whether or not they are of one process.
"""

import fcntl
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError, OperationalError

from deeds.domain.errors import (
    IdempotencyKeyTakenError,
    LedgerInDoubtError,
    LedgerUnavailableError,
    SpentInputError,
)
from deeds.domain.model import Operation, OperationKind
from storage.driver import CauseLog, execute
from storage.sqlite_file import locked
from storage.sqlite_writer import ProcessLock, SqliteWriter
from storage.transactions import WRITES
from tests.support.hooks import hooked, logged_statements
from tests.support.ledger_records import ITEM_ID
from tests.support.waiting import WAIT_SECONDS_MAX, wait_until

NEXT, WRITER = "-next-lock", "-lock"


@pytest.fixture(autouse=True)
def _records_are_calls(monkeypatch):
    """A record is a function of a connection, and its other argument."""

    def write_record(connection, record):
        call, argument = record
        return call(connection, argument)

    monkeypatch.setattr("storage.sqlite_writer.write_record", write_record)


@pytest.fixture
def engine(sqlite_url, open_engine):
    engine = open_engine(sqlite_url)
    with engine.connect() as connection:
        connection.execute(text("CREATE TABLE notes (note TEXT UNIQUE)"))
    return engine


@pytest.fixture
def open_writer(engine):
    """A function that opens a writer which waits so long for its turn."""
    with ExitStack() as stack:

        def open_one(timeout_s):
            lock = ProcessLock(engine.url, timeout_s)
            writer = SqliteWriter(
                engine.execution_options(**{WRITES: True}), lock, CauseLog()
            )
            stack.callback(writer.close)
            return writer

        yield open_one


@pytest.fixture
def writer(open_writer):
    return open_writer(WAIT_SECONDS_MAX)


@contextmanager
def holding(engine, suffix):
    """Hold one of the locks, as another process does."""
    with (
        Path(f"{engine.url.database}{suffix}").open("a") as file,
        locked(file.fileno(), monotonic()),
    ):
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


def look(_connection, engine):
    return held_locks(engine)


def note(words):
    """Return a record that notes the words and tells how many notes there are."""
    return add_note, words


def add_note(connection, words):
    execute(connection, "INSERT INTO notes VALUES (:words)", {"words": words})
    return execute(connection, "SELECT count(*) FROM notes").scalar_one()


def refuse_after(words):
    """Return a record that notes the words and then fails."""
    return add_note_and_fail, words


def add_note_and_fail(connection, words):
    add_note(connection, words)
    raise SpentInputError(index=0)


def meet_twin(_connection, _record):
    """Fail as the second of two requests with one idempotency key."""
    operation = Operation(1, OperationKind.MINT, 0, 1, ITEM_ID, None)
    raise IdempotencyKeyTakenError(operation)


def notes(engine):
    with engine.connect() as connection:
        return list(
            connection.execute(text("SELECT note FROM notes ORDER BY rowid")).scalars()
        )


def test_a_process_that_waits_to_write_lets_no_other_overtake_it(writer, engine):
    with ThreadPoolExecutor(1) as pool, holding(engine, WRITER) as other:
        waiting = pool.submit(writer.write_in_group, (look, engine))
        wait_until(lambda: held_locks(engine) == [NEXT, WRITER])
        fcntl.flock(other, fcntl.LOCK_UN)
        within = waiting.result(WAIT_SECONDS_MAX)

    assert (within, held_locks(engine)) == ([WRITER], [])


@pytest.mark.parametrize("held", [NEXT, WRITER])
def test_a_turn_that_does_not_come_in_time_is_given_up_and_holds_nothing(
    open_writer, engine, held
):
    impatient = open_writer(0.05)

    with holding(engine, held):
        with pytest.raises(LedgerUnavailableError):
            impatient.write_in_group(note("a"))
        left = held_locks(engine)

    assert left == [held]
    assert impatient.write_in_group(note("a")) == 1


@pytest.fixture
def gather(writer, engine):
    """A function that runs the works in one turn, in this order.

    Returns results and errors.
    """

    def run(*works):
        with ThreadPoolExecutor(len(works)) as threads:
            with holding(engine, WRITER):
                futures = []
                for count, work in enumerate(works, start=1):
                    futures.append(threads.submit(writer.write_in_group, work))
                    wait_until(lambda count=count: len(writer._waiting) == count)
            return [
                future.exception(WAIT_SECONDS_MAX) or future.result()
                for future in futures
            ]

    return run


@pytest.fixture
def log():
    """The statements and commits of the test."""
    with logged_statements() as log:
        yield log


def test_works_that_wait_together_share_a_commit_and_keep_their_order(
    gather, engine, log
):
    assert gather(*(note(words) for words in "abcd")) == [1, 2, 3, 4]
    assert notes(engine) == ["a", "b", "c", "d"]
    assert log.commits_count == 1


def test_a_work_that_fails_is_undone_alone(gather, engine, log):
    said = gather(note("a"), refuse_after("b"), note("c"), note("a"))

    assert (said[0], said[2]) == (1, 2)
    assert (type(said[1]), type(said[3])) == (SpentInputError, IntegrityError)
    assert notes(engine) == ["a", "c"]
    assert log.commits_count == 1


@pytest.mark.parametrize("count", [1, 2])
def test_where_all_works_fail_nothing_is_committed(gather, writer, engine, log, count):
    said = gather(*(refuse_after(words) for words in "ab"[:count]))

    assert [type(each) for each in said] == [SpentInputError] * count
    assert (notes(engine), log.commits_count, held_locks(engine)) == ([], 0, [])
    assert writer.write_in_group(note("a")) == 1


def test_a_transaction_that_cannot_begin_fails_each_with_its_own_error(writer, gather):
    failure = OperationalError("BEGIN", None, sqlite3.OperationalError())

    def fail(_connection):
        raise failure

    with hooked("begin", fail):
        said = gather(note("a"), note("b"), note("c"))

    assert said[0] is failure
    assert [type(each) for each in said[1:]] == [LedgerUnavailableError] * 2
    assert said[1] is not said[2]
    assert writer.write_in_group(note("d")) == 1


def test_a_commit_that_breaks_off_is_in_doubt_for_what_was_kept(gather, engine):
    def commit_and_break_off(connection):
        connection.connection.driver_connection.execute("COMMIT")
        raise OperationalError(
            "COMMIT", None, sqlite3.OperationalError("disk I/O error")
        )

    with hooked("commit", commit_and_break_off):
        said = gather(note("a"), refuse_after("b"), (meet_twin, None))

    # The twin's request may be the one that is in doubt.
    in_doubt, refused = LedgerInDoubtError, LedgerUnavailableError
    assert [type(each) for each in said] == [in_doubt, refused, in_doubt]
    assert notes(engine) == ["a"]


def break_foreign_key(connection, _record):
    execute(connection, "PRAGMA defer_foreign_keys = ON")
    execute(
        connection, "INSERT INTO offer_inputs VALUES ('no offer', 'no item', x'00')"
    )


def fill(connection, _record):
    limit = execute(connection, "PRAGMA page_count").scalar_one()
    execute(connection, f"PRAGMA max_page_count = {limit}")
    execute(connection, "INSERT INTO notes VALUES (hex(zeroblob(1000000)))")


@pytest.mark.parametrize(
    ("work", "error"), [(break_foreign_key, IntegrityError), (fill, OperationalError)]
)
def test_a_refused_commit_or_a_full_disk_undoes_the_whole_group(
    writer, gather, engine, work, error
):
    said = gather(note("a"), refuse_after("b"), (work, None))

    assert [type(each) for each in said] == [error, *[LedgerUnavailableError] * 2]
    assert notes(engine) == []
    assert writer.write_in_group(note("c")) == 1
    assert notes(engine) == ["c"]
