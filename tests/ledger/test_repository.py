"""What the repository writes and reads back.

It keeps the rules for whatever record.
"""

import secrets
from contextlib import closing
from dataclasses import replace

import pytest

from app import now_ms, open_database
from deeds.errors import (
    IdempotencyKeyReusedError,
    LedgerUnavailableError,
    UnbalancedError,
    UnknownInputError,
    UsedSecretError,
)
from deeds.model import (
    FoundOutput,
    HashPolicy,
    IdempotencyKey,
    Item,
    ItemHashing,
    MintRecord,
    Output,
    SwapRecord,
)
from storage.repository import OUTPUTS_UNSEEN_MAX
from tests.support.hooks import logged_statements
from tests.support.ledger_view import LedgerView

ITEM_ID = "deed_00000000000000000000000000"
OTHER_ID = "deed_11111111111111111111111111"
POLICY = HashPolicy(8, 1, 1)

KEY = IdempotencyKey(b"k" * 32, b"f" * 32)
OTHER_REQUEST = KEY._replace(fingerprint=b"g" * 32)


def output(amount, item_id=ITEM_ID):
    """Return an output of a digest that no other has."""
    return Output(item_id, secrets.token_bytes(32), amount)


def mint_record(*outputs, key=None):
    """Return the mint of an item with these outputs."""
    item = Item(outputs[0].item_id, sum(each.amount for each in outputs), None)
    hashing = ItemHashing(secrets.token_bytes(16), POLICY, item.total)
    return MintRecord(item, hashing, outputs, key)


# The outputs of an item that was minted with a key, and one that the ledger has not.
FIVE, THREE, NEW = output(5), output(3), output(5)


@pytest.fixture
def minted(repository):
    """The operation that has minted them."""
    return repository.mint(mint_record(FIVE, THREE, key=KEY))


def test_rows_are_written_in_key_order_whatever_that_of_the_request(repository):
    """So that those who wait for each other's rows wait in a line, not in a circle."""
    old, new = (sorted(output(5) for _ in range(6)) for _ in range(2))

    with logged_statements() as log:
        mint = repository.mint(mint_record(*old[::-1]))
        swap = repository.swap(SwapRecord(tuple(old[::-1]), tuple(new[::-1])))

    assert [each.values for each in log.sent if isinstance(each.values, list)] == [
        [(*each, mint.id) for each in old],
        [(*each, swap.id) for each in new],
        [(swap.id, *each) for each in old],
    ]


@pytest.mark.parametrize(
    ("outputs_count", "inserts_count"),
    [(OUTPUTS_UNSEEN_MAX, 1), (OUTPUTS_UNSEEN_MAX + 1, 0)],
)
@pytest.mark.parametrize("refused", [UnknownInputError, UsedSecretError])
def test_a_large_swap_that_is_refused_has_inserted_no_output(
    repository, ledger, refused, outputs_count, inserts_count
):
    inputs = tuple(output(1) for _ in range(outputs_count))
    repository.mint(mint_record(*inputs))
    outputs = [output(1) for _ in inputs]
    if refused == UnknownInputError:
        inputs = (*inputs[:-1], output(1))
    else:
        outputs[-1] = inputs[0]

    with (
        ledger.unchanged(),
        logged_statements() as log,
        pytest.raises(refused) as error,
    ):
        repository.swap(SwapRecord(inputs, tuple(outputs)))

    assert error.value.index == outputs_count - 1
    assert log.names.count("INSERT outputs") == inserts_count
    assert log.commits_count == 0


def test_a_key_is_recorded_once_and_its_operation_returned_again(
    repository, ledger, minted
):
    twin = mint_record(output(5, OTHER_ID), key=KEY)
    other = mint_record(output(5, OTHER_ID), key=OTHER_REQUEST)

    with ledger.unchanged():
        again = repository.mint(twin)
        with pytest.raises(IdempotencyKeyReusedError):
            repository.mint(other)

    assert again == replace(minted, replayed=True)
    assert repository.read_minted(KEY.hash) == Item(ITEM_ID, 8, None)
    assert repository.read_minted(bytes(32)) is None


def test_a_mint_with_one_secret_twice_is_refused(repository, ledger):
    with ledger.unchanged(), pytest.raises(LedgerUnavailableError):
        repository.mint(mint_record(FIVE, FIVE))


@pytest.mark.parametrize(
    ("inputs", "created", "key", "error"),
    [
        ([FIVE, FIVE], output(10), None, LedgerUnavailableError),
        ([FIVE], output(6), None, UnbalancedError),
        ([FIVE], output(4), None, UnbalancedError),
        ([FIVE], output(5, OTHER_ID), None, UnbalancedError),
        ([FIVE], NEW, OTHER_REQUEST, IdempotencyKeyReusedError),
    ],
    ids=["an input twice", "more", "less", "another item", "a used key"],
)
def test_a_swap_against_the_rules_is_refused_and_moves_nothing(
    repository, ledger, minted, *, inputs, created, key, error
):
    with ledger.unchanged(), pytest.raises(error):
        repository.swap(SwapRecord(tuple(inputs), (created,), key))


@pytest.mark.parametrize(
    ("said", "wrong_count"), [([4], 1), ([6], 1), ([5, 2], 1), ([4, 4], 2)], ids=str
)
def test_a_swap_of_other_amounts_than_the_ledgers_is_refused(
    repository, ledger, minted, said, wrong_count
):
    """It balances, and in the last case its inputs are worth in all what it says."""
    pairs = zip((FIVE, THREE), said, strict=False)
    inputs = tuple(each._replace(amount=amount) for each, amount in pairs)

    with ledger.unchanged(), pytest.raises(UnknownInputError) as refused:
        repository.swap(SwapRecord(inputs, (output(sum(said)),)))

    assert refused.value.index == len(said) - wrong_count
    assert refused.value.wrong_secrets == wrong_count


def test_a_digest_that_two_items_have_is_spent_in_one(repository, ledger, minted):
    twin = FIVE._replace(item_id=OTHER_ID)
    repository.mint(mint_record(twin))

    swap = repository.swap(SwapRecord((FIVE,), (NEW,)))

    assert repository.read_outputs([twin, NEW, output(5), FIVE]) == [
        FoundOutput(5, None),
        FoundOutput(5, None),
        None,
        FoundOutput(5, swap.id),
    ]
    assert (ledger.live(ITEM_ID), ledger.live(OTHER_ID)) == ([3, 5], [5])


def test_items_beyond_those_that_are_remembered_are_read_again(repository, monkeypatch):
    monkeypatch.setattr("storage.repository.HASHINGS_CACHED_MAX", 2)
    records = [mint_record(output(5, f"deed_{number:026}")) for number in range(3)]
    hashings = {each.item.id: each.hashing for each in records}
    for record in records:
        repository.mint(record)

    assert repository.read_hashings(hashings) == hashings
    for item_id in [*hashings, *hashings]:
        assert repository.read_hashings([item_id]) == {item_id: hashings[item_id]}
    with logged_statements() as log:
        repository.read_hashings([item_id])

    # That one was read last.
    assert log.names == []


def test_rows_of_another_ledger_keep_their_ids_and_later_ones_follow(
    database_url, repository
):
    columns, rows = ("id", "kind", "created_at_ms"), [(7, "offer", 1), (9, "offer", 2)]
    with closing(open_database(database_url, now_ms)) as database:
        database.create(lambda opened: opened.load("operations", columns, iter(rows)))

    minted = repository.mint(mint_record(FIVE))

    ids = LedgerView(database_url).read("SELECT id FROM operations ORDER BY id")
    assert ids == [(7,), (9,), (10,)]
    assert minted.id == 10
