"""POST /v1/mint (contract 4.1).

What its body may hold is in test_request_schemas.py.
"""

import json
from dataclasses import replace

import pytest

from deeds.domain.raw_output import ITEM_ID_PREFIX, is_id
from tests.support.requests import check, mint, post, refusal, swap

# All alike, to somebody or to some library, and all different secrets.
ALIKE = [
    "secret",
    "Secret",
    "ß",
    "ss",
    "i",
    "\u0131",
    "a",
    " a",
    "a ",
    " ",
    "  ",
    "a b",
]
ALIKE += ["a\u00a0b", "a\n", "a\0", "\0", "\0\0", "a\0b", "a\0c", "a\u200b", "\ufeffa"]
ALIKE += ["a\ufe0f", "\u00e9"]
ALIKE += [
    "e\u0301",
    "\ufb01",
    "fi",
    "\uff41",
    "\u212b",
    "\u00c5",
    "\u0430",
    "1",
    "01",
    "a.",
    ".a",
]
ALIKE += [
    "+a",
    "a%20b",
    "a+b",
    "\\",
    "\\\\",
    "\ufffd",
    "\ufffe",
    "\U0001f3e1",
    "\U0001f3e0",
]

# Of 32 code points, the most there may be.
LONGEST = ["x" * 32, "é" * 32, "\U0001f3e1" * 32, "e\u0301" * 16, "\0" * 32, "." * 32]
LONGEST += ["\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d" * 5 + "ab"]
LONGEST += ["\U0010ffff\uffff\ud7ff\ue000" * 8]


def test_a_mint_answers_with_a_new_item_and_its_outputs_in_order(client, ledger):
    """The total is the largest there may be."""
    body = {"outputs": ["+5.zeta", "+9007199254740983..a.+b", "+3.deed_placeholder.é"]}

    answer = post(client, "/v1/mint", body)

    item_id = answer.get_json()["itemId"]
    raws = [
        f"+5.{item_id}.zeta",
        f"+9007199254740983.{item_id}.a.+b",
        f"+3.{item_id}.é",
    ]
    assert is_id(ITEM_ID_PREFIX, item_id)
    assert (answer.status_code, answer.content_type) == (200, "application/json")
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.get_json() == {
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
    assert check(client, *raws) == ["unspent"] * 3
    assert client.get(f"/v1/item/{item_id}").get_json()["total"] == 9007199254740991
    assert post(client, "/v1/mint", body).get_json()["itemId"] != item_id


def test_secrets_are_repeated_and_compared_exactly(client, ledger):
    secrets = ALIKE + LONGEST
    assert len(set(secrets)) == len(secrets)
    objects = [{"amount": n, "secret": secret} for n, secret in enumerate(secrets, 1)]
    unescaped = json.dumps({"outputs": objects}, ensure_ascii=False).encode()

    minted = client.post(
        "/v1/mint", data=unescaped, content_type="application/json"
    ).get_json()

    item_id = minted["itemId"]
    assert minted["outputs"] == [each | {"itemId": item_id} for each in objects]
    raws = [f"+{n}.{item_id}.{secret}" for n, secret in enumerate(secrets, 1)]
    assert minted["rawOutputs"] == raws
    others = [f"+{n}.{item_id}.{secret}" for n, secret in enumerate(secrets[1:], 1)]
    assert check(client, *others) == ["unknown"] * len(others)
    total = sum(range(len(raws) + 1))
    assert swap(client, raws, [f"+{total}.{item_id}.new"]).status_code == 200


def test_metadata_is_read_as_it_was_minted(client):
    """Values are counted before they are parsed, but not the characters of strings."""
    text = '\\"{},[],"' * 60_000
    metadata = {"image": "ar:x", "name": "Grüße \0 🏡", "description": text}

    minted = post(
        client, "/v1/mint", {"outputs": ["+1.a"], "metadata": metadata}
    ).get_json()

    stored = client.get(f"/v1/item/{minted['itemId']}").get_json()["metadata"]
    assert stored.startswith('{"name":"Grüße \\u0000 🏡","description":')
    assert json.loads(stored) == metadata


@pytest.mark.parametrize(
    "media_type", [" Application/JSON ", 'application/json; charset="UTF-8"; profile=x']
)
def test_the_most_outputs_may_be_written_at_any_length(client, media_type):
    """Values are counted before they are parsed, in a body of more than 64 KiB."""
    outputs = [{"amount": 1, "secret": f"secret-{number}"} for number in range(256)]
    body = json.dumps(
        {"outputs": outputs, "metadata": {"name": "N", "image": "ar:x"}}, indent=99
    )
    assert len(body) > 65_536

    answer = client.post("/v1/mint", data=body, content_type=media_type)

    assert answer.status_code == 200


def test_the_setting_bounds_the_arrays(settings, open_app, ledger):
    client = open_app(replace(settings, array_length_max=2)).test_client()
    item_id = mint(client, "+1.a", "+1.b")
    raws = [f"+1.{item_id}.{secret}" for secret in "abc"]

    refused = [
        post(client, "/v1/mint", {"outputs": ["+1.a", "+1.b", "+1.c"]}),
        swap(client, raws, raws[:1]),
        swap(client, raws[:1], raws),
        post(client, "/v1/check", {"outputs": raws}),
    ]

    assert [refusal(answer) for answer in refused] == [
        (400, "invalid_request", None)
    ] * 4
    assert ledger.operations() == [("mint", 0, 2)]
