"""The grammar of raw outputs, item ids (contract 2.1) and strong secrets.

By examples and by fuzzing, for which the contract's words are written down a second
time, in another way: both must agree.
"""

import json
import re
import secrets
from functools import partial

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from deeds.model import AMOUNT_MAX, NewOutput, RawOutput
from deeds.raw_output import (
    BASE32_ALPHABET,
    ITEM_ID_PREFIX,
    RawOutputError,
    is_id,
    is_strong_secret,
    make_id,
    make_strong_secret,
    parse_mint_output,
    parse_raw_output,
    parse_text,
)
from tests.contract.mutating import ANY_TEXT, TEXT_PIECES, near_misses
from tests.support.sources import read_text

# No amount as text: not ASCII digits alone, a leading zero, or above 2**53 - 1.
NO_AMOUNTS = ["", "0", "000", "05", "+5", "-5", " 5", "5 ", "5\n", "1_000", "1,000"]
NO_AMOUNTS += ["1e2", "0x5", "a", "\u0665", "\uff15", "\U0001d7d3", "\u00b2", "5\ud800"]
NO_AMOUNTS += ["9007199254740992", "10000000000000000", "1" + "0" * 400, "9" * 100_000]

NO_SECRETS = ["", "a" * 33, "\U0001f3e1" * 33, "e\u0301" * 17, "\ud800", "a\udfff"]
NO_SECRETS += ["a" * 1_000_000]

MAKE_ID = partial(make_id, ITEM_ID_PREFIX, secrets.token_bytes)

SURROGATE = "holds a lone surrogate, which no UTF-8 text can hold"

# What a client is told of its part at fault.
REFUSED_RAW_OUTPUTS = {
    "": "a raw output starts with +",
    " +5.deed_x.a": "a raw output starts with +",
    "+": "a dot must follow the amount",
    "+5": "a dot must follow the amount",
    "+5.deed_x": "a raw output has three parts: +<amount>.<item_id>.<secret>",
    "+5..a": "the item id must start with deed_",
    "+1.5.deed_x.a": "the item id must start with deed_",
    "+0.deed_x.a": "the amount must be a whole number from 1, in digits alone",
    "+9007199254740992.deed_x.a": "the amount must be at most 9007199254740991",
    "+5.deed_x.": "the secret must have 1 to 32 characters",
    "+5.deed_\ud800.a": f"the item id {SURROGATE}",
    "+5.deed_x.\ud800": f"the secret {SURROGATE}",
}
REFUSED_MINT_OUTPUTS = {
    "5.a": "a raw output starts with +",
    "+5": "a dot must follow the amount",
    "+05.a": "the amount must be a whole number from 1, in digits alone",
    "+5.deed_x.": "the secret must have 1 to 32 characters",
}

MINT_OUTPUTS_SECRETS = {
    "+5.a.b.": "a.b.",
    "+5.+5.a": "+5.a",
    # The item id may be empty, or a placeholder that starts with deed_.
    "+5...a": ".a",
    "+5.deed_anything.a": "a",
    "+5.deed_.a": "a",
    "+5.deed_x": "deed_x",
    "+5.deed.x": "deed.x",
    f"+5.{' é' * 16}": " é" * 16,
}

BODY = "0123456789abcdefghjkmnpqrs"
NO_ITEM_IDS = [BODY, "deed_", f"DEED_{BODY}", f"deed_{BODY[:-1]}", f"deed_{BODY}0", ""]
NO_ITEM_IDS += [f"deed_{BODY.upper()}", f"deed_{BODY}\n", f" deed_{BODY}"]
NO_ITEM_IDS += [f"deed_{BODY[:-1]}{end}" for end in "Xilou.\0\u0661\ud800"]

# The page's own code is held to the same file. If one of its strong secrets ceases to
# be strong, wallets that exist become slow: each is a fixed body and its checksum.
STRONG_SECRETS = json.loads(read_text("tests/support/strong_secrets.json"))


# What parses a text, and its form for an amount and a secret.
FORMS = [
    (parse_raw_output, "+{}.deed_x.{}"),
    (parse_mint_output, "+{}.{}"),
    (parse_mint_output, "+{}..{}"),
]


def test_the_secret_is_all_that_remains_after_two_dots():
    raw = parse_raw_output("+5.deed_x..a.+b.")

    assert raw == RawOutput(5, "deed_x", ".a.+b.")
    assert str(raw) == "+5.deed_x..a.+b."


@pytest.mark.parametrize(
    ("parse", "text", "sentence"),
    [(parse_raw_output, *each) for each in REFUSED_RAW_OUTPUTS.items()]
    + [(parse_mint_output, *each) for each in REFUSED_MINT_OUTPUTS.items()]
    + [(parse_text, "\udfff", f"the text {SURROGATE}")],
)
def test_a_text_that_is_refused_is_told_its_part_at_fault(parse, text, sentence):
    with pytest.raises(RawOutputError) as refused:
        parse(text)

    assert str(refused.value) == sentence


@pytest.mark.parametrize("amount", NO_AMOUNTS)
@pytest.mark.parametrize(("parse", "form"), FORMS)
def test_an_amount_has_one_spelling(parse, form, amount):
    with pytest.raises(RawOutputError, match="the amount must"):
        parse(form.format(amount, "a"))


@pytest.mark.parametrize("secret", NO_SECRETS)
@pytest.mark.parametrize(("parse", "form"), FORMS)
def test_a_secret_has_1_to_32_code_points(parse, form, secret):
    with pytest.raises(RawOutputError, match="the secret"):
        parse(form.format(5, secret))


@pytest.mark.parametrize(("text", "secret"), MINT_OUTPUTS_SECRETS.items())
def test_a_mint_takes_three_forms(text, secret):
    assert parse_mint_output(text) == NewOutput(5, secret)


@pytest.mark.parametrize(
    ("make", "fits", "length"),
    [
        (MAKE_ID, partial(is_id, ITEM_ID_PREFIX), 31),
        (make_strong_secret, is_strong_secret, 32),
    ],
    ids=["item id", "strong secret"],
)
def test_what_is_made_fits_its_form_and_is_different_each_time(make, fits, length):
    made = [make() for _ in range(1000)]

    assert all(fits(text) and len(text) == length for text in made)
    assert len(set(made)) == len(made)
    letters = "".join(text.removeprefix("deed_") for text in made)
    assert set(letters) == set(BASE32_ALPHABET)


@pytest.mark.parametrize("text", NO_ITEM_IDS)
def test_other_texts_are_no_item_id(text):
    assert not is_id(ITEM_ID_PREFIX, text)


@pytest.mark.parametrize(
    "text", STRONG_SECRETS["not_strong"].values(), ids=STRONG_SECRETS["not_strong"]
)
def test_other_texts_are_no_strong_secret(text):
    assert not is_strong_secret(text)


@pytest.mark.parametrize("secret", STRONG_SECRETS["strong"])
def test_a_strong_secret_with_a_slip_is_not_strong(secret):
    changed = {
        secret[:place] + other + secret[place + 1 :]
        for place in range(len(secret))
        for other in BASE32_ALPHABET
    }
    swapped = {
        secret[:place] + secret[place + 1] + secret[place] + secret[place + 2 :]
        for place in range(len(secret) - 1)
    }

    assert [each for each in changed | swapped if is_strong_secret(each)] == [secret]


# Contract 2.1.
_AMOUNT = r"\+(?P<amount>[1-9][0-9]{0,15})\."
_SECRET = r"(?P<secret>[^\ud800-\udfff]{1,32})"
RAW_OUTPUT = re.compile(
    rf"{_AMOUNT}(?P<item_id>deed_[^.\ud800-\udfff]*)\.{_SECRET}", re.DOTALL
)
# What may be in place of the item id is that, wherever the text begins so.
MINT_OUTPUT = re.compile(rf"{_AMOUNT}(?:(?:deed_[^.]*)?\.)?+{_SECRET}", re.DOTALL)

AMOUNTS = st.integers(1, AMOUNT_MAX) | st.sampled_from([9, 10])
IDS = st.sampled_from(["", "deed_", "deed_x", "deed_" + 26 * "0", "deed", "DEED_x"])
SECRETS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=32)
LONG_SECRETS = st.sampled_from(["\U0001f600" * 32, "\U0001f600" * 33, "deed_x.a"])
GOOD_TEXTS = st.builds("+{}.{}.{}".format, AMOUNTS, IDS, SECRETS | LONG_SECRETS)
TEXTS = GOOD_TEXTS | near_misses(GOOD_TEXTS, TEXT_PIECES) | ANY_TEXT


@pytest.mark.soak(share=0.5)
@examples(max_examples=400, deadline=None)
@pytest.mark.parametrize(
    ("parse", "pattern", "kind"),
    [
        (parse_raw_output, RAW_OUTPUT, RawOutput),
        (parse_mint_output, MINT_OUTPUT, NewOutput),
    ],
)
@given(text=TEXTS)
def test_a_text_is_of_the_form_of_the_contract_or_refused(parse, pattern, kind, text):
    match = pattern.fullmatch(text)

    if match and (amount := int(match["amount"])) <= AMOUNT_MAX:
        assert parse(text) == kind(**match.groupdict() | {"amount": amount})
    else:
        with pytest.raises(RawOutputError):
            parse(text)
