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
from storage.engine import WRITES
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
def engine(sqlite_url, open_engine):
    engine = open_engine(sqlite_url)
    with engine.execution_options(**{WRITES: True}).begin() as connection:
        connection.execute(text("CREATE TABLE notes (note TEXT UNIQUE)"))
    return engine


@pytest.fixture
def turn():
    return Turn()


@pytest.fixture
def writer(engine, turn):
    return SqliteWriter(engine.execution_options(**{WRITES: True}), turn.take)


def note(words):
    """Return a work that notes the words and tells how many notes there are."""

    def work(connection):
        connection.execute(text("INSERT INTO notes VALUES (:words)"), {"words": words})
        return connection.execute(text("SELECT count(*) FROM notes")).scalar_one()

    return work


def refuse_after(words, error=None):
    """Return a work that notes the words and then fails."""

    def work(connection):
        note(words)(connection)
        raise error or SpentInputError(index=0)

    return work


def notes(engine):
    with engine.connect() as connection:
        return list(connection.execute(text("SELECT note FROM notes ORDER BY rowid")).scalars())


@pytest.fixture
def gather(writer, turn):
    """A function that lets all the works wait for one turn, in this order, and returns what comes
    of them."""
    with ThreadPoolExecutor(max_workers=8) as threads:

        def run(*works):
            futures = []
            for count, work in enumerate(works, start=1):
                futures.append(threads.submit(writer.write, work))
                wait_until(lambda count=count: len(writer._waiting) == count)
            assert turn.wanted.wait(WAIT_S)
            turn.open.set()
            return [future.exception(WAIT_S) or future.result() for future in futures]

        yield run


@pytest.fixture
def commits():
    """The commits of the test."""
    commits = Counter()
    with hooked("commit", commits):
        yield commits


@pytest.mark.parametrize(("group_size_max", "turns_count"), [(4, 1), (2, 2)])
def test_works_that_wait_together_share_turns_and_commits_and_keep_their_order(
    gather, turn, engine, commits, monkeypatch, *, group_size_max, turns_count
):
    monkeypatch.setattr(storage.sqlite_writer, "GROUP_SIZE_MAX", group_size_max)
    said = gather(*(note(words) for words in "abcd"))

    assert said == [1, 2, 3, 4]
    assert notes(engine) == ["a", "b", "c", "d"]
    assert (turn.count, commits.count) == (turns_count, turns_count)


def counted(work):
    """Return the work and the list to which each run of it adds."""
    runs = []

    def count(connection):
        runs.append(work)
        return work(connection)

    return count, runs


def test_a_work_beside_one_that_fails_runs_twice_and_every_other_once(writer, gather):
    good, good_runs = counted(note("a"))
    bad, bad_runs = counted(refuse_after("b"))
    gather(good, bad)
    assert (len(good_runs), len(bad_runs)) == (2, 2)

    alone, alone_runs = counted(refuse_after("c"))
    with pytest.raises(SpentInputError):
        writer.write(alone)
    lucky, lucky_runs = counted(note("c"))
    assert writer.write(lucky) == 2
    assert (len(alone_runs), len(lucky_runs)) == (1, 1)


def test_a_work_that_fails_is_undone_alone(gather, engine):
    error = SpentInputError(index=3)

    said = gather(note("a"), refuse_after("b", error), note("c"), note("a"))

    assert said[:3] == [1, error, 2]
    assert type(said[3]).__name__ == "IntegrityError"
    assert notes(engine) == ["a", "c"]


def test_where_all_works_fail_nothing_is_committed(gather, engine, commits):
    said = gather(refuse_after("a"), refuse_after("b"))

    assert [type(each) for each in said] == [SpentInputError] * 2
    assert (notes(engine), commits.count) == ([], 0)


def test_a_turn_that_fails_fails_all_that_wait_each_with_an_exception_of_its_own(
    writer, turn, gather
):
    failure = turn.failure = OperationalError("no turn", None, sqlite3.OperationalError())

    said = gather(note("a"), note("b"), note("c"))

    assert said[0] is failure
    assert [type(each) for each in said[1:]] == [LedgerUnavailableError] * 2
    assert said[1] is not said[2]
    assert writer.write(note("d")) == 1


def test_what_fails_after_the_commit_takes_nothing_back(turn, gather, engine):
    turn.failure_at_end = OSError("cannot unlock")

    said = gather(note("a"), refuse_after("b", KeyError()), note("c"))

    assert [said[0], type(said[1]), said[2]] == [1, KeyError, 2]
    assert notes(engine) == ["a", "c"]


def test_a_commit_that_breaks_off_is_in_doubt_for_what_was_kept_and_undone_for_the_rest(
    gather, engine
):
    def commit_and_break_off(connection):
        connection.connection.driver_connection.execute("COMMIT")
        raise OperationalError("COMMIT", None, sqlite3.OperationalError("disk I/O error"))

    with hooked("commit", commit_and_break_off):
        said = gather(note("a"), refuse_after("b"))

    assert [type(each) for each in said] == [LedgerInDoubtError, LedgerUnavailableError]
    assert notes(engine) == ["a"]


def test_a_commit_that_is_refused_is_undone_for_all(writer, gather, engine):
    def break_foreign_key(connection):
        connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
        connection.exec_driver_sql("INSERT INTO item_schemes VALUES ('deed_absent', 1)")

    said = gather(note("a"), refuse_after("b"), break_foreign_key)

    assert [type(each) for each in said] == [LedgerUnavailableError] * 3
    assert notes(engine) == []
    assert writer.write(note("c")) == 1
    assert notes(engine) == ["c"]


def test_a_disk_that_fills_up_undoes_the_whole_group(gather, engine):
    def fill(connection):
        limit = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {limit}")
        connection.execute(text("INSERT INTO notes VALUES (hex(zeroblob(1000000)))"))

    said = gather(note("a"), refuse_after("b"), fill)

    assert [type(each) for each in said] == [OperationalError, *[LedgerUnavailableError] * 2]
    assert notes(engine) == []
