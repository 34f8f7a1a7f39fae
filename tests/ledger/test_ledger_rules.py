"""The ledger keeps its rules even for records that the service would never make."""

from dataclasses import replace

import pytest

from deeds.domain.errors import (
    IdempotencyKeyTakenError,
    ItemSchemesChangedError,
    LedgerUnavailableError,
    SpentInputError,
    UnbalancedError,
    UnknownInputError,
    UsedSecretError,
)
from deeds.domain.model import Argon2Cost, OutputKey, SchemeSpec, SecretClass
from tests.support.ledger_records import ITEM_ID, OTHER_ID, mint_record, output, swap_record

KEY_HASH = b"k" * 32


@pytest.fixture
def scheme_id(repository):
    repository.register_schemes([SchemeSpec(SecretClass.ORDINARY, Argon2Cost(8, 1, 1), "")])
    [scheme] = repository.read_schemes()
    return scheme.id


@pytest.fixture
def minted(repository, scheme_id):
    """The outputs 5 and 3 of an item that the ledger has, minted with a key."""
    outputs = output(scheme_id, 5), output(scheme_id, 3)
    repository.record_mint(mint_record(*outputs, key_hashes=(KEY_HASH,)))
    return outputs


def test_a_mint_with_one_key_twice_is_refused_and_leaves_nothing(repository, ledger, scheme_id):
    same = output(scheme_id, 5)
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
    ids=["input twice", "its own output", "unbalanced", "fewer schemes", "more schemes", "key"],
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


@pytest.mark.parametrize(("said", "failed_count"), [([4], 1), ([6], 1), ([5, 2], 1), ([4, 4], 2)])
def test_a_swap_that_says_other_amounts_than_the_ledger_is_refused_and_moves_nothing(
    repository, ledger, minted, said, failed_count
):
    """It balances, and in the last case its inputs are worth in all what it says."""
    inputs = [replace(each, amount=n) for each, n in zip(minted, said, strict=False)]
    before = ledger.rows()

    with pytest.raises(UnknownInputError) as refused:
        repository.record_swap(swap_record(inputs, [output(minted[0].scheme_id, sum(said))]))

    assert refused.value.index == len(said) - failed_count
    assert refused.value.failed_secrets_count == failed_count
    assert ledger.rows() == before


def test_a_swap_that_is_refused_for_a_spent_input_counts_its_unknown_ones(
    repository, ledger, minted
):
    five, three = minted
    repository.record_swap(swap_record([five], [output(five.scheme_id, 5)]))
    inputs = [three, five, output(five.scheme_id, 1), output(five.scheme_id, 1)]

    with pytest.raises(SpentInputError) as refused:
        repository.record_swap(swap_record(inputs, [output(five.scheme_id, 10)]))

    assert (refused.value.index, refused.value.failed_secrets_count) == (1, 2)


def test_a_digest_that_two_items_have_is_spent_in_one(repository, ledger, minted):
    five, three = minted
    twin = replace(five, key=OutputKey(OTHER_ID, five.key.digest))
    repository.record_mint(mint_record(twin))

    repository.record_swap(swap_record([five], [output(five.scheme_id, 5)]))

    found = repository.read_outputs([five.key, three.key, twin.key])
    assert [found[each.key].spent_by is None for each in (five, three, twin)] == [False, True, True]
    assert (ledger.live(ITEM_ID), ledger.live(OTHER_ID)) == ([3, 5], [5])


@pytest.mark.parametrize("hashes", [(b"\xff", b"\xfe"), (b"\x00", b"\x01"), (b"\x7f", b"\x80")])
def test_a_key_is_recorded_once_whichever_of_its_hashes_comes_first(
    repository, ledger, scheme_id, hashes
):
    """On PostgreSQL their first bytes name a lock, which is a number of either sign."""
    key_hashes = tuple(each * 32 for each in hashes)
    first = mint_record(output(scheme_id, 5), key_hashes=key_hashes)
    again = replace(first, idempotency_key_hashes=key_hashes[::-1])

    repository.record_mint(first)
    with pytest.raises(IdempotencyKeyTakenError):
        repository.record_mint(again)

    assert ledger.operations() == [("mint", 0, 1)]


def test_a_scheme_that_another_swap_has_brought_meanwhile_is_no_failure(repository, ledger, minted):
    five, _ = minted
    added = frozenset({(ITEM_ID, five.scheme_id)})
    before = ledger.rows()["item_schemes"]

    repository.record_swap(swap_record([five], [output(five.scheme_id, 5)], schemes_added=added))

    assert ledger.rows()["item_schemes"] == before
