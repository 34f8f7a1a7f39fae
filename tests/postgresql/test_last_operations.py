"""What a process committed last is looked for on each new connection."""

import pytest

from deeds.errors import (
    ItemNotFoundError,
    LedgerRolledBackError,
    LedgerUnavailableError,
    SpentInputError,
)
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
    states,
    swap_of,
)
from tests.support.databases import connected

# As where another operation got its id.
LOSE = "UPDATE operations SET created_at_ms = -created_at_ms WHERE id = %s"
NOWHERE = f"deed_{0:026}"


@pytest.fixture
def lose(other, cut_off):
    """A function that takes an operation away, and all connections."""

    def lose_it(operation):
        other.execute(LOSE, [operation.id])
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


@pytest.fixture
def lost(database, repository, lose, clock):
    """An operation that each look for long enough missed."""
    operation = add_item(repository, 0)
    lose(operation)
    for _ in range(2):
        with pytest.raises(LedgerUnavailableError):
            ask_backend(database, "read")
        clock.now_s += DOUBT_SECONDS / 2
    return operation


def events(caplog):
    return [record.event for record in caplog.records if record.event != "database"]


@pytest.mark.parametrize("number", [0, 4, 7])
def test_whichever_of_the_last_operations_is_missing_is_noticed(
    repository, lose, number
):
    operations = [add_item(repository, number) for number in range(8)]
    lose(operations[number])

    with pytest.raises(LedgerUnavailableError):
        add_item(repository, 9)


@pytest.mark.parametrize("how", ["read", "write"])
def test_a_connection_that_lacks_one_is_thrown_away(
    database, repository, other, cut_off, how, caplog
):
    operation = add_item(repository, 0)
    other.execute(LOSE, [operation.id])
    cut_off()
    with pytest.raises(LedgerUnavailableError):
        ask_backend(database, how)
    other.execute(LOSE, [operation.id])

    ask_backend(database, how)

    assert events(caplog) == ["ledger_doubted", "ledger_found"]
    assert f"operation {operation.id} of " in caplog.text


def test_every_connection_is_looked_at_again_after_a_doubt(database, repository, other):
    """Another one may have found it since: that clears no connection to this server."""
    operation = add_item(repository, 0)

    def meet_another():
        other.execute(LOSE, [operation.id])
        with pytest.raises(LedgerUnavailableError):
            ask_backend(database, "read")

    nested(database, 1, meet_another)

    with pytest.raises(LedgerUnavailableError):
        add_item(repository, 1)


def test_a_loss_that_is_met_during_a_look_elsewhere_stands(
    repository, other, lose, thread, after_execute, caplog
):
    """The look reads before the loss, and ends after another connection met it."""
    operation = add_item(repository, 0)
    lose(operation)
    with pytest.raises(LedgerUnavailableError):
        repository.open_policies(POLICY)
    other.execute(LOSE, [operation.id])
    refused = []

    def lose_again(_connection):
        if not refused:
            refused.append(None)
            other.execute(LOSE, [operation.id])
            refused[0] = thread.submit(repository.open_policies, POLICY).exception(20)

    with after_execute("created_at_ms FROM operations", lose_again):
        repository.open_policies(POLICY)

    assert [type(each) for each in refused] == [LedgerUnavailableError]
    assert events(caplog) == ["ledger_doubted"]


def test_after_a_while_it_is_lost_and_nothing_is_done_until_it_is_found(
    database, repository, other, lost, caplog
):
    asked = [
        lambda: add_item(repository, 1),
        lambda: repository.read_item(NOWHERE),
        lambda: database.probe(PROBE),
    ]
    for ask in asked:
        with pytest.raises(LedgerRolledBackError):
            ask()
    missing = database.loss
    other.execute(LOSE, [lost.id])
    database.probe(PROBE)
    add_item(repository, 1)

    assert missing == lost
    assert database.loss is None
    assert events(caplog) == ["ledger_rolled_back", "ledger_found"]


def test_a_kept_connection_to_a_server_that_has_them_is_used_and_puts_off_the_verdict(
    database, repository, other, clock, caplog
):
    """It may be there while new connections meet another server."""
    operation = add_item(repository, 0)

    def meet_another():
        other.execute(LOSE, [operation.id])
        with pytest.raises(LedgerUnavailableError):
            ask_backend(database, "read")
        other.execute(LOSE, [operation.id])

    backends = set()
    for _ in range(4):
        nested(database, 1, meet_another)
        backends.add(ask_backend(database, "read"))
        # What one look missed long ago does not count for the next one.
        clock.now_s += 2 * DOUBT_SECONDS

    assert len(backends) == 1
    assert database.loss is None
    assert events(caplog) == ["ledger_doubted"]


def test_a_kept_connection_to_a_server_that_has_them_ends_a_false_alarm(
    database, repository, other, clock
):
    """It was in use all the while, by a COMMIT that waited."""
    operation = add_item(repository, 0)
    missing = []

    def meet_another_for_long():
        other.execute(LOSE, [operation.id])
        for error in (LedgerUnavailableError, LedgerRolledBackError):
            with pytest.raises(error):
                ask_backend(database, "read")
            clock.now_s += DOUBT_SECONDS
        missing.append(database.loss)
        other.execute(LOSE, [operation.id])

    [backend] = nested(database, 1, meet_another_for_long)

    assert ask_backend(database, "write") == backend
    assert missing == [operation]
    assert database.loss is None


def test_a_server_that_does_not_answer_puts_off_the_verdict(
    database, repository, lose, other, postgres, clock
):
    lose(add_item(repository, 0))
    with pytest.raises(LedgerUnavailableError):
        ask_backend(database, "read")
    alter = f'ALTER DATABASE "{other.info.dbname}" ALLOW_CONNECTIONS'
    clock.now_s += DOUBT_SECONDS

    with connected(postgres.admin_url) as admin:
        admin.execute(f"{alter} false")
        try:
            with pytest.raises(LedgerUnavailableError):
                ask_backend(database, "read")
        finally:
            admin.execute(f"{alter} true")

    with pytest.raises(LedgerUnavailableError):
        ask_backend(database, "read")


def test_repetitions_push_no_operation_out(database, repository, lose):
    record = mint_of(new_output(5, 1), key=new_key())
    repository.mint(record)
    operation = add_item(repository, 2)
    for _ in range(REMEMBERED_COUNT + 10):
        assert database.write(write_mint, record).replayed
    lose(operation)

    with pytest.raises(LedgerUnavailableError):
        add_item(repository, 3)


def test_an_operation_that_was_answered_again_is_looked_for(
    database_url, open_database, repository, lose
):
    record = mint_of(new_output(5, 1), key=new_key())
    operation = repository.mint(record)
    twin = open_database(database_url)
    twin.write(write_mint, record)
    lose(operation)

    with pytest.raises(LedgerUnavailableError):
        ask_backend(twin, "read")


def test_an_operation_of_another_process_is_looked_for_too(
    repository, open_database, database_url, lose
):
    """The checkpoint file names one."""
    operation = add_item(repository, 0)
    lose(operation)
    stranger = open_database(database_url)
    stranger.remember(operation)
    stranger.remember(NO_OPERATION)

    with pytest.raises(LedgerUnavailableError):
        stranger.read("SELECT 1")


def test_nothing_is_unknown_or_refused_by_a_server_that_lacks_an_operation(
    database, repository, other
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
        # So that all connections were looked at.
        ask_backend(database, "read")
        database.probe(PROBE)
        other.execute(LOSE, [operation.id])
        with pytest.raises(LedgerUnavailableError):
            ask()
        other.execute(LOSE, [operation.id])


def test_what_is_there_is_told_without_a_look(database, repository, other):
    output = new_output(5)
    operation = repository.mint(mint_of(output))
    ask_backend(database, "read")
    other.execute(LOSE, [operation.id])

    assert states(repository, output) == ["unspent"]
    assert repository.open_policies(POLICY) == [POLICY]


def test_what_is_unknown_or_refused_is_so_once_they_are_all_there(
    repository, database, caplog
):
    output = new_output(5)
    repository.mint(mint_of(output))
    repository.swap(swap_of(output))

    with pytest.raises(SpentInputError):
        repository.swap(swap_of(output))
    with pytest.raises(ItemNotFoundError):
        repository.read_item(NOWHERE)

    assert states(repository, new_output(5)) == [None]
    assert events(caplog) == []


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


def test_who_has_committed_nothing_misses_nothing(
    repository, open_database, database_url, lose
):
    lose(add_item(repository, 0))
    stranger = open_database(database_url)

    assert stranger.probe(PROBE)
    assert stranger.read("SELECT 1 WHERE false") == []
