"""What a client is told of a raw output or a secret that is refused: whole sentences."""

import pytest

from deeds.domain.errors import DuplicateSecretError, RawOutputError
from deeds.domain.model import MintRequest, NewOutput, RawOutput, SwapRequest
from deeds.domain.raw_output import parse_mint_output, parse_raw_output
from deeds.domain.rules import check_mint, check_swap

RAW = {
    "": "a raw output starts with +",
    " +5.deed_x.a": "a raw output starts with +",
    "5.deed_x.a": "a raw output starts with +",
    "+": "a dot must follow the amount",
    "+5": "a dot must follow the amount",
    "+5.deed_x": "a raw output has three parts: +<amount>.<item_id>.<secret>",
    "+5..a": "the item id must start with deed_",
    "+5.DEED_x.a": "the item id must start with deed_",
    "+1.5.deed_x.a": "the item id must start with deed_",
    "+0.deed_x.a": "the amount must be a whole number from 1, in digits alone",
    "+9007199254740992.deed_x.a": "the amount must be at most 9007199254740991",
    "+5.deed_x.": "the secret must have 1 to 32 characters",
    "+5.deed_\ud800.a": "the item id holds a lone surrogate, which no UTF-8 text can hold",
    "+5.deed_x.\ud800": "the secret holds a lone surrogate, which no UTF-8 text can hold",
}
MINT = {
    "5.a": "a raw output starts with +",
    "+5": "a dot must follow the amount",
    "+05.a": "the amount must be a whole number from 1, in digits alone",
    "+5.deed_x.": "the secret must have 1 to 32 characters",
    "+5." + "x" * 33: "the secret must have 1 to 32 characters",
}


@pytest.mark.parametrize(
    ("parse", "text", "sentence"),
    [(parse_raw_output, *each) for each in RAW.items()]
    + [(parse_mint_output, *each) for each in MINT.items()],
)
def test_a_text_that_is_refused_is_told_its_part_at_fault(parse, text, sentence):
    with pytest.raises(RawOutputError) as refused:
        parse(text)

    assert str(refused.value) == sentence


def test_a_request_that_names_a_secret_twice_is_told_so():
    raw = RawOutput(1, "deed_x", "a")

    with pytest.raises(DuplicateSecretError) as in_a_mint:
        check_mint(MintRequest((NewOutput(1, "a"), NewOutput(1, "a")), None))
    with pytest.raises(DuplicateSecretError) as in_a_swap:
        check_swap(SwapRequest((raw,), (raw,)))

    assert in_a_mint.value.detail == "this secret is named twice in the mint"
    assert in_a_swap.value.detail == (
        "this output needs a secret of its own: another input or output of the swap has it"
    )
