"""Amounts: whole numbers from 1 to 2**53 - 1, in one spelling only (contract 2.2 and part 2)."""

import pytest

from tests.support.requests import mint, post, refusal, swap

NOT_AMOUNTS_IN_JSON = {
    "zero": "0",
    "minus zero": "-0",
    "negative": "-1",
    "fraction of nothing": "1.0",
    "fraction": "1.5",
    "exponent": "1e2",
    "large exponent": "1E400",
    "text": '"5"',
    "true": "true",
    "null": "null",
    "array": "[5]",
    "object": "{}",
    "2**53": "9007199254740992",
    "2**63": "9223372036854775808",
    "2**64 + 1": "18446744073709551617",
    "401 digits": "1" + "0" * 400,
}

NOT_JSON = {
    "leading zero": "05",
    "plus sign": "+5",
    "hexadecimal": "0x5",
    "underscore": "1_000",
    "no digit after the point": "5.",
    "not a number": "NaN",
    "infinity": "Infinity",
    "minus infinity": "-Infinity",
    "10,000 digits": "1" + "0" * 10_000,
    "digit of another script": "\u0665",
}

NOT_AMOUNTS_IN_TEXT = {
    "nothing": "",
    "zero": "0",
    "zeros": "000",
    "leading zero": "05",
    "plus sign": "+5",
    "minus sign": "-5",
    "space before": " 5",
    "space after": "5 ",
    "line end": "5\n",
    "underscore": "1_000",
    "comma": "1,000",
    "exponent": "1e2",
    "hexadecimal": "0x5",
    "letter": "a",
    "Arabic-Indic digit": "\u0665",
    "fullwidth digit": "\uff15",
    "mathematical digit": "\U0001d7d3",
    "superscript digit": "\u00b2",
    "2**53": "9007199254740992",
    "17 digits": "10000000000000000",
    "401 digits": "1" + "0" * 400,
    "100,000 digits": "9" * 100_000,
}


def post_text(client, path, text):
    return client.post(path, data=text.encode(), content_type="application/json")


@pytest.mark.parametrize("amount", [1, 9007199254740991])
def test_the_smallest_and_the_largest_amount_are_minted_and_swapped(client, ledger, amount):
    item_id = mint(client, f"+{amount}.a")

    answer = swap(client, [f"+{amount}.{item_id}.a"], [f"+{amount}.{item_id}.b"])

    assert answer.get_json() == {"success": True}
    assert ledger.live(item_id) == [amount]


@pytest.mark.parametrize("text", NOT_AMOUNTS_IN_JSON.values(), ids=NOT_AMOUNTS_IN_JSON)
def test_an_output_object_takes_no_other_amount(client, ledger, text):
    body = f'{{"outputs":[{{"amount":1,"secret":"a"}},{{"amount":{text},"secret":"b"}}]}}'

    answer = post_text(client, "/v1/mint", body)

    assert refusal(answer) == (400, "invalid_request", 1)
    assert answer.get_json()["detail"].startswith("outputs[1].amount: must ")
    assert ledger.operations() == []


@pytest.mark.parametrize("text", NOT_JSON.values(), ids=NOT_JSON)
def test_an_amount_must_be_json(client, ledger, text):
    answer = post_text(client, "/v1/mint", f'{{"outputs":[{{"amount":{text},"secret":"b"}}]}}')

    assert refusal(answer) == (400, "invalid_json", None)
    assert ledger.operations() == []


@pytest.mark.parametrize("text", NOT_AMOUNTS_IN_TEXT.values(), ids=NOT_AMOUNTS_IN_TEXT)
def test_a_string_to_mint_takes_no_other_amount(client, ledger, text):
    answer = post(client, "/v1/mint", {"outputs": ["+1.a", f"+{text}.b"]})

    assert refusal(answer) == (400, "invalid_request", 1)
    assert answer.get_json()["detail"].startswith("outputs[1]: the amount must ")
    assert ledger.operations() == []


@pytest.mark.parametrize("side", ["inputs", "outputs"])
@pytest.mark.parametrize("text", NOT_AMOUNTS_IN_TEXT.values(), ids=NOT_AMOUNTS_IN_TEXT)
def test_a_swap_takes_no_other_amount(client, ledger, side, text):
    item_id = mint(client, "+5.a")
    before = ledger.rows()
    body = {"inputs": [f"+5.{item_id}.a"], "outputs": [f"+5.{item_id}.b"]}

    answer = post(client, "/v1/swap", body | {side: [f"+{text}.{item_id}.a"]})

    assert refusal(answer) == (400, "invalid_request", 0)
    assert answer.get_json()["detail"].startswith(f"{side}[0]: the amount must ")
    assert ledger.rows() == before
