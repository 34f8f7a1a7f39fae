"""The checkpoint file outside the database: never torn, lowered or taken from."""

import os
from functools import partial
from pathlib import Path

import pytest

from deeds.model import Operation
from storage.database import NO_OPERATION
from tests.rollback.ledgers import write_operation
from tests.support.commanding import run_python
from tests.support.racing import at_once

PROCESSES_COUNT = 4
OPERATIONS_COUNT = 40

# Commits operations and raises the file to each of them.
RAISE = """
import sys
from pathlib import Path
from parts.rollback.checkpoint import CheckpointFile, open_checkpoint
from tests.rollback.ledgers import open_database, write_operation
database = open_database(Path(sys.argv[1]))
file = CheckpointFile(Path(sys.argv[2]), lock_timeout_s=60.0)
before = 0
for _ in range(int(sys.argv[3])):
    operation = write_operation(database)
    now = open_checkpoint(database, file).id
    assert now >= before and now >= operation.id, (before, operation, now)
    before = now
"""


@pytest.fixture
def raised(file):
    file.set(Operation(7, 70))
    return file


def test_a_checkpoint_is_on_disk_before_it_has_its_name(raised, monkeypatch):
    """So whenever the power fails, one of the two is there, whole."""
    new = Path(f"{raised.path}-new")
    flushed = []
    fsync = os.fsync

    def record(descriptor):
        fsync(descriptor)
        content = new.read_text() if new.exists() else None
        name = Path(f"/proc/self/fd/{descriptor}").readlink()
        flushed.append((name, content, raised.read()))

    monkeypatch.setattr(os, "fsync", record)
    raised.set(Operation(8, 80))

    assert flushed == [
        (new, raised.path.read_text(), Operation(7, 70)),
        (new.parent, None, Operation(8, 80)),
    ]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"deeds-checkpoint-1 6 70 564cb7417cce7e19\n",
    ],
    ids=["empty", "another digit"],
)
def test_a_damaged_file_is_refused_and_left_as_it_is(file, database, content):
    operation = write_operation(database)
    file.path.write_bytes(content)

    with pytest.raises(OSError, match="damaged"):
        file.read()
    with pytest.raises(OSError, match="damaged"):
        file.raise_to(database, [operation])

    assert file.path.read_bytes() == content


def test_a_record_of_any_release_is_read_and_written(file):
    record = b"deeds-checkpoint-1 7 70 564cb7417cce7e19\n"
    file.path.write_bytes(record)

    assert file.read() == Operation(7, 70)

    file.set(Operation(8, 80))
    file.set(Operation(7, 70))
    assert file.path.read_bytes() == record


def test_what_a_killed_process_left_is_not_written_to(raised, tmp_path):
    (tmp_path / "precious").write_text("precious")
    Path(f"{raised.path}-new").hardlink_to(tmp_path / "precious")

    raised.set(Operation(8, 80))

    assert (tmp_path / "precious").read_text() == "precious"
    assert raised.read() == Operation(8, 80)


@pytest.mark.slow
def test_processes_that_write_at_once_only_raise_the_file(path, file):
    file.set(NO_OPERATION)
    arguments = [str(path), str(file.path), str(OPERATIONS_COUNT)]

    ran = at_once([partial(run_python, "-c", RAISE, *arguments)] * PROCESSES_COUNT)

    assert [each.stderr for each in ran] == [""] * PROCESSES_COUNT
    assert file.read().id == PROCESSES_COUNT * OPERATIONS_COUNT


@pytest.mark.parametrize(("held", "after"), [(6, 6), (7, 8), (8, 8), (9, 9)], ids=str)
def test_what_is_missing_is_named_unless_the_file_was_lowered_or_names_more(
    file, held, after
):
    last_seen = Operation(7, 70)
    file.set(Operation(held, held * 10))

    file.name_loss(Operation(8, 80), last_seen)

    assert file.read() == Operation(after, after * 10)
