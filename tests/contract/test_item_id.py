"""Item ids: `deed_` and 26 characters of Crockford base32."""

import pytest

from deeds.domain.raw_output import BASE32_ALPHABET, encode_base32, is_item_id, make_item_id

BODY = "0123456789abcdefghjkmnpqrs"

REFUSED = {
    "prefix missing": BODY,
    "prefix alone": "deed_",
    "prefix in upper case": f"DEED_{BODY}",
    "one short": f"deed_{BODY[:-1]}",
    "one long": f"deed_{BODY}0",
    "upper case": f"deed_{BODY.upper()}",
    "letter i": f"deed_{BODY[:-1]}i",
    "letter l": f"deed_{BODY[:-1]}l",
    "letter o": f"deed_{BODY[:-1]}o",
    "letter u": f"deed_{BODY[:-1]}u",
    "dot": f"deed_{BODY[:-1]}.",
    "line end": f"deed_{BODY}\n",
    "space before": f" deed_{BODY}",
    "NUL": f"deed_{BODY[:-1]}\0",
    "digits of another script": f"deed_{BODY[:-1]}\u0661",
    "surrogate": f"deed_{BODY[:-1]}\ud800",
    "empty": "",
}


def test_made_ids_are_ids_different_and_of_the_alphabet():
    made = [make_item_id() for _ in range(1000)]

    assert all(is_item_id(item_id) for item_id in made)
    assert len(set(made)) == len(made)
    assert set("".join(item_id.removeprefix("deed_") for item_id in made)) == set(BASE32_ALPHABET)


def test_a_known_id_stays_one():
    assert is_item_id(f"deed_{BODY}")


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_other_texts_are_no_item_id(text):
    assert not is_item_id(text)


@pytest.mark.parametrize(
    ("number", "length", "expected"),
    [(0, 3, "000"), (31, 1, "z"), (32, 2, "10"), (2**15 - 1, 3, "zzz"), (2**130 - 1, 26, "z" * 26)],
)
def test_base32_writes_the_highest_group_first(number, length, expected):
    assert encode_base32(number, length) == expected
