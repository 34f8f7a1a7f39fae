"""The grammar of raw outputs (contract 2.1 and part 2)."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deeds.domain.errors import RawOutputError
from deeds.domain.model import AMOUNT_MAX, NewOutput, RawOutput
from deeds.domain.raw_output import parse_mint_output, parse_raw_output

SECRET_MARK = "mark-7c1f9e"

# Texts that are close to a raw output: its own characters, in any order and number.
NEARLY = st.text(alphabet="+.0123456789deed_aé\u0661\ud800\n ", max_size=60)
ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=60)
AMOUNTS = st.integers(1, AMOUNT_MAX)
WHOLE = st.characters(exclude_categories=["Cs"])
SECRETS = st.text(WHOLE, min_size=1, max_size=32)
ITEM_IDS = st.text(WHOLE.filter(lambda each: each != "."), max_size=40).map("deed_".__add__)

REFUSED = {
    "empty": "",
    "plus alone": "+",
    "no plus": "5.deed_x.a",
    "minus": "-5.deed_x.a",
    "space before": " +5.deed_x.a",
    "two pluses": "++5.deed_x.a",
    "amount missing": "+.deed_x.a",
    "zero": "+0.deed_x.a",
    "leading zero": "+05.deed_x.a",
    "negative": "+-5.deed_x.a",
    "fraction": "+1.5.deed_x.a",
    "exponent": "+1e2.deed_x.a",
    "hexadecimal": "+0x5.deed_x.a",
    "underscore": "+1_0.deed_x.a",
    "space in amount": "+5 .deed_x.a",
    "line end in amount": "+5\n.deed_x.a",
    "digits of another script": "+\u0665.deed_x.a",
    "superscript": "+\u00b2.deed_x.a",
    "one too many": f"+{AMOUNT_MAX + 1}.deed_x.a",
    "17 digits": "+10000000000000000.deed_x.a",
    "endless digits": f"+{'9' * 100_000}.deed_x.a",
    "amount alone": "+5",
    "two parts": "+5.deed_x",
    "item id missing": "+5..a",
    "item id without prefix": "+5.x.a",
    "item id in upper case": "+5.DEED_x.a",
    "space before item id": "+5. deed_x.a",
    "secret missing": "+5.deed_x.",
    "secret of 33": f"+5.deed_x.{'a' * 33}",
    "surrogate in secret": "+5.deed_x.\ud800",
    "surrogate in item id": "+5.deed_\udfff.a",
    "surrogate in amount": "+5\ud800.deed_x.a",
}

MINT_FORMS = {
    "item id left out": ("+5.a", NewOutput(5, "a")),
    "dot in secret": ("+5.a.b", NewOutput(5, "a.b")),
    "secret ends with a dot": ("+5.a.", NewOutput(5, "a.")),
    "plus in secret": ("+5.+5.a", NewOutput(5, "+5.a")),
    "item id empty": ("+5..a", NewOutput(5, "a")),
    "item id empty, dot in secret": ("+5..a.b", NewOutput(5, "a.b")),
    "item id empty, secret begins with a dot": ("+5...a", NewOutput(5, ".a")),
    "placeholder": ("+5.deed_anything.a", NewOutput(5, "a")),
    "placeholder, dots in secret": ("+5.deed_x.a.b.", NewOutput(5, "a.b.")),
    "placeholder is the prefix alone": ("+5.deed_.a", NewOutput(5, "a")),
    "placeholder of odd characters": ("+5.deed_é +.a", NewOutput(5, "a")),
    "secret like a placeholder": ("+5.deed_x", NewOutput(5, "deed_x")),
    "secret like half a placeholder": ("+5.deed.x", NewOutput(5, "deed.x")),
    "placeholder in upper case": ("+5.DEED_x.a", NewOutput(5, "DEED_x.a")),
    "secret of spaces": ("+5.  ", NewOutput(5, "  ")),
    "secret of 32": (f"+5.{'é' * 32}", NewOutput(5, "é" * 32)),
    "largest amount": (f"+{AMOUNT_MAX}.a", NewOutput(AMOUNT_MAX, "a")),
}

MINT_REFUSED = {
    "no plus": "5.a",
    "amount alone": "+5",
    "zero": "+0.a",
    "leading zero": "+05.a",
    "amount missing": "+.a",
    "secret missing": "+5.",
    "secret missing after empty id": "+5..",
    "secret missing after placeholder": "+5.deed_x.",
    "secret of 33": f"+5.{'a' * 33}",
    "secret of 33 after placeholder": f"+5.deed_x.{'a' * 33}",
    "one too many": f"+{AMOUNT_MAX + 1}.a",
    "surrogate": "+5.\udc80",
}


@given(AMOUNTS, ITEM_IDS, SECRETS)
def test_every_raw_output_is_written_and_read_back(amount, item_id, secret):
    raw = RawOutput(amount, item_id, secret)

    assert parse_raw_output(str(raw)) == raw


@given(NEARLY | NEARLY.map("+5.deed_".__add__) | ANY_TEXT)
@example("+5.deed_x.a.b+")
@example("+5.deed_x. ")
def test_a_text_is_refused_or_has_exactly_one_value(text):
    try:
        raw = parse_raw_output(text)
    except RawOutputError:
        return
    assert str(raw) == text
    assert 1 <= raw.amount <= AMOUNT_MAX
    assert 1 <= len(raw.secret.encode("utf-8")) <= 4 * 32
    assert raw.item_id.startswith("deed_")


@given(NEARLY | NEARLY.map("+5.".__add__) | ANY_TEXT)
def test_a_mint_text_is_refused_or_gives_what_can_be_minted(text):
    try:
        new = parse_mint_output(text)
    except RawOutputError:
        return
    assert text.startswith(f"+{new.amount}.")
    assert text.endswith(new.secret)
    assert parse_raw_output(f"+{new.amount}.deed_x.{new.secret}").secret == new.secret


def test_the_secret_is_all_that_remains_after_two_dots():
    assert parse_raw_output("+5.deed_x..a.+b.") == RawOutput(5, "deed_x", ".a.+b.")


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_other_texts_are_no_raw_output(text):
    with pytest.raises(RawOutputError):
        parse_raw_output(text)


@pytest.mark.parametrize(("text", "expected"), MINT_FORMS.values(), ids=MINT_FORMS.keys())
def test_a_mint_takes_three_forms(text, expected):
    assert parse_mint_output(text) == expected


@pytest.mark.parametrize("text", MINT_REFUSED.values(), ids=MINT_REFUSED.keys())
def test_other_texts_are_no_mint_output(text):
    with pytest.raises(RawOutputError):
        parse_mint_output(text)


@pytest.mark.parametrize(
    "text",
    [
        f"+5.{SECRET_MARK}.a",
        f"+{SECRET_MARK}.deed_x.a",
        f"{SECRET_MARK}",
        f"+5.deed_x.{SECRET_MARK * 4}",
        f"+5.deed_x.{SECRET_MARK}\ud800",
        f"+5.deed_{SECRET_MARK}\ud800.a",
    ],
)
def test_the_message_never_quotes_the_text(text):
    with pytest.raises(RawOutputError) as refused:
        parse_raw_output(text)
    assert SECRET_MARK not in str(refused.value)


def test_the_repr_of_what_holds_a_secret_hides_it():
    raw, new = RawOutput(5, "deed_x", SECRET_MARK), NewOutput(5, SECRET_MARK)

    assert (repr(raw), repr(new)) == (
        "RawOutput(amount=5, item_id='deed_x')",
        "NewOutput(amount=5)",
    )
