"""What the repository writes and reads back.

It keeps the rules for whatever record.
"""

import sqlite3
import time
from dataclasses import replace

import pytest

from deeds.domain.errors import (
    IdempotencyKeyTakenError,
    LedgerUnavailableError,
    UnbalancedError,
    UnknownInputError,
    UsedSecretError,
)
from deeds.domain.model import (
    Operation,
    OperationKind,
    OutputKey,
    RecordedOutput,
    SwapRecord,
)
from storage.checkpoint import Checkpoint
from storage.repository import METADATA_KEPT_LENGTH_MAX
from tests.support.leftovers import (
    ITEM_ID,
    OTHER_ID,
    hooked,
    logged_statements,
    mint_record,
    newest_of,
    output,
)

# So many that nothing is in order by accident.
MANY = 6
# Of both halves of an offer, at the largest DEEDS_MAX_ARRAY: perhaps too many for one
# statement.
LOOKED_UP_MAX = 4 * 8_000
KEY_HASH = b"k" * 32


@pytest.mark.parametrize(
    ("length", "reads_count"),
    [(METADATA_KEPT_LENGTH_MAX, 1), (METADATA_KEPT_LENGTH_MAX + 1, 2)],
)
def test_an_item_is_remembered_unless_its_metadata_is_long(
    repository, ledger, length, reads_count
):
    record = mint_record(output(5))
    item = replace(record.item, metadata="x" * length)
    repository.record_mint(replace(record, item=item))

    with logged_statements() as log:
        read = [repository.read_item(ITEM_ID) for _ in range(2)]

    assert read == [item, item]
    assert log.names == ["SELECT items"] * reads_count


def test_the_newest_operation_is_the_last_even_if_the_clock_went_back(
    repository, ledger
):
    earliest_ms = time.time_ns() // 1_000_000
    repository.record_mint(mint_record(output(5)))
    last = repository.record_mint(mint_record(output(5, OTHER_ID)))

    newest = newest_of(ledger)

    assert newest.operation_id == last
    assert earliest_ms <= newest.created_at_ms <= time.time_ns() // 1_000_000
    ledger.execute("UPDATE operations SET created_at_ms = 1 WHERE id = ?", last)
    assert newest_of(ledger) == Checkpoint(last, 1)


def test_rows_are_written_in_key_order_whatever_that_of_the_request(repository):
    """So that those who wait for each other's rows wait in a line, not in a circle."""
    minted, created = (
        sorted((output(5) for _ in range(MANY)), key=lambda each: each.key)
        for _ in range(2)
    )

    with logged_statements() as log:
        repository.record_mint(mint_record(*minted[::-1]))
        repository.record_swap(SwapRecord(tuple(minted[::-1]), tuple(created[::-1])))

    lists = [each.parameters for each in log.sent if isinstance(each.parameters, list)]
    written = [[row["digest"] for row in rows] for rows in lists]
    expected = [
        [each.key.digest for each in outputs] for outputs in (minted, created, minted)
    ]
    assert written == expected


@pytest.fixture
def few_variables():
    """Let SQLite take as many values as it does by default; some systems allow more."""

    def limit(connection):
        driver = connection.connection.driver_connection
        if isinstance(driver, sqlite3.Connection):
            driver.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 32_766)

    with hooked("begin", limit):
        yield


@pytest.mark.slow
def test_all_that_the_largest_swap_names_can_be_looked_up(repository, few_variables):
    keys = [OutputKey(f"deed_{n}", n.to_bytes(32)) for n in range(LOOKED_UP_MAX)]

    assert repository.read_outputs(keys) == {}
    assert repository.read_items({key.item_id for key in keys}) == {}


# The outputs of an item that was minted with a key, and one that the ledger has not.
FIVE, THREE, NEW = output(5), output(3), output(5)


@pytest.fixture
def minted(repository):
    """The operation that has minted them."""
    return repository.record_mint(mint_record(FIVE, THREE, key_hash=KEY_HASH))


def test_a_mint_with_one_secret_twice_is_refused_and_leaves_nothing(repository, ledger):
    with ledger.unchanged(), pytest.raises(UsedSecretError) as refused:
        repository.record_mint(mint_record(FIVE, FIVE))

    assert refused.value.index == 0


def test_a_key_is_recorded_once_and_its_operation_told(repository, ledger, minted):
    with pytest.raises(IdempotencyKeyTakenError) as taken:
        repository.record_mint(mint_record(output(5, OTHER_ID), key_hash=KEY_HASH))

    kind = OperationKind.MINT
    assert taken.value.operation == Operation(minted, kind, 0, 2, ITEM_ID, None)
    assert repository.read_operation(KEY_HASH) == taken.value.operation
    assert ledger.operations() == [("mint", 0, 2)]


@pytest.mark.parametrize(
    ("inputs", "created", "key_hash", "error"),
    [
        ([FIVE, FIVE], output(10), None, LedgerUnavailableError),
        ([FIVE], output(6), None, UnbalancedError),
        ([FIVE], output(4), None, UnbalancedError),
        ([FIVE], NEW, KEY_HASH, IdempotencyKeyTakenError),
    ],
    ids=["an input twice", "more", "less", "a used key"],
)
def test_a_swap_against_the_rules_is_refused_and_moves_nothing(
    repository, ledger, minted, *, inputs, created, key_hash, error
):
    with ledger.unchanged(), pytest.raises(error):
        repository.record_swap(SwapRecord(tuple(inputs), (created,), key_hash))


@pytest.mark.parametrize(
    ("said", "failed_count"), [([4], 1), ([6], 1), ([5, 2], 1), ([4, 4], 2)], ids=str
)
def test_a_swap_of_other_amounts_than_the_ledgers_is_refused(
    repository, ledger, minted, said, failed_count
):
    """It balances, and in the last case its inputs are worth in all what it says."""
    outputs = zip((FIVE, THREE), said, strict=False)
    inputs = tuple(replace(each, amount=amount) for each, amount in outputs)

    with ledger.unchanged(), pytest.raises(UnknownInputError) as refused:
        repository.record_swap(SwapRecord(inputs, (output(sum(said)),)))

    assert refused.value.index == len(said) - failed_count
    assert refused.value.failed_secrets_count == failed_count


def test_a_digest_that_two_items_have_is_spent_in_one(repository, ledger, minted):
    twin = replace(FIVE, key=OutputKey(OTHER_ID, FIVE.key.digest))
    other = repository.record_mint(mint_record(twin))

    swap = repository.record_swap(SwapRecord((FIVE,), (NEW,)))

    assert repository.read_outputs([FIVE.key, THREE.key, twin.key]) == {
        FIVE.key: RecordedOutput(FIVE, minted, swap),
        THREE.key: RecordedOutput(THREE, minted, None),
        twin.key: RecordedOutput(twin, other, None),
    }
    assert (ledger.live(ITEM_ID), ledger.live(OTHER_ID)) == ([3, 5], [5])
