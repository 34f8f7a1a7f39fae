"""The rules that need no ledger: duplicates, totals and balance."""

import pytest

from deeds.domain.errors import (
    DuplicateInputError,
    DuplicateSecretError,
    TotalTooLargeError,
    UnbalancedError,
)
from deeds.domain.model import AMOUNT_MAX, MintRequest, NewOutput, SwapRequest
from deeds.domain.raw_output import parse_raw_output
from deeds.domain.rules import check_mint, check_swap

GOOD_SWAPS = {
    "hand over": (["+5.deed_x.a"], ["+5.deed_x.b"]),
    "split": (["+5.deed_x.a"], ["+2.deed_x.b", "+3.deed_x.c"]),
    "merge": (["+2.deed_x.a", "+3.deed_x.b"], ["+5.deed_x.c"]),
    "trade": (["+5.deed_x.a", "+7.deed_y.b"], ["+7.deed_y.c", "+5.deed_x.d"]),
    "one secret in two items": (["+5.deed_x.a", "+7.deed_y.a"], ["+7.deed_y.b", "+5.deed_x.b"]),
    "all there is": ([f"+{AMOUNT_MAX}.deed_x.a"], [f"+{AMOUNT_MAX - 1}.deed_x.b", "+1.deed_x.c"]),
    "secrets that look alike": (["+5.deed_x.a"], ["+2.deed_x.A", "+3.deed_x.a "]),
}

BAD_SWAPS = {
    "input twice": (["+5.deed_x.a", "+5.deed_x.a"], ["+10.deed_x.b"], DuplicateInputError, 1),
    "input twice, other amount": (
        ["+5.deed_x.a", "+1.deed_y.a", "+6.deed_x.a"],
        ["+11.deed_x.b", "+1.deed_y.b"],
        DuplicateInputError,
        2,
    ),
    "output twice": (
        ["+5.deed_x.a"],
        ["+2.deed_x.b", "+3.deed_x.b"],
        DuplicateSecretError,
        1,
    ),
    "output has the secret of an input": (
        ["+5.deed_x.a"],
        ["+2.deed_x.b", "+3.deed_x.a"],
        DuplicateSecretError,
        1,
    ),
    "one unit more": (["+5.deed_x.a"], ["+6.deed_x.b"], UnbalancedError, None),
    "one unit less": (["+5.deed_x.a"], ["+4.deed_x.b"], UnbalancedError, None),
    "another item": (["+5.deed_x.a"], ["+5.deed_y.b"], UnbalancedError, None),
    "only the sum over all items is right": (
        ["+5.deed_x.a", "+5.deed_y.a"],
        ["+6.deed_x.b", "+4.deed_y.b"],
        UnbalancedError,
        None,
    ),
    "an item of the outputs has no input": (
        ["+5.deed_x.a"],
        ["+5.deed_x.b", "+1.deed_y.b"],
        UnbalancedError,
        None,
    ),
    "an item of the inputs has no output": (
        ["+5.deed_x.a", "+1.deed_y.a"],
        ["+5.deed_x.b"],
        UnbalancedError,
        None,
    ),
    "item ids in another case": (["+5.deed_x.a"], ["+5.deed_X.b"], UnbalancedError, None),
}


def a_swap(inputs, outputs):
    return SwapRequest(
        tuple(parse_raw_output(text) for text in inputs),
        tuple(parse_raw_output(text) for text in outputs),
    )


def a_mint(*outputs):
    return MintRequest(tuple(NewOutput(*output) for output in outputs), None)


@pytest.mark.parametrize(("inputs", "outputs"), GOOD_SWAPS.values(), ids=GOOD_SWAPS.keys())
def test_a_swap_within_the_rules_passes(inputs, outputs):
    check_swap(a_swap(inputs, outputs))


@pytest.mark.parametrize(
    ("inputs", "outputs", "error", "index"), BAD_SWAPS.values(), ids=BAD_SWAPS.keys()
)
def test_a_swap_against_the_rules_is_refused_with_its_place(inputs, outputs, error, index):
    with pytest.raises(error) as refused:
        check_swap(a_swap(inputs, outputs))
    assert refused.value.index == index


def test_a_mint_may_hold_as_many_units_as_json_can_say():
    check_mint(a_mint((AMOUNT_MAX - 1, "a"), (1, "b")))


def test_a_mint_of_one_unit_more_is_refused():
    with pytest.raises(TotalTooLargeError):
        check_mint(a_mint((AMOUNT_MAX, "a"), (1, "b")))


def test_a_mint_that_names_a_secret_twice_is_refused_with_its_place():
    with pytest.raises(DuplicateSecretError) as refused:
        check_mint(a_mint((1, "a"), (2, "b"), (3, "a")))
    assert refused.value.index == 2
