"""Writers of one SQLite file: threads share commits, and processes take turns.

Locks of two descriptors exclude each other whether or not they are of one process.
"""

import fcntl
import signal
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest

from deeds.errors import (
    LedgerInDoubtError,
    LedgerUnavailableError,
    SpentInputError,
)
from deeds.model import Operation
from storage.sqlite import SqliteDatabase
from tests.support.api import fresh, good, refusal
from tests.support.databases import on_sqlite
from tests.support.hooks import break_off, hooked, is_writer, logged_statements
from tests.support.waiting import WAIT_SECONDS_MAX, wait_until

UNAVAILABLE = (503, "ledger_unavailable", None)
REFUSED = SpentInputError(index=0)


class Interrupt(BaseException):
    """What a handler of a signal raises."""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "notes.sqlite3"


@pytest.fixture
def database(path):
    """A database of notes, and of echoes of notes."""
    with closing(SqliteDatabase(path, lambda: 0)) as database:

        def create(transaction):
            transaction.execute("CREATE TABLE notes (note TEXT UNIQUE)")
            transaction.execute("CREATE TABLE echoes (note REFERENCES notes (note))")

        database.create(create)
        yield database


def adding(words, error=None, gate=None):
    """Return work that notes the words; its operation counts the notes.

    It waits twice at the gate.
    """

    def add(transaction, _record):
        transaction.execute("INSERT INTO notes VALUES (?)", (words,))
        if gate:
            gate.wait(WAIT_SECONDS_MAX)
            gate.wait(WAIT_SECONDS_MAX)
        if error:
            raise error
        [count] = transaction.execute("SELECT count(*) FROM notes").fetchone()
        return Operation(count, transaction.now_ms)

    return add


def notes(database):
    rows = database.read("SELECT note FROM notes ORDER BY rowid")
    return [note for [note] in rows]


@contextmanager
def turn_held(path):
    """Hold the lock file, as another process does; fail if it is held."""
    with Path(f"{path}-lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


@contextmanager
def writer_held(path):
    """Write to the file, as another process does; fail if somebody does."""
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def held_locks(path):
    """Return which locks another process would have to wait for."""
    held = []
    for lock, error in (
        (turn_held, BlockingIOError),
        (writer_held, sqlite3.OperationalError),
    ):
        try:
            with lock(path):
                pass
        except error:
            held.append(lock)
    return held


@pytest.fixture
def begin(database):
    """A function that begins to write a work in a thread of its own."""
    with ThreadPoolExecutor(9) as threads:
        yield lambda work: threads.submit(database.write, work, None)


@pytest.fixture
def queue(database, begin):
    """A function that lets works wait, in this order, while nobody else does."""

    def wait(*works):
        futures = []
        for work in works:
            futures.append(begin(work))
            wait_until(lambda: len(database._writer._waiting) == len(futures))
        return futures

    return wait


def outcomes(futures):
    """Return what became of each: the count of notes, or an error."""
    return [
        future.exception(WAIT_SECONDS_MAX) or future.result().id for future in futures
    ]


@pytest.fixture
def gather(queue, path):
    """A function that writes works in one turn, in this order.

    Returns counts of notes and errors.
    """

    def write(*works):
        with turn_held(path):
            futures = queue(*works)
        return outcomes(futures)

    return write


def test_a_process_that_waits_to_write_lets_no_other_overtake_it(
    database, path, thread
):
    within = []

    def look(transaction, record):
        within.extend(held_locks(path))
        return adding("a")(transaction, record)

    with writer_held(path):
        waiting = thread.submit(database.write, look, None)
        wait_until(lambda: held_locks(path) == [turn_held, writer_held])
    waiting.result(WAIT_SECONDS_MAX)

    assert (within, held_locks(path)) == ([writer_held], [])


def test_the_first_write_waits_while_another_process_has_the_file_alone(
    database, path, thread
):
    # As the last one that closes it does, for a moment.
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN IMMEDIATE")
        waiting = thread.submit(database.write, adding("a"), None)
        wait_until(lambda: held_locks(path) == [turn_held, writer_held])

    assert waiting.result(WAIT_SECONDS_MAX).id == 1


@pytest.mark.parametrize("lock", [turn_held, writer_held])
def test_a_turn_that_does_not_come_in_time_is_given_up_and_holds_nothing(
    database, path, monkeypatch, lock
):
    monkeypatch.setattr("storage.sqlite_writer.BUSY_TIMEOUT_S", 0.05)

    with lock(path):
        with pytest.raises(LedgerUnavailableError):
            database.write(adding("a"), None)
        left = held_locks(path)

    assert left == [lock]
    assert database.write(adding("a"), None).id == 1


def test_works_that_wait_together_share_a_commit_and_one_that_fails_is_undone_alone(
    gather, database
):
    with logged_statements() as log:
        *results, again = gather(
            adding("a"), adding("b", REFUSED), adding("c"), adding("d"), adding("a")
        )

    assert results == [1, REFUSED, 2, 3]
    assert type(again) is sqlite3.IntegrityError
    assert notes(database) == ["a", "c", "d"]
    assert log.commits_count == 1


@pytest.mark.parametrize("words", ["a", "ab"])
def test_where_all_works_fail_nothing_is_committed(gather, database, path, words):
    with logged_statements() as log:
        failed = gather(*(adding(each, REFUSED) for each in words))

    assert failed == [REFUSED] * len(words)
    assert (notes(database), log.commits_count, held_locks(path)) == ([], 0, [])
    assert database.write(adding("a"), None).id == 1


def exceed_the_disk(transaction, _record):
    # The size of now: it is never set below that.
    transaction.execute("PRAGMA max_page_count = 1")
    transaction.execute("INSERT INTO notes VALUES (hex(zeroblob(1000000)))")


def violate_at_commit(transaction, _record):
    transaction.execute("PRAGMA defer_foreign_keys = ON")
    transaction.execute("INSERT INTO echoes VALUES ('what nobody said')")
    return Operation(0, 0)


@pytest.mark.parametrize("work", [exceed_the_disk, violate_at_commit])
def test_a_full_disk_or_a_refused_commit_undoes_the_whole_group(gather, database, work):
    failed = gather(adding("a"), adding("b", REFUSED), work)

    assert {type(each) for each in failed} == {LedgerUnavailableError}
    # Threads that raise one error at once would mix up its traceback.
    assert len(set(failed)) == 3
    assert notes(database) == []
    assert database.write(adding("c"), None).id == 1


@pytest.mark.parametrize("moment", ["before begin", "before commit"])
@pytest.mark.parametrize(
    ("hook", "error"),
    [(break_off, LedgerUnavailableError), (Mock(side_effect=ValueError), ValueError)],
    ids=["away", "a defect"],
)
def test_what_cannot_begin_or_commit_is_undone(gather, database, moment, hook, error):
    """A defect shows in one thread."""
    with hooked(moment, hook):
        failed = gather(*map(adding, "ab"))

    assert [type(each) for each in failed] == [error, LedgerUnavailableError]
    assert database.write(adding("c"), None).id == 1


def test_a_commit_that_breaks_off_leaves_the_whole_group_in_doubt(gather, database):
    with hooked("after commit", break_off):
        failed = gather(adding("a"), adding("b", REFUSED))

    # What was refused may have been refused for another one of the group.
    assert [type(each) for each in failed] == [LedgerInDoubtError] * 2
    assert notes(database) == ["a"]


def test_a_commit_that_ends_without_memory_leaves_the_group_in_doubt(gather, database):
    with hooked("after commit", Mock(side_effect=MemoryError)):
        failed = gather(adding("a"), adding("b"))

    assert [type(each) for each in failed] == [LedgerInDoubtError] * 2
    assert len(notes(database)) == 2


@pytest.mark.parametrize(
    "moment", ["before begin", "before statement", "before commit", "after commit"]
)
def test_a_leader_that_is_interrupted_leaves_the_others_in_doubt(
    gather, database, moment
):
    with hooked(moment, Mock(side_effect=Interrupt)):
        failed = gather(*map(adding, "abc"))

    assert [type(each) for each in failed] == [Interrupt, *[LedgerInDoubtError] * 2]
    assert len(notes(database)) in {0, 3}
    assert database.write(adding("d"), None).id in {1, 4}


def test_a_thread_that_is_interrupted_while_it_waits_leads_all_the_same(
    begin, database, thread
):
    gate, interrupted = threading.Barrier(2), threading.Event()

    def handle(*_):
        interrupted.set()
        raise Interrupt

    def interrupt():
        """Interrupt the main thread, which waits between two others."""
        wait_until(lambda: len(database._writer._waiting) == 1)
        last = begin(adding("c"))
        wait_until(lambda: len(database._writer._waiting) == 2)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
        interrupted.wait(WAIT_SECONDS_MAX)
        gate.wait(WAIT_SECONDS_MAX)
        return last

    before = signal.signal(signal.SIGUSR1, handle)
    try:
        first = begin(adding("a", gate=gate))
        gate.wait(WAIT_SECONDS_MAX)
        last = thread.submit(interrupt)
        with pytest.raises(Interrupt):
            database.write(adding("b"), None)
    finally:
        signal.signal(signal.SIGUSR1, before)

    assert outcomes([first, last.result(WAIT_SECONDS_MAX)]) == [1, 3]


def open_files(path):
    """Return how many descriptors this process has of the file and those beside it."""
    found = [str(each.resolve()) for each in Path("/proc/self/fd").iterdir()]
    return sum(each.startswith(str(path)) for each in found)


def test_threads_that_have_ended_leave_no_file_open(database, path):
    database.write(adding("a"), None)
    database.read("SELECT 1")
    before = open_files(path)
    for _ in range(9):
        with ThreadPoolExecutor(1) as threads:
            threads.submit(database.read, "SELECT 1").result()
    after = open_files(path)
    database.close()

    assert (after, open_files(path)) == (before, 0)
    assert database.write(adding("b"), None).id == 2


@on_sqlite
def test_a_service_is_ready_again_once_it_has_written(api, monkeypatch):
    """What is refused or repeated has not been written."""
    monkeypatch.setattr("storage.database.TRY_INTERVAL_S", 0)
    item = api.mint("+5.a", "+1.b", key="key")
    spent, new = f"+1.{item}.b", fresh(1, item)
    good(api.swap(spent, new))

    with hooked("before commit", break_off):
        assert refusal(api.swap(new, fresh(1, item))) == UNAVAILABLE
        assert refusal(api.swap(spent, fresh(1, item)))[1] == "spent_input"
        assert refusal(api.get("/readyz")) == UNAVAILABLE

    good(api.get("/readyz"))


@on_sqlite
def test_a_check_sees_all_of_a_swap_or_nothing(api, ledger, thread):
    item = api.mint("+5.a")
    old, new = f"+5.{item}.a", f"+5.{item}.b"
    swaps = [partial(api.swap, old, new)]
    read = []

    def swap_between(connection, sql, _values):
        if "FROM outputs" in sql and not is_writer(connection):
            read.append(sql)
            if len(read) == 2:
                good(thread.submit(swaps.pop()).result(WAIT_SECONDS_MAX))

    with hooked("before statement", swap_between):
        states = api.check(new, old)

    assert states == ["unknown", "unspent"]
    assert api.check(new, old) == ["unspent", "spent"]
