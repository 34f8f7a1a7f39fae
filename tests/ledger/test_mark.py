"""The mark outside the database: its file, and the thread that raises it after commits."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from storage.engine import make_engine, parse_database_url
from storage.mark import LastOperations
from storage.mark_file import NO_OPERATION, Mark, MarkDamagedError, MarkFile
from storage.tables import operations
from storage.transactions import WRITES, Transactions
from tests.support.serving import REPOSITORY
from tests.support.waiting import wait_until

PROCESSES_COUNT = 4
MARKS_COUNT = 400

NO_RECORDS = [
    b"",
    b"\0" * 8192,
    b"deeds-mark-1 7 70\n",
    b"deeds-mark-1 9 70 a7c3c7d3d5b2a1f0\n",
    b"x" * 100_000,
    os.urandom(8192),
]

# Raises the mark to every number that leaves a certain rest, in an order of its own.
RAISE = """
import random, sys
from pathlib import Path
from storage.mark_file import Mark, MarkFile
file, rest, step, count = MarkFile(Path(sys.argv[1])), *map(int, sys.argv[2:])
numbers = [each for each in range(1, count + 1) if each % step == rest]
random.Random(rest).shuffle(numbers)
before = 0
for number in numbers:
    file.raise_to(Mark(number, number))
    now = file.read().operation_id
    assert now >= before and now >= number, (before, number, now)
    before = now
"""


@pytest.fixture
def file(tmp_path):
    return MarkFile(tmp_path / "mark")


@pytest.fixture
def raised(file):
    file.raise_to(Mark(7, 70))
    return file


def test_a_mark_begins_with_the_first_operation_and_is_only_lowered_on_purpose(file):
    assert file.read() is None

    assert file.raise_to(Mark(7, 70)) == Mark(7, 70)
    assert file.raise_to(Mark(3, 90)) == Mark(7, 70)
    assert file.read() == Mark(7, 70)

    file.lower_to(Mark(3, 30))
    assert file.read() == Mark(3, 30)


def test_a_mark_is_whole_at_every_moment(raised, monkeypatch):
    """Whatever moment the power fails at: its name is given to a file that is on disk."""
    seen = []
    fsync = os.fsync

    def look(file):
        fsync(file)
        seen.append((raised.read(), Path(f"/proc/self/fd/{file}").read_text()))

    monkeypatch.setattr(os, "fsync", look)
    raised.raise_to(Mark(8, 80))

    assert seen == [(Mark(7, 70), raised.path.read_text())]
    assert raised.read() == Mark(8, 80)


@pytest.mark.parametrize("content", NO_RECORDS)
def test_a_file_without_an_intact_record_is_never_taken_for_a_mark(file, content):
    file.path.write_bytes(content)

    with pytest.raises(MarkDamagedError):
        file.read()
    with pytest.raises(MarkDamagedError):
        file.raise_to(Mark(9, 90))
    assert file.path.read_bytes() == content
    file.lower_to(Mark(4, 40))
    assert file.read() == Mark(4, 40)


def test_a_file_of_an_earlier_version_is_read(file, raised):
    """It had two records in blocks of their own, of which either might be torn."""
    blocks = []
    for mark in (Mark(7, 70), Mark(8, 80)):
        file.lower_to(mark)
        blocks.append(file.path.read_bytes().rstrip().ljust(4095) + b"\n")

    for content, mark in [
        (blocks[0] + blocks[1], Mark(8, 80)),
        (blocks[1] + blocks[0], Mark(8, 80)),
        (blocks[0] + b"\0" * 20 + blocks[1][20:], Mark(7, 70)),
    ]:
        file.path.write_bytes(content)
        assert file.read() == mark


def test_what_a_killed_process_left_is_not_written_to(raised, tmp_path):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "mark-new").hardlink_to(tmp_path / "precious")

    raised.raise_to(Mark(8, 80))

    assert (tmp_path / "precious").read_text() == "precious"
    assert raised.read() == Mark(8, 80)


def test_processes_that_write_at_once_only_raise_it(file):
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", RAISE, str(file.path)]
            + [str(each) for each in (rest, PROCESSES_COUNT, MARKS_COUNT)],
            cwd=REPOSITORY,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rest in range(PROCESSES_COUNT)
    ]

    errors = [process.communicate(timeout=60)[1] for process in processes]

    assert errors == [""] * PROCESSES_COUNT
    assert file.read() == Mark(MARKS_COUNT, MARKS_COUNT)


@pytest.fixture
def last(file, sqlite_url):
    """What a process that keeps the mark of a ledger knows of its last operations."""
    transactions = Transactions(make_engine(parse_database_url(sqlite_url)))
    last = LastOperations(NO_OPERATION, file, transactions.read, are_ids_in_order=True)
    yield last
    last.close()
    transactions.close()


@pytest.fixture
def commit(last, sqlite_url, open_engine):
    """A function that commits the operation of a number, a row without outputs."""
    writer = open_engine(sqlite_url).execution_options(**{WRITES: True})

    def commit_one(number):
        values = {"id": number, "kind": "mint", "inputs_count": 0, "outputs_count": 1}
        with writer.begin() as connection:
            connection.execute(operations.insert(), values | {"created_at_ms": number * 10})
        last.note(Mark(number, number * 10), ())

    return commit_one


@pytest.fixture
def at_once(monkeypatch):
    """The mark is written whenever it is behind, and not once a second."""
    monkeypatch.setattr("storage.mark._WRITE_EVERY_S", 0.001)


def test_the_mark_is_written_once_a_second_and_at_the_end(file, last, commit, monkeypatch):
    monkeypatch.setattr("storage.mark._WRITE_EVERY_S", 3600.0)

    for number in (*range(1, 50), 200, 150):
        commit(number)

    assert file.read() is None
    last.close()
    assert file.read() == Mark(200, 2000)


@pytest.mark.parametrize("error", [IsADirectoryError, ZeroDivisionError])
def test_a_file_that_cannot_be_written_is_logged_once_and_tried_again(
    file, commit, at_once, caplog, monkeypatch, error
):
    """The thread ends for no error; one that was unforeseen is logged with its traceback."""

    def fail(*_):
        raise error

    with monkeypatch.context() as patch:
        if error is IsADirectoryError:
            file.path.mkdir()
        else:
            patch.setattr(MarkFile, "raise_to", fail)
        commit(1)
        wait_until(lambda: caplog.records)
    if error is IsADirectoryError:
        file.path.rmdir()
    wait_until(lambda: file.read() == Mark(1, 10))

    [record] = caplog.records
    assert record.event == "mark_unwritten"
    assert record.getMessage().startswith(
        f"cannot write the mark file {file.path} ({error.__name__}"
    )
    if error is IsADirectoryError:
        assert record.exc_info is None
    else:
        assert record.exc_info[0] is error
    commit(2)
    wait_until(lambda: file.read() == Mark(2, 20))


@pytest.mark.parametrize("write", [MarkFile.raise_to, MarkFile.lower_to])
def test_nobody_writes_while_another_one_does(raised, monkeypatch, write):
    monkeypatch.setattr("storage.mark_file._LOCK_TIMEOUT_S", 0.01)
    before = raised.path.read_bytes()

    with Path(f"{raised.path}-lock").open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError):
            write(raised, Mark(8, 80))

    assert raised.path.read_bytes() == before
    write(raised, Mark(8, 80))
    assert raised.read() == Mark(8, 80)
