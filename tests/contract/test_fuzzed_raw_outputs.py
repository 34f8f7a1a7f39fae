"""Whatever text the grammar of raw outputs gets: the value that the contract names, or one error.

The contract's words are written down a second time here, in another way, and both must agree.
"""

import re

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from deeds.domain.errors import RawOutputError
from deeds.domain.model import AMOUNT_MAX, NewOutput, RawOutput
from deeds.domain.raw_output import parse_mint_output, parse_raw_output
from tests.support.mutating import ANY_TEXT, near_texts

pytestmark = pytest.mark.soak(share=0.5)

MANY = examples(max_examples=400, deadline=None)

# Contract 2.1 and part 2.
_AMOUNT = r"\+(?P<amount>[1-9][0-9]{0,15})\."
_SECRET = r"(?P<secret>[^\ud800-\udfff]{1,32})"
RAW_OUTPUT = re.compile(rf"{_AMOUNT}(?P<item_id>deed_[^.\ud800-\udfff]*)\.{_SECRET}", re.DOTALL)
MINT_OUTPUTS = [  # The first that begins as the text does is meant.
    re.compile(rf"{_AMOUNT}(?=(?:deed_[^.]*)?\.)(?:deed_[^.]*)?\.{_SECRET}", re.DOTALL),
    re.compile(rf"{_AMOUNT}(?!(?:deed_[^.]*)?\.){_SECRET}", re.DOTALL),
]

AMOUNTS = st.integers(1, AMOUNT_MAX) | st.sampled_from([1, 9, 10, AMOUNT_MAX])
SECRETS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=32) | (
    st.sampled_from(["a" * 32, "\U0001f600" * 32, ".", "+", "deed_x.a"])
)
IDS = st.sampled_from(["", "deed_", "deed_x", "deed_" + 26 * "0", "deed", "DEED_x", "+5"])
GOOD = st.builds("+{}.{}.{}".format, AMOUNTS, IDS, SECRETS)

ODD_AMOUNTS = st.sampled_from(["", "0", "05", "-5", "5 ", "\u0665", f"{AMOUNT_MAX + 1}", "9" * 17])
ODD_SECRETS = st.sampled_from(["", "a" * 33, "\U0001f600" * 33, "a\ud800"]) | ANY_TEXT
ODD_IDS = ANY_TEXT | ANY_TEXT.map("deed_".__add__)
PARTS = (AMOUNTS | ODD_AMOUNTS, IDS | ODD_IDS, SECRETS | ODD_SECRETS)
TEXTS = (
    st.builds("+{}.{}.{}".format, *PARTS)
    | st.builds("+{}.{}".format, PARTS[0], PARTS[2])
    | near_texts(GOOD)
    | ANY_TEXT
)


def parsed(parse, text):
    """Return what it makes of the text, None where it refuses; any other error goes on."""
    try:
        return parse(text)
    except RawOutputError as error:
        assert_fit_for_an_answer(str(error), text)
        return None


def assert_fit_for_an_answer(message, text):
    """Assert that a message is one short line of ASCII, the same for every text at fault."""
    assert message.isascii()
    assert message.isprintable()
    assert len(message) < 100
    assert len(text) < 8 or text not in message


def amount_of(match):
    return int(match["amount"])


@MANY
@given(TEXTS)
def test_a_raw_output_is_what_the_contract_says_or_refused(text):
    match = RAW_OUTPUT.fullmatch(text)
    fits = match is not None and amount_of(match) <= AMOUNT_MAX
    expected = RawOutput(amount_of(match), match["item_id"], match["secret"]) if fits else None

    raw = parsed(parse_raw_output, text)

    assert raw == expected
    assert raw is None or str(raw) == text


@MANY
@given(TEXTS)
def test_a_mint_output_is_what_the_contract_says_or_refused(text):
    match = next((found for form in MINT_OUTPUTS if (found := form.fullmatch(text))), None)
    fits = match is not None and amount_of(match) <= AMOUNT_MAX
    expected = NewOutput(amount_of(match), match["secret"]) if fits else None

    assert parsed(parse_mint_output, text) == expected


@MANY
@given(GOOD)
def test_good_texts_are_not_all_refused(text):
    """Otherwise the two tests above would agree on nothing."""
    _amount, item_id, secret = text[1:].split(".", 2)

    raw, new = parsed(parse_raw_output, text), parsed(parse_mint_output, text)

    assert (raw is not None) == item_id.startswith("deed_")
    assert new is not None or len(f"{item_id}.{secret}") > 32
