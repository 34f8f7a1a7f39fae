"""The mark outside the database.

Its file, and the thread that raises it after commits.
"""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from storage.mark import NO_OPERATION, Mark, MarkFile
from tests.support.ledger_records import add_item
from tests.support.serving import REPOSITORY
from tests.support.waiting import wait_until

PROCESSES_COUNT = 4
MARKS_COUNT = 400

# Raises the mark to every number that leaves a certain rest, in an order of its own.
RAISE = """
import random, sys
from pathlib import Path
from storage.mark import Mark, MarkFile
file, rest, step, count = MarkFile(Path(sys.argv[1])), *map(int, sys.argv[2:])
numbers = [each for each in range(1, count + 1) if each % step == rest]
random.Random(rest).shuffle(numbers)
before = 0
for number in numbers:
    file.change(lambda mark: max(mark, Mark(number, number)))
    now = file.read().operation_id
    assert now >= before and now >= number, (before, number, now)
    before = now
"""


@pytest.fixture
def ledger_url(sqlite_url):
    return sqlite_url


@pytest.fixture
def raised(mark):
    mark.change(lambda _: Mark(7, 70))
    return mark


def test_a_mark_is_what_it_was_last_changed_to_and_stays_if_that_fails(mark):
    assert mark.read() == NO_OPERATION

    for after in (Mark(7, 70), Mark(3, 30)):
        assert mark.change(lambda _, after=after: after) == after
        assert mark.read() == after

    with pytest.raises(ZeroDivisionError):
        mark.change(lambda before: before.operation_id // 0)
    assert mark.read() == Mark(3, 30)


def test_a_mark_is_whole_at_every_moment(raised, monkeypatch):
    """Whatever moment the power fails at.

    Its name is given to a file that is on disk.
    """
    new = Path(f"{raised.path}-new")
    seen = []
    fsync = os.fsync

    def look(file):
        fsync(file)
        content = new.read_text() if new.exists() else None
        seen.append((Path(f"/proc/self/fd/{file}").readlink(), content, raised.read()))

    monkeypatch.setattr(os, "fsync", look)
    raised.change(lambda _: Mark(8, 80))

    assert seen == [
        (new, raised.path.read_text(), Mark(7, 70)),
        (new.parent, None, Mark(8, 80)),
    ]


@pytest.mark.parametrize("content", [b"", b"\xff" * 8192, b"deeds-mark-1 9 90 no\n"])
def test_a_file_without_one_intact_record_is_never_taken_for_a_mark(mark, content):
    mark.path.write_bytes(content)

    with pytest.raises(OSError, match="damaged"):
        mark.change(lambda _: Mark(9, 90))

    assert mark.path.read_bytes() == content


def test_a_mark_is_read_as_long_as_its_form_stays_and_not_if_a_digit_of_it_changed(
    mark,
):
    record = b"deeds-mark-1 7 70 68bc1781bd563a32\n"
    mark.path.write_bytes(record)
    assert mark.read() == Mark(7, 70)

    mark.path.write_bytes(record.replace(b"7 70", b"6 70"))
    with pytest.raises(OSError, match="damaged"):
        mark.read()


def test_what_a_killed_process_left_is_not_written_to(raised, tmp_path):
    (tmp_path / "precious").write_text("precious")
    Path(f"{raised.path}-new").hardlink_to(tmp_path / "precious")

    raised.change(lambda _: Mark(8, 80))

    assert (tmp_path / "precious").read_text() == "precious"
    assert raised.read() == Mark(8, 80)


def test_processes_that_write_at_once_only_raise_it(mark):
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", RAISE, str(mark.path)]
            + [str(each) for each in (rest, PROCESSES_COUNT, MARKS_COUNT)],
            cwd=REPOSITORY,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rest in range(PROCESSES_COUNT)
    ]

    errors = [process.communicate(timeout=60)[1] for process in processes]

    assert errors == [""] * PROCESSES_COUNT
    assert mark.read() == Mark(MARKS_COUNT, MARKS_COUNT)


def test_nobody_writes_while_another_one_does(raised, monkeypatch):
    monkeypatch.setattr("storage.mark._LOCK_TIMEOUT_S", 0.01)

    with Path(f"{raised.path}-lock").open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError):
            raised.change(lambda _: Mark(8, 80))

    assert raised.read() == Mark(7, 70)


def test_the_mark_is_written_once_a_second_and_at_the_end(
    mark, open_repository, monkeypatch
):
    monkeypatch.setattr("storage.mark._WRITE_EVERY_S", 3600.0)

    repository, other = open_repository(), open_repository()
    for number in range(20):
        add_item(repository, number)
    add_item(other, 20)
    assert mark.read() == NO_OPERATION

    # The other one is closed first, and its mark is not lowered.
    other.close()
    repository.close()
    assert mark.read().operation_id == 21


@pytest.mark.parametrize("error", [IsADirectoryError, ZeroDivisionError])
def test_a_file_that_cannot_be_written_is_logged_once_and_tried_again(
    mark, open_repository, caplog, monkeypatch, error
):
    """The thread ends for no error, not even for one that was unforeseen."""
    monkeypatch.setattr("storage.mark._WRITE_EVERY_S", 0.001)

    def fail(*_):
        raise error

    repository = open_repository()
    with monkeypatch.context() as patch:
        patch.setattr(MarkFile, "change", fail)
        add_item(repository, 1)
        wait_until(lambda: caplog.records)
    wait_until(lambda: mark.read().operation_id == 1)
    add_item(repository, 2)
    wait_until(lambda: mark.read().operation_id == 2)
    repository.close()

    [record] = caplog.records
    assert (record.event, record.exc_info[0]) == ("mark_unwritten", error)
    assert record.getMessage().startswith(f"cannot write the mark file {mark.path}: ")
