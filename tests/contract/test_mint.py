"""POST /v1/mint (contract 4.1).

What its body may hold is in test_request_schemas.py.
"""

import json
import re

import pytest

from tests.support.api import good, refusal

# All alike, to somebody or to some library, and all different secrets.
ALIKE = ["secret", "Secret", "ß", "ss", "i", "\u0131", "a", " a", "a ", " ", "  "]
ALIKE += ["a b", "a\u00a0b", "a\n", "a\0", "\0", "\0\0", "a\0b", "a\0c", "a\u200b"]
ALIKE += ["\ufeffa", "a\ufe0f", "\u00e9", "e\u0301", "\ufb01", "fi", "\uff41"]
ALIKE += ["\u212b", "\u00c5", "\u0430", "1", "01", "a.", ".a", "+a", "a%20b", "a+b"]
ALIKE += ["\\", "\\\\", "\ufffd", "\ufffe", "\U0001f3e1", "\U0001f3e0"]

# Of 32 code points, the most there may be.
LONGEST = ["x" * 32, "é" * 32, "\U0001f3e1" * 32, "e\u0301" * 16, "\0" * 32, "." * 32]
LONGEST += ["\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d" * 5 + "ab"]
LONGEST += ["\U0010ffff\uffff\ud7ff\ue000" * 8]

SECRETS = ALIKE + LONGEST


def test_a_mint_answers_with_a_new_item_and_its_outputs_in_order(api, ledger):
    """The total is the largest there may be."""
    body = {"outputs": ["+5.zeta", "+9007199254740983..a.+b", "+3.deed_placeholder.é"]}

    answer = api.post("/v1/mint", body)

    item_id = good(answer)["itemId"]
    assert re.fullmatch("deed_[0-9a-hjkmnp-tv-z]{26}", item_id)
    raws = [
        f"+5.{item_id}.zeta",
        f"+9007199254740983.{item_id}.a.+b",
        f"+3.{item_id}.é",
    ]
    assert answer.json() == {
        "itemId": item_id,
        "outputs": [
            {"amount": 5, "secret": "zeta", "itemId": item_id},
            {"amount": 9007199254740983, "secret": "a.+b", "itemId": item_id},
            {"amount": 3, "secret": "é", "itemId": item_id},
        ],
        "rawOutputs": raws,
    }
    assert ledger.live(item_id) == [3, 5, 9007199254740983]
    assert ledger.operations() == [("mint", 0, 3)]
    assert api.check(*raws) == ["unspent"] * 3
    assert api.get(f"/v1/item/{item_id}").json()["total"] == 9007199254740991


def test_secrets_are_repeated_and_compared_exactly(api):
    assert len(set(SECRETS)) == len(SECRETS)
    objects = [{"amount": n, "secret": secret} for n, secret in enumerate(SECRETS, 1)]
    # As most clients write JSON: only what must be is escaped.
    body = json.dumps({"outputs": objects}, ensure_ascii=False)

    minted = good(api.post("/v1/mint", body))

    item_id = minted["itemId"]
    assert minted["outputs"] == [each | {"itemId": item_id} for each in objects]
    raws = [f"+{n}.{item_id}.{secret}" for n, secret in enumerate(SECRETS, 1)]
    assert minted["rawOutputs"] == raws
    others = [f"+{n}.{item_id}.{secret}" for n, secret in enumerate(SECRETS[1:], 1)]
    assert api.check(*others) == ["unknown"] * len(others)
    total = sum(range(len(raws) + 1))
    assert good(api.swap(raws, f"+{total}.{item_id}.new"))


def test_metadata_is_read_as_it_was_minted(api):
    """Values are counted before they are parsed, but not the characters of strings."""
    text = '\\"{},[],"' * 60_000
    metadata = {"image": "ar:x", "name": "Grüße \0 🏡", "description": text}

    item_id = api.mint("+1.a", metadata=metadata)

    stored = api.get(f"/v1/item/{item_id}").json()["metadata"]
    assert stored.startswith('{"name":"Grüße \\u0000 🏡","description":')
    assert json.loads(stored) == metadata


@pytest.mark.parametrize(
    "media_type", [" Application/JSON ", 'application/json; charset="UTF-8"; profile=x']
)
def test_the_most_outputs_may_be_written_at_any_length(api, media_type):
    """Values are counted before they are parsed, in a body of more than 64 KiB."""
    outputs = [{"amount": 1, "secret": f"secret-{number}"} for number in range(256)]
    metadata = {"name": "N", "image": "ar:x"}
    body = json.dumps({"outputs": outputs, "metadata": metadata}, indent=99)
    assert len(body) > 65_536

    answer = api.http.post(
        "/v1/mint", content=body, headers={"Content-Type": media_type}
    )

    assert len(good(answer)["outputs"]) == 256


ONE, THREE = ["+1.deed_x.a"], ["+1.deed_x.b"] * 3


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/mint", {"outputs": THREE}),
        ("/v1/swap", {"inputs": THREE, "outputs": ONE}),
        ("/v1/swap", {"inputs": ONE, "outputs": THREE}),
        ("/v1/check", {"outputs": THREE}),
    ],
)
def test_the_setting_bounds_the_arrays(open_api, path, body):
    api = open_api(DEEDS_MAX_ARRAY="2")
    api.mint("+1.a", "+1.b")

    answer = api.post(path, body)

    assert refusal(answer) == (400, "invalid_request", None)
