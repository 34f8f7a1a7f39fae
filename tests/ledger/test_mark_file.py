"""The file of the mark: it only grows, and says when it cannot be trusted."""

import fcntl
import logging
import os
import subprocess
import sys

import pytest

from storage.engine import WRITES, make_engine, parse_database_url
from storage.mark import LastOperations, MarkWriter
from storage.mark_file import Mark, MarkDamagedError, MarkFile
from storage.tables import operations
from storage.transactions import Transactions, ignore_retry
from tests.support.serving import REPOSITORY
from tests.support.waiting import wait_until

PROCESSES_COUNT = 4
MARKS_COUNT = 400

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
    """A file that was raised twice, so that its records differ."""
    file.raise_to(Mark(6, 60))
    file.raise_to(Mark(7, 70))
    return file


def damage(file, record, data=b"\0" * 20):
    with file.path.open("r+b") as opened:
        opened.seek(record * 4096)
        opened.write(data)


def test_there_is_no_mark_before_the_first(file):
    assert file.read() is None


def test_a_mark_is_read_as_it_was_written(file):
    file.raise_to(Mark(5, 1_700_000_000_000))

    assert file.read() == Mark(5, 1_700_000_000_000)


def test_raising_never_lowers_and_leaves_both_records(raised):
    before = raised.path.read_bytes()

    raised.raise_to(Mark(3, 90))

    assert (raised.read(), raised.path.read_bytes()) == (Mark(7, 70), before)


def test_only_an_explicit_call_lowers(raised):
    raised.lower_to(Mark(3, 30))

    assert raised.read() == Mark(3, 30)


def test_the_file_is_for_its_owner_alone_and_nothing_else_is_left(file):
    file.raise_to(Mark(1, 1))

    assert [path.name for path in file.path.parent.iterdir()] == ["mark"]
    assert file.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("torn", "left"), [(0, Mark(6, 60)), (1, Mark(7, 70))])
def test_a_torn_record_leaves_the_other_one_and_is_told(raised, torn, left, caplog):
    damage(raised, torn)

    assert raised.read() == left
    [record] = caplog.records
    assert (record.levelno, "is torn" in record.getMessage()) == (logging.WARNING, True)


def test_a_torn_record_is_written_anew_with_the_next_mark(raised, caplog):
    damage(raised, 0)
    raised.raise_to(Mark(8, 80))
    damage(raised, 1)

    assert raised.read() == Mark(8, 80)


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 8192, b"deeds-mark-1 7 70\n", b"x" * 100_000, os.urandom(8192)]
)
def test_a_file_without_a_whole_record_is_never_taken_for_a_mark(file, content):
    file.path.write_bytes(content)

    with pytest.raises(MarkDamagedError):
        file.read()
    with pytest.raises(MarkDamagedError):
        file.raise_to(Mark(9, 90))
    assert file.path.read_bytes() == content


def test_one_changed_digit_is_seen(raised):
    raised.path.write_bytes(raised.path.read_bytes().replace(b" 7 70 ", b" 9 70 "))

    assert raised.read() == Mark(6, 60)


def test_a_damaged_file_can_be_replaced_on_purpose(file):
    file.path.write_bytes(b"x" * 100_000)

    file.lower_to(Mark(4, 40))

    assert file.read() == Mark(4, 40)
    assert file.path.stat().st_size == 8192


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


class Process:
    """A process that keeps the mark of a ledger; its operations are rows without outputs."""

    def __init__(self, file, engine):
        self._writer = engine.execution_options(**{WRITES: True})
        self._transactions = Transactions(engine, ignore_retry)
        self._last = LastOperations(are_ids_in_order=True)
        self.keeper = MarkWriter(file, self._last, self._transactions.read)

    def commit(self, number):
        values = {"id": number, "kind": "mint", "inputs_count": 0, "outputs_count": 1}
        with self._writer.begin() as connection:
            connection.execute(operations.insert(), values | {"created_at_ms": number * 10})
        self._last.note(Mark(number, number * 10), ())
        self.keeper.wake()

    def close(self):
        self.keeper.close()
        self._transactions.close()


@pytest.fixture
def process(file, sqlite_url):
    return Process(file, make_engine(parse_database_url(sqlite_url)))


def test_the_keeper_writes_without_being_asked_again(file, process):
    process.commit(2)
    wait_until(lambda: file.read() == Mark(2, 20))

    process.close()


def test_the_keeper_writes_the_highest_of_many_at_its_end(file, process):
    for number in (*range(1, 100), 200, 150):
        process.commit(number)
    process.close()

    assert file.read() == Mark(200, 2000)


def test_the_keeper_writes_at_most_once_a_second(file, process, monkeypatch):
    written = []
    raise_to = MarkFile.raise_to

    def note(file, mark, *rest):
        written.append(mark)
        return raise_to(file, mark, *rest)

    monkeypatch.setattr("storage.mark._WRITE_EVERY_S", 3600.0)
    monkeypatch.setattr(MarkFile, "raise_to", note)

    process.commit(1)
    wait_until(lambda: written)
    for number in range(2, 50):
        process.commit(number)
    before_its_end = list(written)
    process.close()

    assert before_its_end == [Mark(1, 10)]
    assert written == [Mark(1, 10), Mark(49, 490)]


def test_a_file_that_cannot_be_written_is_told_once_and_tried_again(
    file, process, monkeypatch, caplog
):
    monkeypatch.setattr("storage.mark._WRITE_EVERY_S", 0.001)
    file.path.mkdir()

    process.commit(1)
    wait_until(lambda: caplog.records)
    file.path.rmdir()
    wait_until(lambda: file.read() == Mark(1, 10))
    process.close()

    [record] = caplog.records
    assert record.getMessage().startswith(f"the mark cannot be written to {file.path}")


@pytest.mark.parametrize("write", [MarkFile.raise_to, MarkFile.lower_to])
def test_nobody_writes_while_another_one_does(raised, monkeypatch, write):
    monkeypatch.setattr("storage.mark_file._LOCK_TIMEOUT_S", 0.01)
    before = raised.path.read_bytes()

    with raised.path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError):
            write(raised, Mark(8, 80))

    assert raised.path.read_bytes() == before
    write(raised, Mark(8, 80))
    assert raised.read() == Mark(8, 80)
