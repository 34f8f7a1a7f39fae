"""What a process committed last is checked for on each new connection."""

import pytest

from deeds.errors import LedgerRolledBackError, LedgerUnavailableError
from parts.postgresql import last_operations
from parts.postgresql.last_operations import DOUBT_SECONDS, REMEMBERED_COUNT
from storage.database import NO_OPERATION
from storage.repository import write_mint
from tests.postgresql.records import (
    POLICY,
    PROBE,
    add_item,
    ask_backend,
    mint_of,
    nested,
    new_key,
    new_output,
    swap_of,
)
from tests.support.databases import connected
from tests.support.hooks import hooked

NOWHERE = f"deed_{0:026}"


@pytest.fixture
def flip(other):
    """A function that takes an operation away, or gives it back."""
    # As where another operation got its id.
    flipped = "UPDATE operations SET created_at_ms = -created_at_ms WHERE id = %s"
    return lambda operation: other.execute(flipped, [operation.id])


@pytest.fixture
def lose(flip, cut_off):
    """A function that takes an operation away, and all connections."""

    def lose_it(operation):
        flip(operation)
        cut_off()

    return lose_it


@pytest.fixture
def clock(monkeypatch):
    """The time of the verdict, which stands still."""

    class Clock:
        now_s = 1_000.0

        def __call__(self):
            return self.now_s

    clock = Clock()
    monkeypatch.setattr(last_operations, "monotonic", clock)
    return clock


def assert_unavailable(database):
    with pytest.raises(LedgerUnavailableError):
        ask_backend(database)


def events(caplog):
    return [record.event for record in caplog.records if record.event != "database"]


def test_a_connection_that_lacks_one_is_thrown_away(
    database, repository, flip, lose, caplog
):
    operation = add_item(repository, 0)
    lose(operation)
    assert_unavailable(database)
    flip(operation)

    ask_backend(database)

    assert events(caplog) == ["ledger_doubted", "ledger_found"]
    assert f"operation {operation.id} of " in caplog.text


def test_every_connection_is_checked_again_after_a_doubt(database, repository, flip):
    """Another one may have found it since: that clears no connection to this server."""
    operation = add_item(repository, 0)

    def meet_another():
        flip(operation)
        assert_unavailable(database)

    nested(database, 1, meet_another)

    with pytest.raises(LedgerUnavailableError):
        add_item(repository, 1)


def test_a_loss_that_is_met_during_a_check_elsewhere_stands(
    database, repository, flip, lose, thread, caplog
):
    """The check reads before the loss, and ends after another connection met it."""
    operation = add_item(repository, 0)
    lose(operation)
    assert_unavailable(database)
    flip(operation)
    refused = []

    def lose_again(_connection, sql, _values):
        if "created_at_ms FROM operations" in sql and not refused:
            refused.append(None)
            flip(operation)
            refused[0] = thread.submit(repository.open_policies, POLICY).exception(20)

    with hooked("after statement", lose_again):
        ask_backend(database)

    assert [type(each) for each in refused] == [LedgerUnavailableError]
    assert events(caplog) == ["ledger_doubted"]


def test_after_a_while_it_is_lost_and_nothing_is_done_until_it_is_found(
    database, repository, flip, lose, clock, caplog
):
    asked = [
        lambda: add_item(repository, 1),
        lambda: repository.read_item(NOWHERE),
        lambda: database.probe(PROBE),
    ]
    lost = add_item(repository, 0)
    lose(lost)
    for _ in range(2):
        assert_unavailable(database)
        clock.now_s += DOUBT_SECONDS / 2

    for ask in asked:
        with pytest.raises(LedgerRolledBackError):
            ask()
    missing = database.loss
    flip(lost)
    database.probe(PROBE)
    add_item(repository, 1)

    assert missing == lost
    assert database.loss is None
    assert events(caplog) == [
        "ledger_doubted",
        "ledger_rolled_back",
        "ledger_found",
    ]


def test_a_kept_connection_to_a_server_that_has_them_is_used_and_puts_off_the_verdict(
    database, repository, flip, clock, caplog
):
    """It may be there while new connections meet another server."""
    operation = add_item(repository, 0)

    def meet_another():
        flip(operation)
        assert_unavailable(database)
        flip(operation)

    backends = set()
    for _ in range(4):
        nested(database, 1, meet_another)
        backends.add(ask_backend(database))
        # What one check missed long ago does not count for the next one.
        clock.now_s += 2 * DOUBT_SECONDS

    assert len(backends) == 1
    assert database.loss is None
    assert events(caplog) == ["ledger_doubted"]


def test_a_kept_connection_to_a_server_that_has_them_ends_a_false_alarm(
    database, repository, flip, clock
):
    """It was in use all the while, by a COMMIT that waited."""
    operation = add_item(repository, 0)
    missing = []

    def meet_another_for_long():
        flip(operation)
        for error in (LedgerUnavailableError, LedgerRolledBackError):
            with pytest.raises(error):
                ask_backend(database)
            clock.now_s += DOUBT_SECONDS
        missing.append(database.loss)
        flip(operation)

    [backend] = nested(database, 1, meet_another_for_long)

    assert ask_backend(database) == backend
    assert missing == [operation]
    assert database.loss is None


def test_a_server_that_does_not_answer_puts_off_the_verdict(
    database, repository, lose, other, postgres, clock
):
    lose(add_item(repository, 0))
    assert_unavailable(database)
    alter = f'ALTER DATABASE "{other.info.dbname}" ALLOW_CONNECTIONS'
    clock.now_s += DOUBT_SECONDS

    with connected(postgres.admin_url) as admin:
        admin.execute(f"{alter} false")
        try:
            assert_unavailable(database)
        finally:
            admin.execute(f"{alter} true")

    assert_unavailable(database)


def test_one_that_was_answered_again_is_looked_for_and_pushes_no_other_out(
    database_url, open_database, repository, flip, lose
):
    record = mint_of(new_output(5, 1), key=new_key())
    replayed = repository.mint(record)
    twin = open_database(database_url)
    own = twin.write(write_mint, mint_of(new_output(5, 2)))
    for _ in range(REMEMBERED_COUNT + 1):
        assert twin.write(write_mint, record).replayed

    for operation in (own, replayed):
        lose(operation)
        assert_unavailable(twin)
        flip(operation)


def test_an_operation_of_another_process_is_looked_for_too(
    repository, open_database, database_url, lose
):
    """The checkpoint file names one, or none."""
    operation = add_item(repository, 0)
    lose(operation)
    stranger = open_database(database_url)
    stranger.remember(NO_OPERATION)
    ask_backend(stranger)
    stranger.close()

    stranger.remember(operation)

    assert_unavailable(stranger)


def test_nothing_is_unknown_or_refused_by_a_server_that_lacks_an_operation(
    database, repository, flip
):
    """It was the primary when the connection was made, and another one is now."""
    output = new_output(5)
    asked = [
        lambda: repository.read_item(NOWHERE),
        lambda: repository.read_outputs([output, new_output(5)]),
        lambda: repository.swap(swap_of(new_output(5))),
        lambda: database.probe(PROBE),
    ]
    operation = repository.mint(mint_of(output))

    for ask in asked:
        # So that all connections were checked.
        ask_backend(database)
        database.probe(PROBE)
        flip(operation)
        with pytest.raises(LedgerUnavailableError):
            ask()
        flip(operation)


@pytest.mark.parametrize("number", [0, 1])
def test_of_operations_that_overlapped_none_is_lost_unseen(
    repository, database, thread, lose, number
):
    """PostgreSQL's ids are not in the order of its commits."""
    operations = []

    def work(transaction, record):
        operation = write_mint(transaction, record)
        operations.append(thread.submit(add_item, repository, 1).result(20))
        return operation

    operations.append(database.write(work, mint_of(new_output(5, 2))))
    inner, outer = operations
    assert inner.id > outer.id
    lose(operations[number])

    with pytest.raises(LedgerUnavailableError):
        add_item(repository, 3)
