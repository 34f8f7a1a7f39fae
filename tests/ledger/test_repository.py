"""What the repository writes and reads back, and that it keeps the rules for whatever
record.
"""

import sqlite3
import time
from dataclasses import replace

import pytest

from deeds.domain.errors import (
    IdempotencyKeyTakenError,
    ItemSchemesChangedError,
    LedgerUnavailableError,
    UnbalancedError,
    UnknownInputError,
    UsedSecretError,
)
from deeds.domain.model import Argon2Cost, OutputKey, SchemeSpec, SecretClass
from storage.mark import Mark, read_newest
from storage.repository import METADATA_KEPT_LENGTH_MAX
from storage.tables import operations
from storage.transactions import WRITES
from tests.support.hooks import hooked, logged_statements
from tests.support.ledger_records import (
    ITEM_ID,
    OTHER_ID,
    mint_record,
    output,
    swap_record,
)

# So many that nothing is in order by accident.
MANY = 6
SPECS = [
    SchemeSpec(SecretClass.ORDINARY, Argon2Cost(8 + n, 1, 1), "") for n in range(MANY)
]
# The largest DEEDS_MAX_ARRAY.
ARRAY_LENGTH_LIMIT = 16_000
KEY_HASH = b"k" * 32


@pytest.fixture
def scheme_ids(repository):
    repository.register_schemes(SPECS)
    return [scheme.id for scheme in repository.read_schemes()]


def test_schemes_are_recorded_once_and_read_oldest_first(repository):
    repository.register_schemes(SPECS[3:])
    repository.register_schemes(SPECS)

    schemes = repository.read_schemes()

    assert [scheme.spec for scheme in schemes] == SPECS[3:] + SPECS[:3]
    assert [scheme.id for scheme in schemes] == sorted(scheme.id for scheme in schemes)
    assert {len(scheme.key_salt) for scheme in schemes} == {16}
    assert len({scheme.key_salt for scheme in schemes}) == MANY


@pytest.mark.parametrize(
    ("length", "reads_count"),
    [(METADATA_KEPT_LENGTH_MAX, 1), (METADATA_KEPT_LENGTH_MAX + 1, 2)],
)
def test_an_item_is_read_back_whole_and_remembered_unless_its_metadata_is_long(
    repository, scheme_ids, ledger, length, reads_count
):
    record = mint_record(output(scheme_ids[0], 5))
    item = replace(record.item, metadata="x" * length)
    repository.record_mint(replace(record, item=item))

    with logged_statements() as log:
        read = [repository.read_item(ITEM_ID) for _ in range(2)]

    assert read == [item, item]
    assert log.names == ["SELECT items"] * reads_count


def test_the_newest_operation_has_its_time_and_is_the_last_one_even_if_the_clock_went_back(
    repository, scheme_ids, ledger
):
    earliest_ms = time.time_ns() // 1_000_000
    repository.record_mint(mint_record(output(scheme_ids[0], 5)))
    last = repository.record_mint(mint_record(output(scheme_ids[0], 5, OTHER_ID)))
    newest = read_newest(ledger.engine)
    assert newest.operation_id == last
    assert earliest_ms <= newest.created_at_ms <= time.time_ns() // 1_000_000

    an_hour_ago_ms = earliest_ms - 3_600_000
    with ledger.engine.execution_options(**{WRITES: True}).begin() as connection:
        set_back = operations.update().values(created_at_ms=an_hour_ago_ms)
        connection.execute(set_back.where(operations.c.id == last))

    assert read_newest(ledger.engine) == Mark(last, an_hour_ago_ms)


def test_rows_are_written_in_the_order_of_their_keys_whatever_that_of_the_request(
    repository, scheme_ids
):
    """So that those who wait for each other's rows wait in a line and not in a circle."""
    minted, created = ([output(each, 5) for each in scheme_ids] for _ in range(2))
    for outputs in minted, created:
        outputs.sort(key=lambda each: each.key, reverse=True)

    with logged_statements() as log:
        repository.record_mint(mint_record(*minted))
        repository.record_swap(swap_record(minted, created, schemes_count=MANY))

    added, *written = [
        each.parameters for each in log.sent if isinstance(each.parameters, list)
    ]
    assert [row["scheme_id"] for row in added] == sorted(scheme_ids)
    digests = [
        [each.key.digest for each in reversed(outputs)] for outputs in (minted, created)
    ]
    assert [[row["digest"] for row in rows] for rows in written] == [
        *digests,
        digests[0],
    ]


@pytest.mark.parametrize("items_count", [1, 2])
def test_the_outputs_of_the_largest_swap_and_as_many_items_can_be_looked_up(
    repository, items_count
):
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
        assert repository.read_item_schemes(item_ids) == {}


def limit_variables(connection):
    """Let SQLite take as many values as it does by default.

    Some systems build it for more.
    """
    driver = connection.connection.driver_connection
    if isinstance(driver, sqlite3.Connection):
        driver.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 32_766)


@pytest.fixture
def minted(repository, scheme_ids):
    """The outputs 5 and 3 of an item that the ledger has, minted with a key."""
    outputs = output(scheme_ids[0], 5), output(scheme_ids[0], 3)
    repository.record_mint(mint_record(*outputs, key_hashes=(KEY_HASH,)))
    return outputs


def test_a_mint_with_one_key_twice_is_refused_and_leaves_nothing(
    repository, ledger, scheme_ids
):
    same = output(scheme_ids[0], 5)
    before = ledger.rows()

    with pytest.raises(UsedSecretError) as refused:
        repository.record_mint(mint_record(same, same))

    assert refused.value.index == 0
    assert ledger.rows() == before


@pytest.mark.parametrize(
    ("inputs", "output_amount", "changes", "error"),
    [
        (["five", "five"], 10, {}, LedgerUnavailableError),
        (["new"], None, {}, LedgerUnavailableError),
        (["five", "three"], 7, {}, UnbalancedError),
        (["five"], 5, {"schemes_count": 0}, ItemSchemesChangedError),
        (["five"], 5, {"schemes_count": 2}, ItemSchemesChangedError),
        (["five"], 5, {"key_hashes": (KEY_HASH,)}, IdempotencyKeyTakenError),
    ],
)
def test_a_swap_that_the_service_would_not_make_is_refused_and_moves_nothing(
    repository, ledger, minted, *, inputs, output_amount, changes, error
):
    five, three = minted
    new = output(five.scheme_id, 5)
    spent = [{"five": five, "three": three, "new": new}[name] for name in inputs]
    created = new if output_amount is None else replace(new, amount=output_amount)
    before = ledger.rows()

    with pytest.raises(error):
        repository.record_swap(swap_record(spent, [created], **changes))

    assert ledger.rows() == before


@pytest.mark.parametrize(
    ("said", "failed_count"), [([4], 1), ([6], 1), ([5, 2], 1), ([4, 4], 2)]
)
def test_a_swap_that_says_other_amounts_than_the_ledger_is_refused_and_moves_nothing(
    repository, ledger, minted, said, failed_count
):
    """It balances, and in the last case its inputs are worth in all what it says."""
    inputs = [replace(each, amount=n) for each, n in zip(minted, said, strict=False)]
    before = ledger.rows()

    with pytest.raises(UnknownInputError) as refused:
        repository.record_swap(
            swap_record(inputs, [output(minted[0].scheme_id, sum(said))])
        )

    assert refused.value.index == len(said) - failed_count
    assert refused.value.failed_secrets_count == failed_count
    assert ledger.rows() == before


def test_a_digest_that_two_items_have_is_spent_in_one(repository, ledger, minted):
    five, three = minted
    twin = replace(five, key=OutputKey(OTHER_ID, five.key.digest))
    repository.record_mint(mint_record(twin))

    repository.record_swap(swap_record([five], [output(five.scheme_id, 5)]))

    found = repository.read_outputs([five.key, three.key, twin.key])
    assert [found[each.key].output for each in (five, three, twin)] == [
        five,
        three,
        twin,
    ]
    assert [found[each.key].spent_by is None for each in (five, three, twin)] == [
        False,
        True,
        True,
    ]
    assert (ledger.live(ITEM_ID), ledger.live(OTHER_ID)) == ([3, 5], [5])


@pytest.mark.parametrize(
    "hashes", [(b"\xff", b"\xfe"), (b"\x00", b"\x01"), (b"\x7f", b"\x80")]
)
def test_a_key_is_recorded_once_whichever_of_its_hashes_comes_first(
    repository, ledger, scheme_ids, hashes
):
    """On PostgreSQL their first bytes name a lock, which is a number of either sign."""
    key_hashes = tuple(each * 32 for each in hashes)
    first = mint_record(output(scheme_ids[0], 5), key_hashes=key_hashes)
    again = replace(first, idempotency_key_hashes=key_hashes[::-1])

    repository.record_mint(first)
    with pytest.raises(IdempotencyKeyTakenError):
        repository.record_mint(again)

    assert ledger.operations() == [("mint", 0, 1)]


def test_a_scheme_that_another_swap_has_brought_meanwhile_is_no_failure(
    repository, ledger, minted
):
    five, _ = minted
    added = frozenset({(ITEM_ID, five.scheme_id)})
    before = ledger.rows()["item_schemes"]

    repository.record_swap(
        swap_record([five], [output(five.scheme_id, 5)], schemes_added=added)
    )

    assert ledger.rows()["item_schemes"] == before
