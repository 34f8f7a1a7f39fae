"""Writes that meet others, break off, or are refused."""

import pytest

from deeds.errors import (
    LedgerInDoubtError,
    LedgerUnavailableError,
)
from parts.postgresql import pool, transaction
from storage.database import NO_OPERATION, ConflictError
from storage.repository import write_swap
from tests.postgresql.records import (
    add_item,
    at_statement,
    mint_of,
    new_key,
    new_output,
    states,
    swap_of,
)
from tests.support.waiting import wait_until

WAIT_S = 60
TRIES = pool.TRIES_MAX[pool.CONFLICT]

# Where a swap inserts its outputs.
AT_OUTPUTS = 1

# Fails a number of commits for real: a sequence counts on when its transaction is
# undone.
FAILING = """
    CREATE SEQUENCE failures;
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF nextval('failures') <= {count} THEN
            RAISE EXCEPTION 'made for a test' USING ERRCODE = '40001';
        END IF;
        RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON operations
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.kind = 'swap')
    EXECUTE FUNCTION fail();
"""
FAILING_NO_MORE = (
    "DROP TRIGGER fail ON operations; DROP FUNCTION fail; DROP SEQUENCE failures"
)
WAITING = "SELECT 1 FROM pg_locks WHERE NOT granted"


@pytest.fixture
def output(repository):
    """An output of the ledger."""
    output = new_output(5)
    repository.mint(mint_of(output))
    return output


def test_swaps_of_one_item_do_not_wait_for_each_other(repository, thread):
    first, second = new_output(5), new_output(7)
    repository.mint(mint_of(first, second))

    def swap_second(_connection):
        thread.submit(repository.swap, swap_of(second)).result(20)

    with at_statement(AT_OUTPUTS, swap_second):
        repository.swap(swap_of(first))

    assert states(repository, first, second) == ["spent"] * 2


def test_a_swap_that_a_deadlock_ends_is_tried_again(repository, retries, other, thread):
    outputs = sorted([new_output(5), new_output(7)])
    repository.mint(mint_of(*outputs))
    lock = "UPDATE outputs SET amount = amount WHERE item_id = %s AND digest = %s"

    # PostgreSQL ends the transaction that first looks for a deadlock: the swap's, not
    # ours.
    other.execute("SET deadlock_timeout = '1min'")
    other.execute("BEGIN")
    other.execute(lock, outputs[1].key)
    swapping = thread.submit(repository.swap, swap_of(*outputs))
    wait_until(lambda: other.execute(WAITING).fetchone())
    other.execute(lock, outputs[0].key)
    other.execute("ROLLBACK")

    assert not swapping.result(WAIT_S).replayed
    # More than one where it was there again before the other session had its lock.
    assert set(retries) == {"conflict"}
    assert states(repository, *outputs) == ["spent"] * 2


@pytest.mark.parametrize("failures_count", [TRIES - 1, TRIES])
def test_a_serialization_failure_is_tried_again_up_to_a_bound(
    repository, retries, other, output, failures_count
):
    swap, is_made = swap_of(output), failures_count < TRIES
    other.execute(FAILING.format(count=failures_count))

    try:
        if is_made:
            repository.swap(swap)
        else:
            with pytest.raises(LedgerUnavailableError):
                repository.swap(swap)
    finally:
        other.execute(FAILING_NO_MORE)

    assert retries == ["conflict"] * (TRIES - 1)
    expected = ["spent", "unspent"] if is_made else ["unspent", None]
    assert states(repository, output, *swap.outputs) == expected


def test_a_work_that_meets_another_is_run_again_at_a_later_time(
    open_database, database_url
):
    clock = iter(range(1_000, 2_000))
    database = open_database(database_url, clock=lambda: next(clock))
    times = []

    def work(transaction, _record):
        times.append(transaction.now_ms)
        if len(times) <= 2:
            raise ConflictError
        return NO_OPERATION

    database.write(work, None)

    assert times == [1_000, 1_001, 1_002]


def test_a_row_that_stays_locked_is_unavailable_for_those_who_need_it(
    repository, retries, other, output, monkeypatch
):
    short = transaction.BEGIN.replace("'5s'", "'50ms'")
    monkeypatch.setattr("parts.postgresql.database.BEGIN", short)
    other.execute("BEGIN")
    other.execute("UPDATE outputs SET amount = amount")
    with pytest.raises(LedgerUnavailableError):
        repository.swap(swap_of(output))
    add_item(repository, 2)
    found = states(repository, output)
    other.execute("ROLLBACK")

    assert found == ["unspent"]
    assert retries == []
    repository.swap(swap_of(output))


def test_a_row_that_is_gone_is_unavailable(repository, other, output):
    """Rows are never deleted: another server is the primary now."""
    other.execute("DELETE FROM outputs")
    other.execute("DELETE FROM items")

    with pytest.raises(LedgerUnavailableError):
        repository.swap(swap_of(output))


@pytest.mark.parametrize("has_arrived", [False, True])
def test_a_commit_that_breaks_off_is_in_doubt_and_the_key_brings_certainty(
    database, repository, cut_off, output, has_arrived
):
    swap = swap_of(output, key=new_key())

    def work(transaction, record):
        operation = write_swap(transaction, record)
        if has_arrived:
            transaction.execute("COMMIT")
            transaction.execute("BEGIN")
        cut_off()
        return operation

    with pytest.raises(LedgerInDoubtError):
        database.write(work, swap)

    expected = ["spent", "unspent"] if has_arrived else ["unspent", None]
    assert states(repository, output, *swap.outputs) == expected
    assert repository.swap(swap).replayed == has_arrived
    assert states(repository, output, *swap.outputs) == ["spent", "unspent"]
