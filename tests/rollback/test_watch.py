"""A ledger that loses operations under a running service is written no more."""

from unittest.mock import Mock

import pytest

from deeds.errors import LedgerRolledBackError, LedgerUnavailableError
from deeds.model import IdempotencyKey
from parts.rollback.checkpoint import (
    CheckpointFile,
    RollbackError,
)
from storage.database import NO_OPERATION
from tests.rollback.ledgers import (
    NEVER_S,
    change,
    copy,
    is_lost,
    lose,
    open_database,
    write_operation,
)
from tests.support.waiting import wait_until


def errors_of(caplog):
    return [each for each in caplog.records if each.levelname == "ERROR"]


def test_a_ledger_replaced_by_an_older_copy_is_written_no_more_until_a_restart(
    start, file, path, tmp_path, caplog
):
    watched = start()
    write_operation(watched)
    copy(path, tmp_path / "older")
    lost = write_operation(watched)
    wait_until(lambda: file.read() == lost)
    copy(path, tmp_path / "whole")

    copy(tmp_path / "older", path)
    # Nothing is checked until somebody writes.
    write_operation(watched)
    wait_until(lambda: is_lost(watched))

    with pytest.raises(LedgerRolledBackError):
        write_operation(watched)
    assert watched.read("SELECT count(*) FROM operations") == [(2,)]
    assert watched.read_each("SELECT ?", [(1,)]) == [(1,)]

    # What is at the path then may be another file than the one that is open.
    copy(tmp_path / "whole", path)
    watched.close()
    with pytest.raises(LedgerRolledBackError):
        write_operation(watched)
    [line] = errors_of(caplog)
    assert line.event == "ledger_rolled_back"
    assert line.getMessage().startswith("operation 2 of ")
    assert "python -m app accept-rollback" in line.getMessage()
    write_operation(start())


def test_the_file_names_what_was_lost_before_it_was_raised_to_it(
    start, file, path, caplog
):
    watched = start(check_interval_s=NEVER_S)
    write_operation(watched)
    lost = [write_operation(watched) for _ in range(3)]
    assert file.read() == NO_OPERATION

    for each in lost:
        lose(path, each)
    watched.close()

    assert file.read() == lost[-1]
    assert [each.event for each in errors_of(caplog)] == ["ledger_rolled_back"]
    with pytest.raises(RollbackError):
        start()


def test_a_service_that_was_not_restarted_leaves_a_file_alone_that_was_accepted(
    start, file, path
):
    watched = start()
    first, lost = write_operation(watched), write_operation(watched)
    wait_until(lambda: file.read() == lost)
    lose(path, lost)
    file.set(first)

    write_operation(watched)
    wait_until(lambda: is_lost(watched))
    watched.close()

    assert file.read() == first
    write_operation(start())


@pytest.mark.parametrize("lost", [0, 39])
def test_whichever_of_the_last_forty_is_missing_is_noticed(start, path, lost):
    watched = start(file=None, check_interval_s=NEVER_S)
    key = IdempotencyKey(bytes(32), bytes(32))
    write_operation(watched, key)
    operations = [write_operation(watched) for _ in range(40)]
    # Repetitions push none of them out.
    assert write_operation(watched, key).replayed

    make_another = "UPDATE operations SET created_at_ms = 1 WHERE id = ?"
    change(path, make_another, operations[lost].id)
    watched.close()

    assert is_lost(watched)


def test_what_a_process_only_found_at_its_start_is_looked_for_too(
    start, file, path, database
):
    """The loss was accepted, and all processes but this one were restarted."""
    first, lost = write_operation(database), write_operation(database)
    watched = start()
    lose(path, lost)
    file.set(first)

    write_operation(watched)

    wait_until(lambda: is_lost(watched))
    assert file.read() == first


def test_a_process_sees_that_another_one_raised_the_file_too_far(start, file, path):
    """What it lacks was not its own: the file alone names it."""
    watched = start()
    own = write_operation(watched)
    wait_until(lambda: file.read() == own)
    other = start()
    lost = write_operation(other)
    other.close()
    assert file.read() == lost
    lose(path, lost)

    write_operation(watched)

    wait_until(lambda: is_lost(watched))
    assert file.read() == lost


@pytest.mark.parametrize("error", [IsADirectoryError, ZeroDivisionError])
def test_a_file_that_cannot_be_written_is_logged_once_and_tried_again(
    start, file, caplog, monkeypatch, error
):
    """The thread ends for no error, not even for one that was unforeseen."""
    retries = []
    watched = start(on_retry=retries.append)
    for number in (1, 2):
        retries.clear()
        with monkeypatch.context() as patch:
            patch.setattr(CheckpointFile, "raise_to", Mock(side_effect=error))
            write_operation(watched)
            wait_until(lambda: len(retries) > 1)
        wait_until(lambda reached=number: file.read().id == reached)
    watched.close()

    assert len(caplog.records) == 2
    for line in caplog.records:
        assert (line.event, line.levelname) == ("checkpoint_unwritten", "WARNING")
        assert line.exc_info[0] == error
        assert line.getMessage().startswith(
            f"cannot write the checkpoint file {file.path} ({error.__name__}): "
        )
    assert set(retries) == {"checkpoint"}


@pytest.mark.parametrize("error", [LedgerUnavailableError, BlockingIOError])
def test_a_database_that_is_away_is_asked_again_without_a_line(
    start, file, caplog, monkeypatch, error
):
    database, retries = open_database(file.path.with_name("deeds.sqlite3")), []
    watched = start(database, on_retry=retries.append)
    away = Mock(side_effect=error)
    with monkeypatch.context() as patch:
        patch.setattr(database, "read_each", away)
        operation = write_operation(watched)
        wait_until(lambda: away.call_count > 1)

    wait_until(lambda: file.read() == operation)
    assert (caplog.records, retries) == ([], [])


def test_a_loss_that_the_file_cannot_name_is_logged(start, file, path, caplog):
    watched = start(check_interval_s=NEVER_S)
    write_operation(watched)
    lost = write_operation(watched)
    lose(path, lost)
    file.path.with_name("checkpoint-new").mkdir()

    watched.close()

    assert is_lost(watched)
    assert [each.event for each in caplog.records] == [
        "ledger_rolled_back",
        "checkpoint_unwritten",
    ]
