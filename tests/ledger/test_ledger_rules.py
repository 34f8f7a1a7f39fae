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


@pytest.fixture
def scheme_id(repository):
    repository.register_schemes([SchemeSpec(SecretClass.ORDINARY, Argon2Cost(8, 1, 1), "")])
    [scheme] = repository.read_schemes()
    return scheme.id


@pytest.fixture
def minted(repository, scheme_id):
    """The outputs 5 and 3 of an item that the ledger has."""
    outputs = output(scheme_id, 5), output(scheme_id, 3)
    repository.record_mint(mint_record(*outputs))
    return outputs


def test_a_mint_with_one_key_twice_is_refused_and_leaves_nothing(repository, ledger, scheme_id):
    same = output(scheme_id, 5)
    before = ledger.rows()

    with pytest.raises(UsedSecretError) as refused:
        repository.record_mint(mint_record(same, same))

    assert refused.value.index == 0
    assert ledger.rows() == before


@pytest.mark.parametrize("wrong", ["one input twice", "an output of its own"])
def test_a_swap_of_inputs_that_it_cannot_have_is_refused_and_moves_nothing(
    repository, ledger, minted, wrong
):
    new = output(minted[0].scheme_id, 5)
    records = {
        "one input twice": swap_record([minted[0]] * 2, [replace(new, amount=10)]),
        "an output of its own": swap_record([new], [new]),
    }
    before = ledger.rows()

    with pytest.raises(LedgerUnavailableError):
        repository.record_swap(records[wrong])

    assert ledger.rows() == before


def test_a_swap_that_does_not_balance_is_refused_and_moves_nothing(repository, ledger, minted):
    before = ledger.rows()

    with pytest.raises(UnbalancedError):
        repository.record_swap(swap_record(minted, [output(minted[0].scheme_id, 7)]))

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


@pytest.mark.parametrize("schemes_count", [0, 2])
def test_a_swap_hashed_for_another_number_of_schemes_is_refused_and_moves_nothing(
    repository, ledger, minted, schemes_count
):
    five, _ = minted
    swap = swap_record([five], [output(five.scheme_id, 5)], schemes_count=schemes_count)
    before = ledger.rows()

    with pytest.raises(ItemSchemesChangedError):
        repository.record_swap(swap)

    assert ledger.rows() == before


def test_a_digest_that_two_items_have_is_spent_in_one(repository, ledger, minted):
    five, three = minted
    twin = replace(five, key=OutputKey(OTHER_ID, five.key.digest))
    repository.record_mint(mint_record(twin))

    repository.record_swap(swap_record([five], [output(five.scheme_id, 5)]))

    found = repository.read_outputs([five.key, three.key, twin.key])
    assert [found[each.key].spent_by is None for each in (five, three, twin)] == [False, True, True]
    assert (ledger.live(ITEM_ID), ledger.live(OTHER_ID)) == ([3, 5], [5])


def test_one_hash_of_a_key_is_recorded_once(repository, ledger, minted):
    five, _ = minted
    key_hashes = (b"k" * 32,)
    repository.record_mint(mint_record(output(five.scheme_id, 1, OTHER_ID), key_hashes=key_hashes))
    before = ledger.rows()

    with pytest.raises(IdempotencyKeyTakenError):
        repository.record_swap(
            swap_record([five], [output(five.scheme_id, 5)], key_hashes=key_hashes)
        )

    assert ledger.rows() == before


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
