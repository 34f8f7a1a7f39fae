"""The rules that need no ledger: duplicates, totals and balance."""

import pytest

from deeds.errors import (
    DuplicateInputError,
    DuplicateSecretError,
    TotalTooLargeError,
    UnbalancedError,
)
from deeds.model import AMOUNT_MAX, MintRequest, NewOutput, SwapRequest
from deeds.raw_output import parse_raw_output
from deeds.rules import check_balance, check_mint, check_named_once

# Raw outputs without the `deed_` of their items, separated by commas.
SWAPS = {
    "a split": ("+5.x.a", "+2.x.b,+3.x.c"),
    "a merger": ("+2.x.a,+3.x.b", "+5.x.c"),
    "one secret in two items": ("+5.x.a,+7.y.a", "+7.y.b,+5.x.b"),
    "all there is": (f"+{AMOUNT_MAX}.x.a", f"+{AMOUNT_MAX - 1}.x.b,+1.x.c"),
    "secrets that look alike": ("+5.x.a", "+2.x.A,+3.x.a "),
}

REFUSED_SWAPS = [
    ("+5.x.a,+5.x.a", "+10.x.b", DuplicateInputError, 1),
    ("+5.x.a,+1.y.a,+6.x.a", "+11.x.b,+1.y.b", DuplicateInputError, 2),
    ("+5.x.a", "+2.x.b,+3.x.b", DuplicateSecretError, 1),
    # An output has the secret of an input.
    ("+5.x.a", "+5.x.a", DuplicateSecretError, 0),
    ("+2.x.a,+3.x.b", "+2.x.c,+3.x.a", DuplicateSecretError, 1),
    ("+5.x.a", "+6.x.b", UnbalancedError, None),
    ("+5.x.a", "+4.x.b", UnbalancedError, None),
    ("+5.x.a", "+5.y.b", UnbalancedError, None),
    # Only the sum over all items is right.
    ("+5.x.a,+5.y.a", "+6.x.b,+4.y.b", UnbalancedError, None),
    # An item is on one side alone.
    ("+5.x.a", "+5.x.b,+1.y.b", UnbalancedError, None),
    ("+5.x.a,+1.y.a", "+5.x.b", UnbalancedError, None),
    # Item ids in another case.
    ("+5.x.a", "+5.X.b", UnbalancedError, None),
]


def raws_of(side):
    texts = [each.replace(".", ".deed_", 1) for each in side.split(",")]
    return tuple(parse_raw_output(each) for each in texts)


def a_mint(*outputs):
    return MintRequest(tuple(NewOutput(*output) for output in outputs))


def check_swap(inputs, outputs):
    """Judge a swap as the service does before it looks into the ledger."""
    request = SwapRequest(raws_of(inputs), raws_of(outputs))
    check_named_once(request)
    check_balance(request.inputs, request.outputs)


@pytest.mark.parametrize(("inputs", "outputs"), SWAPS.values(), ids=SWAPS)
def test_a_swap_within_the_rules_passes(inputs, outputs):
    check_swap(inputs, outputs)


@pytest.mark.parametrize(("inputs", "outputs", "error", "index"), REFUSED_SWAPS)
def test_a_swap_against_the_rules_is_refused_with_its_place(
    inputs, outputs, error, index
):
    with pytest.raises(error) as refused:
        check_swap(inputs, outputs)

    assert refused.value.index == index


def test_a_mint_may_hold_as_many_units_as_json_can_say():
    check_mint(a_mint((AMOUNT_MAX - 1, "a"), (1, "b")))


def test_a_mint_may_hold_no_unit_more_than_json_can_say():
    with pytest.raises(TotalTooLargeError):
        check_mint(a_mint((AMOUNT_MAX, "a"), (1, "b")))


def test_a_mint_that_names_a_secret_twice_is_refused_with_its_place():
    with pytest.raises(DuplicateSecretError) as refused:
        check_mint(a_mint((1, "a"), (2, "b"), (3, "a")))

    assert refused.value.index == 2
