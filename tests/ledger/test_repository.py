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
from deeds.domain.model import OutputKey, SwapRecord
from storage.checkpoint import Checkpoint, read_newest
from storage.repository import METADATA_KEPT_LENGTH_MAX
from storage.tables import operations
from storage.transactions import WRITES
from tests.support.hooks import hooked, logged_statements
from tests.support.ledger_records import ITEM_ID, OTHER_ID, mint_record, output

# So many that nothing is in order by accident.
MANY = 6
# The largest DEEDS_MAX_ARRAY.
ARRAY_LENGTH_LIMIT = 8_000
KEY_HASH = b"k" * 32


def swap_record(inputs, outputs, key_hash=None):
    return SwapRecord(tuple(inputs), tuple(outputs), key_hash)


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
    newest = read_newest(ledger.engine)
    assert newest.operation_id == last
    assert earliest_ms <= newest.created_at_ms <= time.time_ns() // 1_000_000

    an_hour_ago_ms = earliest_ms - 3_600_000
    with ledger.engine.execution_options(**{WRITES: True}).begin() as connection:
        set_back = operations.update().values(created_at_ms=an_hour_ago_ms)
        connection.execute(set_back.where(operations.c.id == last))

    assert read_newest(ledger.engine) == Checkpoint(last, an_hour_ago_ms)


def test_rows_are_written_in_key_order_whatever_that_of_the_request(repository):
    """So that those who wait for each other's rows wait in a line, not in a circle."""
    minted, created = ([output(5) for _ in range(MANY)] for _ in range(2))
    for outputs in minted, created:
        outputs.sort(key=lambda each: each.key, reverse=True)

    with logged_statements() as log:
        repository.record_mint(mint_record(*minted))
        repository.record_swap(swap_record(minted, created))

    lists = [each.parameters for each in log.sent if isinstance(each.parameters, list)]
    written = [[row["digest"] for row in rows] for rows in lists]
    minted_digests, created_digests = (
        [each.key.digest for each in reversed(outputs)] for outputs in (minted, created)
    )
    assert written == [minted_digests, created_digests, minted_digests]


@pytest.mark.parametrize("items_count", [1, 2])
def test_the_outputs_of_the_largest_swap_can_be_looked_up(repository, items_count):
    """That of both halves of an offer; they may be too many for one statement."""
    count = 4 * ARRAY_LENGTH_LIMIT // items_count
    keys = [
        OutputKey(f"deed_{item}", number.to_bytes(32))
        for item in range(items_count)
        for number in range(count)
    ]

    with hooked("begin", limit_variables):
        assert repository.read_outputs(keys) == {}
        item_ids = {f"deed_{number}" for number in range(4 * ARRAY_LENGTH_LIMIT)}
        assert repository.read_items(item_ids) == {}


def limit_variables(connection):
    """Let SQLite take as many values as it does by default.

    Some systems build it for more.
    """
    driver = connection.connection.driver_connection
    if isinstance(driver, sqlite3.Connection):
        driver.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 32_766)


@pytest.fixture
def minted(repository):
    """The outputs 5 and 3 of an item that the ledger has, minted with a key."""
    outputs = output(5), output(3)
    repository.record_mint(mint_record(*outputs, key_hash=KEY_HASH))
    return outputs


def test_a_mint_with_one_secret_twice_is_refused_and_leaves_nothing(repository, ledger):
    same = output(5)
    before = ledger.rows()

    with pytest.raises(UsedSecretError) as refused:
        repository.record_mint(mint_record(same, same))

    assert refused.value.index == 0
    assert ledger.rows() == before


def test_a_key_is_recorded_once_and_its_operation_told(repository, ledger):
    first, again = (mint_record(output(5), key_hash=KEY_HASH) for _ in range(2))
    made = repository.record_mint(first)

    with pytest.raises(IdempotencyKeyTakenError) as taken:
        repository.record_mint(again)

    assert taken.value.operation == repository.read_operation(KEY_HASH)
    assert taken.value.operation.id == made
    assert taken.value.operation.item_id == ITEM_ID
    assert ledger.operations() == [("mint", 0, 1)]


@pytest.mark.parametrize(
    ("inputs", "output_amount", "key_hash", "error"),
    [
        (["five", "five"], 10, None, LedgerUnavailableError),
        (["five"], 6, None, UnbalancedError),
        (["five"], 4, None, UnbalancedError),
        (["five"], None, None, UsedSecretError),
        (["new"], 5, None, UnknownInputError),
        (["five"], 5, KEY_HASH, IdempotencyKeyTakenError),
    ],
)
def test_a_swap_against_the_rules_is_refused_and_moves_nothing(
    repository, ledger, minted, *, inputs, output_amount, key_hash, error
):
    five, three = minted
    new = output(5)
    spent = [{"five": five, "three": three, "new": new}[name] for name in inputs]
    created = five if output_amount is None else output(output_amount)
    before = ledger.rows()

    with pytest.raises(error):
        repository.record_swap(swap_record(spent, [created], key_hash))

    assert ledger.rows() == before


@pytest.mark.parametrize(
    ("said", "failed_count"), [([4], 1), ([6], 1), ([5, 2], 1), ([4, 4], 2)]
)
def test_a_swap_of_other_amounts_than_the_ledgers_is_refused(
    repository, ledger, minted, said, failed_count
):
    """It balances, and in the last case its inputs are worth in all what it says."""
    inputs = [replace(each, amount=n) for each, n in zip(minted, said, strict=False)]
    before = ledger.rows()

    with pytest.raises(UnknownInputError) as refused:
        repository.record_swap(swap_record(inputs, [output(sum(said))]))

    assert refused.value.index == len(said) - failed_count
    assert refused.value.failed_secrets_count == failed_count
    assert ledger.rows() == before


def test_a_digest_that_two_items_have_is_spent_in_one(repository, ledger, minted):
    five, three = minted
    twin = replace(five, key=OutputKey(OTHER_ID, five.key.digest))
    repository.record_mint(mint_record(twin))

    repository.record_swap(swap_record([five], [output(5)]))

    outputs = (five, three, twin)
    found = repository.read_outputs([each.key for each in outputs])
    assert tuple(found[each.key].output for each in outputs) == outputs
    is_live = [found[each.key].spent_by is None for each in outputs]
    assert is_live == [False, True, True]
    assert (ledger.live(ITEM_ID), ledger.live(OTHER_ID)) == ([3, 5], [5])
