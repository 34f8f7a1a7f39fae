"""The checkpoint file outside the database, and the thread that raises it."""

import fcntl
import os
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest

from storage.checkpoint import NO_OPERATION, Checkpoint, CheckpointFile
from tests.support.commanding import run_python
from tests.support.leftovers import add_item
from tests.support.racing import at_once
from tests.support.waiting import wait_until

PROCESSES_COUNT = 4
MINTS_COUNT = 40

# Commits operations and raises the file to each of them.
RAISE = """
import sys
from pathlib import Path
from storage.checkpoint import Checkpoint, CheckpointFile, raise_checkpoint
from storage.engine import make_engine, parse_database_url
from storage.repository import Repository
from tests.support.leftovers import add_item
file, url, first, count = CheckpointFile(Path(sys.argv[1])), *sys.argv[2:]
engine = make_engine(parse_database_url(url))
repository = Repository(engine)
before = 0
for number in range(int(first), int(first) + int(count)):
    made = add_item(repository, number)
    now = raise_checkpoint(engine, file).operation_id
    assert now >= before and now >= made, (before, made, now)
    before = now
repository.close()
engine.dispose()
"""


@pytest.fixture
def database_url(sqlite_url):
    return sqlite_url


@pytest.fixture
def raised(checkpoint):
    checkpoint.set(Checkpoint(7, 70))
    return checkpoint


def test_a_checkpoint_is_on_disk_before_it_has_its_name(raised, monkeypatch):
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
    raised.set(Checkpoint(8, 80))

    assert seen == [
        (new, raised.path.read_text(), Checkpoint(7, 70)),
        (new.parent, None, Checkpoint(8, 80)),
    ]


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff" * 8192, b"deeds-checkpoint-1 9 90 no\n"],
    ids=["empty", "noise", "no checksum"],
)
def test_a_damaged_file_is_refused_and_left_as_it_is(
    checkpoint, open_repository, content, caplog, monkeypatch
):
    monkeypatch.setattr("storage.last_operations._LOOK_EVERY_S", 0.001)
    repository = open_repository()
    checkpoint.path.write_bytes(content)

    with pytest.raises(OSError, match="damaged"):
        checkpoint.read()
    add_item(repository, 1)
    wait_until(lambda: caplog.records)
    repository.close()

    assert checkpoint.path.read_bytes() == content


def test_a_record_of_any_release_is_read_and_a_changed_digit_is_not(checkpoint):
    record = b"deeds-checkpoint-1 7 70 564cb7417cce7e19\n"
    checkpoint.path.write_bytes(record)
    assert checkpoint.read() == Checkpoint(7, 70)

    checkpoint.path.write_bytes(record.replace(b"7 70", b"6 70"))
    with pytest.raises(OSError, match="damaged"):
        checkpoint.read()


def test_what_a_killed_process_left_is_not_written_to(raised, tmp_path):
    (tmp_path / "precious").write_text("precious")
    Path(f"{raised.path}-new").hardlink_to(tmp_path / "precious")

    raised.set(Checkpoint(8, 80))

    assert (tmp_path / "precious").read_text() == "precious"
    assert raised.read() == Checkpoint(8, 80)


@pytest.mark.slow
def test_processes_that_write_at_once_only_raise_the_file(checkpoint, database_url):
    arguments = ["-c", RAISE, checkpoint.path, database_url]
    firsts = [str(number * MINTS_COUNT) for number in range(PROCESSES_COUNT)]

    ran = at_once(
        [partial(run_python, *arguments, first, str(MINTS_COUNT)) for first in firsts]
    )

    assert "Traceback" not in "".join(each.stderr for each in ran)
    assert checkpoint.read().operation_id == PROCESSES_COUNT * MINTS_COUNT


def test_only_one_process_writes_the_file_at_a_time(raised, monkeypatch):
    monkeypatch.setattr("storage.checkpoint._LOCK_TIMEOUT_S", 0.01)

    with Path(f"{raised.path}-lock").open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError):
            raised.set(Checkpoint(8, 80))

    assert raised.read() == Checkpoint(7, 70)


def test_a_close_raises_the_file_and_never_lowers_it(
    checkpoint, open_repository, monkeypatch
):
    monkeypatch.setattr("storage.last_operations._LOOK_EVERY_S", 3600.0)

    repository, other = open_repository(), open_repository()
    add_item(repository, 1)
    add_item(other, 2)
    assert checkpoint.read() == NO_OPERATION

    other.close()
    repository.close()
    assert checkpoint.read().operation_id == 2


@pytest.mark.parametrize("error", [IsADirectoryError, ZeroDivisionError])
def test_a_file_that_cannot_be_written_is_logged_once_and_tried_again(
    checkpoint, open_repository, caplog, monkeypatch, error
):
    """The thread ends for no error, not even for one that was unforeseen."""
    monkeypatch.setattr("storage.last_operations._LOOK_EVERY_S", 0.001)

    repository = open_repository()
    retries = []
    monkeypatch.setattr(repository._last, "_on_retry", retries.append)
    with monkeypatch.context() as patch:
        patch.setattr(CheckpointFile, "raise_to", Mock(side_effect=error))
        add_item(repository, 1)
        wait_until(lambda: len(retries) > 1)
    wait_until(lambda: checkpoint.read().operation_id == 1)
    add_item(repository, 2)
    wait_until(lambda: checkpoint.read().operation_id == 2)
    repository.close()

    [record] = caplog.records
    assert (record.event, record.exc_info[0]) == ("checkpoint_unwritten", error)
    assert set(retries) == {"checkpoint"}
    assert record.getMessage().startswith("cannot write the checkpoint file: ")
