"""Writers on SQLite share transactions: each is answered for its own work, after the commit."""

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

import storage.sqlite_writer
from deeds.domain.errors import LedgerInDoubtError, LedgerUnavailableError, SpentInputError
from storage.engine import WRITES, make_engine, parse_database_url
from storage.sqlite_writer import SqliteWriter
from tests.support.hooks import Counter, hooked
from tests.support.waiting import wait_until

WAIT_S = 20


class Turn:
    """The turn among processes, which a test can hold back or make fail."""

    def __init__(self):
        self.open = threading.Event()
        self.wanted = threading.Event()
        self.failure = None
        self.failure_at_end = None
        self.count = 0

    @contextmanager
    def take(self):
        self.count += 1
        self.wanted.set()
        assert self.open.wait(WAIT_S)
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        yield
        if self.failure_at_end is not None:
            raise self.failure_at_end


@pytest.fixture
def engine(sqlite_url):
    engine = make_engine(parse_database_url(sqlite_url))
    with engine.execution_options(**{WRITES: True}).begin() as connection:
        connection.execute(text("CREATE TABLE notes (note TEXT UNIQUE)"))
    yield engine
    engine.dispose()


@pytest.fixture
def turn():
    return Turn()


@pytest.fixture
def writer(engine, turn):
    return SqliteWriter(engine.execution_options(**{WRITES: True}), turn.take)


@pytest.fixture
def threads():
    with ThreadPoolExecutor(max_workers=8) as pool:
        yield pool


def note(words):
    """Return a work that notes the words and tells how many notes there are."""

    def work(connection):
        connection.execute(text("INSERT INTO notes VALUES (:words)"), {"words": words})
        return connection.execute(text("SELECT count(*) FROM notes")).scalar_one()

    return work


def fail_after(work, error):
    def fail(connection):
        work(connection)
        raise error

    return fail


def notes(engine):
    with engine.connect() as connection:
        return list(connection.execute(text("SELECT note FROM notes ORDER BY rowid")).scalars())


def gather(writer, turn, threads, *works):
    """Let all the works wait for one turn, in this order; return what will come of them."""
    futures = []
    for count, work in enumerate(works, start=1):
        futures.append(threads.submit(writer.write, work))
        wait_until(lambda count=count: len(writer._waiting) == count)
    assert turn.wanted.wait(WAIT_S)
    turn.open.set()
    return [future.exception(WAIT_S) or future.result() for future in futures]


def test_works_that_wait_together_share_one_turn_and_commit_and_keep_their_order(
    writer, turn, threads, engine
):
    commits = Counter()

    with hooked("commit", commits):
        said = gather(writer, turn, threads, *(note(words) for words in "abcd"))

    assert said == [1, 2, 3, 4]
    assert notes(engine) == ["a", "b", "c", "d"]
    assert (turn.count, commits.count) == (1, 1)


def counted(work):
    """Return the work and the list to which each run of it adds."""
    runs = []

    def count(connection):
        runs.append(work)
        return work(connection)

    return count, runs


def test_a_work_beside_one_that_fails_runs_twice_and_every_other_once(writer, turn, threads):
    good, good_runs = counted(note("a"))
    bad, bad_runs = counted(fail_after(note("b"), SpentInputError(index=0)))
    gather(writer, turn, threads, good, bad)
    assert (len(good_runs), len(bad_runs)) == (2, 2)

    alone, alone_runs = counted(fail_after(note("c"), SpentInputError(index=0)))
    with pytest.raises(SpentInputError):
        writer.write(alone)
    lucky, lucky_runs = counted(note("c"))
    assert writer.write(lucky) == 2
    assert (len(alone_runs), len(lucky_runs)) == (1, 1)


def test_a_work_that_fails_is_undone_alone(writer, turn, threads, engine):
    error = SpentInputError(index=3)

    said = gather(
        writer, turn, threads, note("a"), fail_after(note("b"), error), note("c"), note("a")
    )

    assert said[:3] == [1, error, 2]
    assert type(said[3]).__name__ == "IntegrityError"
    assert notes(engine) == ["a", "c"]


def test_where_all_works_fail_nothing_is_committed(writer, turn, threads, engine):
    commits = Counter()

    with hooked("commit", commits):
        said = gather(
            writer, turn, threads, *(fail_after(note(w), SpentInputError(index=0)) for w in "ab")
        )

    assert [type(each) for each in said] == [SpentInputError] * 2
    assert (notes(engine), commits.count) == ([], 0)


def test_more_works_than_a_group_takes_are_all_done(writer, turn, threads, engine, monkeypatch):
    monkeypatch.setattr(storage.sqlite_writer, "GROUP_SIZE_MAX", 2)
    commits = Counter()

    with hooked("commit", commits):
        said = gather(writer, turn, threads, *(note(words) for words in "abcde"))

    assert said == [1, 2, 3, 4, 5]
    assert commits.count == 3


def test_a_turn_that_fails_fails_all_that_wait_each_with_an_exception_of_its_own(
    writer, turn, threads, engine
):
    turn.failure = OperationalError("no turn", None, sqlite3.OperationalError())
    failure = turn.failure

    said = gather(writer, turn, threads, note("a"), note("b"), note("c"))

    assert said[0] is failure
    assert [type(each) for each in said[1:]] == [LedgerUnavailableError] * 2
    assert said[1] is not said[2]
    assert writer.write(note("d")) == 1


def test_what_fails_after_the_commit_takes_nothing_back(writer, turn, threads, engine):
    turn.failure_at_end = OSError("cannot unlock")

    said = gather(writer, turn, threads, note("a"), fail_after(note("b"), KeyError()), note("c"))

    assert [said[0], type(said[1]), said[2]] == [1, KeyError, 2]
    assert notes(engine) == ["a", "c"]


def test_a_commit_that_breaks_off_is_in_doubt_for_what_was_kept_and_undone_for_the_rest(
    writer, turn, threads, engine
):
    def commit_and_break_off(connection):
        connection.connection.driver_connection.execute("COMMIT")
        raise OperationalError("COMMIT", None, sqlite3.OperationalError("disk I/O error"))

    with hooked("commit", commit_and_break_off):
        said = gather(
            writer, turn, threads, note("a"), fail_after(note("b"), SpentInputError(index=0))
        )

    assert [type(each) for each in said] == [LedgerInDoubtError, LedgerUnavailableError]
    assert notes(engine) == ["a"]


def test_a_commit_that_is_refused_is_undone_for_all(writer, turn, threads, engine):
    def break_foreign_key(connection):
        connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
        connection.exec_driver_sql("INSERT INTO item_schemes VALUES ('deed_absent', 1)")

    said = gather(
        writer,
        turn,
        threads,
        note("a"),
        fail_after(note("b"), SpentInputError(index=0)),
        break_foreign_key,
    )

    assert [type(each) for each in said] == [LedgerUnavailableError] * 3
    assert notes(engine) == []
    assert writer.write(note("c")) == 1
    assert notes(engine) == ["c"]


def test_a_disk_that_fills_up_undoes_the_whole_group(writer, turn, threads, engine):
    pages_count = "SELECT page_count FROM pragma_page_count()"

    def fill(connection):
        limit = connection.exec_driver_sql(pages_count).scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {limit}")
        connection.execute(text("INSERT INTO notes VALUES (hex(zeroblob(1000000)))"))

    said = gather(
        writer, turn, threads, note("a"), fail_after(note("b"), SpentInputError(index=0)), fill
    )

    assert [type(each) for each in said] == [OperationalError, *[LedgerUnavailableError] * 2]
    assert notes(engine) == []
