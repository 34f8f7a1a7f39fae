"""A start on an older copy, or on a new ledger in place of a lost one, is refused."""

import re
from unittest.mock import Mock

import pytest

from deeds.errors import LedgerUnavailableError, StartError
from deeds.model import Operation
from parts.rollback.checkpoint import (
    CheckpointFile,
    RollbackError,
    open_checkpoint,
)
from parts.rollback.watch import WatchedDatabase
from storage.database import NO_OPERATION
from storage.schema import CORE, migrate
from tests.rollback.ledgers import (
    copy,
    lacks,
    lose,
    open_database,
    write_operation,
)


@pytest.fixture
def older(path, start, tmp_path):
    """The path of a copy that has the first of three operations of the ledger."""
    watched = start()
    write_operation(watched)
    older = tmp_path / "older.sqlite3"
    copy(path, older)
    write_operation(watched)
    write_operation(watched)
    watched.close()
    return older


def refusal_of(start, *arguments, **options):
    with pytest.raises(StartError) as refused:
        start(*arguments, **options)
    return refused.value


def test_an_older_copy_is_not_served_and_the_newest_ledger_is(older, start):
    refused = refusal_of(start, open_database(older))

    assert isinstance(refused, RollbackError)
    assert lacks(3).fullmatch(refused.reason)
    write_operation(start())


def test_a_copy_that_went_on_past_the_checkpoint_is_not_served(older, start, file):
    for _ in range(5):
        write_operation(open_database(older))
    before = file.path.read_bytes()

    assert lacks(3).fullmatch(refusal_of(start, open_database(older)).reason)
    assert file.path.read_bytes() == before


@pytest.mark.parametrize("is_there", [False, True], ids=["absent", "an empty file"])
def test_in_the_place_of_a_ledger_that_is_gone_none_is_created(
    older, path, file, is_there
):
    """Its disk is not mounted, and its mount point is an empty directory."""
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()
    if is_there:
        path.touch()
    left = set(path.parent.iterdir())

    with pytest.raises(RollbackError) as refused:
        migrate(WatchedDatabase(open_database(path), file), [CORE])

    assert re.fullmatch(
        rf"operation 3 of \S+ was committed but there is no ledger at {path} \(is its"
        r" disk mounted\?\); restore the right database, or run: python -m app"
        " accept-rollback",
        refused.value.reason,
    )
    assert set(path.parent.iterdir()) == left


def test_a_start_raises_a_checkpoint_that_is_gone_or_fell_behind(
    older, start, file, caplog
):
    newest = file.read()
    file.path.unlink()

    start(open_database(older))
    behind = file.read()
    start()

    assert behind.id < file.read().id == newest.id
    [line] = caplog.records
    assert (line.event, line.levelname) == ("checkpoint_new", "WARNING")
    assert line.getMessage() == (
        f"there was no checkpoint file at {file.path}: it was created, and an older"
        " copy of the ledger is detected from now on"
    )


def test_a_start_on_a_new_ledger_logs_nothing(start, file, caplog):
    start()

    assert file.read() == NO_OPERATION
    assert caplog.records == []


def test_a_checkpoint_raised_meanwhile_is_compared_too(database, file, monkeypatch):
    lost = Operation(99, 1)
    read = database.read

    def raise_meanwhile(*arguments):
        monkeypatch.undo()
        rows = read(*arguments)
        file.set(lost)
        return rows

    monkeypatch.setattr(database, "read", raise_meanwhile)

    refused = refusal_of(open_checkpoint, database, file)

    assert lacks(99).fullmatch(refused.reason)
    assert file.read() == lost


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("missing/checkpoint", "No such file or directory"),
        ("damaged", "it is damaged; if the ledger is the newest, remove it"),
    ],
)
def test_a_file_that_cannot_be_used_stops_the_start(start, tmp_path, name, cause):
    (tmp_path / "damaged").write_bytes(b"torn")
    path = tmp_path / name

    refused = refusal_of(start, file=CheckpointFile(path))

    assert refused.reason == f"DEEDS_CHECKPOINT_FILE: cannot use {path}: {cause}"


def test_a_ledger_that_cannot_be_read_stops_the_start(database, file, monkeypatch):
    error = LedgerUnavailableError("it is a standby")
    monkeypatch.setattr(database, "read_each", Mock(side_effect=error))
    write_operation(database)

    refused = refusal_of(open_checkpoint, database, file)

    assert not isinstance(refused, RollbackError)
    assert refused.reason == "DATABASE_URL: it is a standby"
    assert not file.path.exists()


def test_without_a_file_an_older_copy_is_served_and_the_log_says_so(
    older, start, caplog
):
    watched = start(open_database(older), file=None)
    write_operation(watched)
    # As in each further process of the service.
    watched.check_start()

    [line] = caplog.records
    assert (line.event, line.levelname) == ("checkpoint_off", "WARNING")
    assert line.getMessage() == (
        "DEEDS_CHECKPOINT_FILE is not set: a start does not detect that the ledger was"
        " replaced by an older copy"
    )


def test_an_operation_with_the_same_id_is_another_one(older, start, file, path):
    lose(path, file.read())
    file.set(Operation(2, 1))

    assert re.match(
        "operation 2 of 1970-01-01T00:00:00Z was committed but is not in the ledger: ",
        refusal_of(start).reason,
    )


def test_the_file_and_its_lock_are_for_their_owner_alone(older, file):
    left = file.path.parent.glob("checkpoint*")

    assert {each.name: each.stat().st_mode & 0o777 for each in left} == {
        "checkpoint": 0o600,
        "checkpoint-lock": 0o600,
    }
