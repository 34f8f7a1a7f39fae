"""Amounts and secrets as they cross HTTP (contract 2.2 and part 2); their grammar apart."""

import json

import pytest

from deeds.domain.raw_output import make_strong_secret
from tests.support.requests import check, mint, refusal, swap

# All alike, to somebody or to some library, and all different secrets.
ALIKE = ["secret", "Secret", "ß", "ss", "i", "\u0131", "a", " a", "a ", " ", "  ", "a b"]
ALIKE += ["a\u00a0b", "a\n", "a\0", "\0", "\0\0", "a\0b", "a\0c", "a\u200b", "\ufeffa"]
ALIKE += ["a\ufe0f", "\u00e9"]
ALIKE += ["e\u0301", "\ufb01", "fi", "\uff41", "\u212b", "\u00c5", "\u0430", "1", "01", "a.", ".a"]
ALIKE += ["+a", "a%20b", "a+b", "\\", "\\\\", "\ufffd", "\ufffe", "\U0001f3e1", "\U0001f3e0"]

LONGEST = ["x" * 32, "é" * 32, "\U0001f3e1" * 32, "e\u0301" * 16, "\0" * 32, "." * 32]
LONGEST += ["\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d" * 5 + "ab"]
LONGEST += ["\U0010ffff\uffff\ud7ff\ue000" * 8]

NO_AMOUNTS_IN_JSON = ["0", "-0", "-1", "1.0", "1.5", "1e2", "1E400", '"5"', "true", "null", "[5]"]
NO_AMOUNTS_IN_JSON += ["{}", "9007199254740992", "9223372036854775808", "18446744073709551617"]
NO_AMOUNTS_IN_JSON += ["1" + "0" * 400]


@pytest.mark.parametrize("text", NO_AMOUNTS_IN_JSON, ids=lambda text: text[:20])
def test_an_output_object_takes_no_other_amount(client, ledger, text):
    body = f'{{"outputs":[{{"amount":1,"secret":"a"}},{{"amount":{text},"secret":"b"}}]}}'

    answer = client.post("/v1/mint", data=body, content_type="application/json")

    assert refusal(answer) == (400, "invalid_request", 1)
    assert answer.get_json()["detail"].startswith("outputs[1].amount: must ")
    assert ledger.operations() == []


def test_secrets_that_look_alike_are_different(client, ledger):
    assert len(set(ALIKE)) == len(ALIKE)
    item_id = mint(client, *(f"+{n}..{secret}" for n, secret in enumerate(ALIKE, 1)))
    raws = [f"+{n}.{item_id}.{secret}" for n, secret in enumerate(ALIKE, 1)]
    others = [f"+{n}.{item_id}.{secret}" for n, secret in enumerate(ALIKE[1:] + ALIKE[:1], 1)]

    assert check(client, *raws) == ["unspent"] * len(raws)
    assert check(client, *others) == ["unknown"] * len(others)
    assert swap(
        client, raws[::2], [f"+{sum(range(1, len(ALIKE) + 1, 2))}.{item_id}.new"]
    ).get_json()
    assert check(client, *raws) == ["spent" if n % 2 == 0 else "unspent" for n in range(len(raws))]


def test_secrets_of_32_code_points_are_minted_repeated_exactly_and_spent(client, ledger):
    assert {len(secret) for secret in LONGEST} == {32}
    objects = [{"amount": 5, "secret": secret} for secret in LONGEST]
    unescaped = json.dumps({"outputs": objects}, ensure_ascii=False).encode()

    minted = client.post("/v1/mint", data=unescaped, content_type="application/json").get_json()

    item_id = minted["itemId"]
    assert [each["secret"] for each in minted["outputs"]] == LONGEST
    assert minted["rawOutputs"] == [f"+5.{item_id}.{secret}" for secret in LONGEST]
    answer = swap(client, minted["rawOutputs"], [f"+{5 * len(LONGEST)}.{item_id}.short"])
    assert answer.get_json() == {"success": True}


def test_a_strong_secret_is_spent_like_any_other_and_compared_exactly(client, ledger):
    strong, stronger = make_strong_secret(), make_strong_secret()
    item_id = mint(client, "+5.weak")
    changed = ("1" if strong[0] == "0" else "0") + strong[1:]

    moved = [swap(client, [f"+5.{item_id}.weak"], [f"+5.{item_id}.{strong}"])]
    states = check(client, f"+5.{item_id}.{changed}", f"+5.{item_id}.{strong.upper()}")
    moved.append(swap(client, [f"+5.{item_id}.{strong}"], [f"+5.{item_id}.{stronger}"]))
    moved.append(swap(client, [f"+5.{item_id}.{stronger}"], [f"+5.{item_id}.weaker"]))

    assert states == ["unknown", "unknown"]
    assert [answer.get_json() for answer in moved] == [{"success": True}] * 3
    assert (ledger.spent(item_id), ledger.live(item_id)) == ([5, 5, 5], [5])
