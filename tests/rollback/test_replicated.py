"""A database of several servers judges a loss by itself; the file only names it."""

import pytest

from deeds.errors import LedgerRolledBackError
from deeds.model import Operation
from storage.sqlite import SqliteDatabase
from tests.rollback.ledgers import lose, next_time_ms, write_operation
from tests.support.waiting import wait_until

LOST = Operation(99, 1)
LOST_AGAIN = Operation(100, 1)


class ReplicatedSqlite(SqliteDatabase):
    """An SQLite ledger that stands for several servers: the test is the judge.

    It counts how often it was asked for its verdict.
    """

    def __init__(self, path):
        super().__init__(path, next_time_ms)
        self.verdict = None
        self.remembered = []
        self.asked_count = 0

    @property
    def loss(self):
        self.asked_count += 1
        return self.verdict

    def remember(self, operation):
        self.remembered.append(operation)

    def read(self, sql, values=()):
        self._check_verdict()
        return super().read(sql, values)

    def write(self, work, record):
        self._check_verdict()
        return super().write(work, record)

    def _check_verdict(self):
        if self.verdict is not None:
            raise LedgerRolledBackError


@pytest.fixture
def replicated(path):
    return ReplicatedSqlite(path)


def wait_for_checks(replicated):
    before = replicated.asked_count
    wait_until(lambda: replicated.asked_count > before + 2)


def test_a_loss_is_named_by_the_file_once_each_time(start, file, replicated):
    """An operator who accepts it lowers the file while the service still runs."""
    watched = start(replicated)
    reached = write_operation(watched)
    wait_until(lambda: file.read() == reached)

    replicated.verdict = LOST
    wait_until(lambda: file.read() == LOST)
    for refused in (write_operation, lambda watched: watched.probe("SELECT 1")):
        with pytest.raises(LedgerRolledBackError):
            refused(watched)
    file.set(reached)
    wait_for_checks(replicated)
    assert file.read() == reached

    # What is found again is written again, and may be lost again.
    replicated.verdict = None
    wait_for_checks(replicated)
    reached = write_operation(watched)
    wait_until(lambda: file.read() == reached)
    replicated.verdict = LOST_AGAIN
    wait_until(lambda: file.read() == LOST_AGAIN)


def test_a_loss_that_the_file_cannot_name_yet_is_named_later(start, file, replicated):
    watched = start(replicated)
    reached = write_operation(watched)
    wait_until(lambda: file.read() == reached)
    new = file.path.with_name("checkpoint-new")
    new.mkdir()
    replicated.verdict = LOST
    wait_for_checks(replicated)

    new.rmdir()

    wait_until(lambda: file.read() == LOST)


def test_it_is_told_what_the_file_names(start, file, database, replicated):
    reached = write_operation(database)

    start(replicated)

    assert replicated.remembered == [reached]


def test_what_another_process_made_is_left_to_its_judgement(
    start, file, path, replicated
):
    other, watched = start(), start(replicated)
    write_operation(watched)
    lost = write_operation(other)
    other.close()
    lose(path, lost)
    before = file.read()

    write_operation(watched)
    # It is looked for until there is a verdict.
    wait_until(lambda: replicated.remembered.count(lost) > 2)
    write_operation(watched)

    assert file.read() == before == lost
