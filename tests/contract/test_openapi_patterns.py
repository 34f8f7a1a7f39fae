"""The patterns of the OpenAPI document take what the code takes, and nothing else."""

import pytest

from deeds.domain.errors import RawOutputError
from deeds.domain.model import AMOUNT_MAX
from deeds.domain.raw_output import is_item_id, make_item_id, parse_mint_output, parse_raw_output
from tests.support.openapi import faults, read_document

ITEM_ID = "deed_" + 26 * "0"


@pytest.fixture
def database_url(sqlite_url):
    """One kind of database will do here."""
    return sqlite_url


@pytest.fixture
def document(client):
    return read_document(client)


def amounts_near_the_bounds():
    """Return amounts that differ from the largest in one digit, and powers of ten about it."""
    digits = str(AMOUNT_MAX)
    changed = {
        int(digits[:index] + digit + digits[index + 1 :])
        for index in range(len(digits))
        for digit in "0123456789"
    }
    return sorted(changed | {10**exponent for exponent in range(18)})


def parses(parse, text):
    try:
        parse(text)
    except RawOutputError:
        return False
    return True


TEXTS = [
    f"+5.{ITEM_ID}.secret",
    f"+5.{ITEM_ID}..a.+b",
    f"+5.{ITEM_ID}.{32 * 'ß'}",
    f"+5.{ITEM_ID}.{33 * 'a'}",
    f"+5.{ITEM_ID}.line\nbreak",
    f"+5.{ITEM_ID}.",
    f"+5.{ITEM_ID}",
    "+5.deed_.secret",
    "+5.item.secret",
    "+5..secret",
    f"+5..{33 * 'a'}",
    "+5.secret",
    f"+5.{33 * 'a'}",
    "+5.a.b.c",
    "+5.+5.deed_",
    "+5.",
    "+5",
    f"5.{ITEM_ID}.secret",
    f"+05.{ITEM_ID}.secret",
    f"+-5.{ITEM_ID}.secret",
    f"+5.0.{ITEM_ID}.secret",
    f"+\N{ARABIC-INDIC DIGIT FIVE}.{ITEM_ID}.secret",
    "+1e3.secret",
    "",
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_patterns_of_raw_and_mint_outputs_agree_with_the_parsers(document, text):
    schemas = document["components"]["schemas"]
    raw_output = schemas["CheckRequest"]["properties"]["outputs"]["items"]
    mint_output = schemas["MintRequest"]["properties"]["outputs"]["oneOf"][0]["items"]

    assert (faults(document, raw_output, text) == []) is parses(parse_raw_output, text)
    assert (faults(document, mint_output, text) == []) is parses(parse_mint_output, text)


def test_the_patterns_bound_amounts_as_the_parser_does(document):
    schemas = document["components"]["schemas"]
    raw_output = schemas["CheckRequest"]["properties"]["outputs"]["items"]
    mint_output = schemas["MintRequest"]["properties"]["outputs"]["oneOf"][0]["items"]

    amounts = amounts_near_the_bounds()

    allowed = [amount for amount in amounts if 1 <= amount <= AMOUNT_MAX]
    for schema, rest in ((raw_output, f".{ITEM_ID}.a"), (mint_output, ".a")):
        fit = [each for each in amounts if not faults(document, schema, f"+{each}{rest}")]
        assert fit == allowed


@pytest.mark.parametrize(
    "text", [make_item_id(), ITEM_ID, ITEM_ID + "0", ITEM_ID[:-1], "deed_" + 26 * "l", ITEM_ID[5:]]
)
def test_the_pattern_of_item_ids_agrees_with_the_code(document, text):
    schema = document["components"]["schemas"]["Item"]["properties"]["id"]

    assert (faults(document, schema, text) == []) is is_item_id(text)
