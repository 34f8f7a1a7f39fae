"""POST /v1/mint (contract 4.1). What its body may hold is in test_request_schemas.py."""

import json
import re
from dataclasses import replace

import pytest

from tests.support.requests import check, mint, post, refusal

ITEM_ID = re.compile("deed_[0-9abcdefghjkmnpqrstvwxyz]{26}")


def test_a_mint_answers_with_a_new_item_and_its_outputs_in_order(client, ledger):
    texts = ["+5.zeta", "+9007199254740900..a.+b", "+3.deed_placeholder.é"]

    answer = post(client, "/v1/mint", {"outputs": texts})

    item_id = answer.get_json()["itemId"]
    raws = [f"+5.{item_id}.zeta", f"+9007199254740900.{item_id}.a.+b", f"+3.{item_id}.é"]
    assert ITEM_ID.fullmatch(item_id)
    assert (answer.status_code, answer.content_type) == (200, "application/json")
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.get_json() == {
        "itemId": item_id,
        "outputs": [
            {"amount": 5, "secret": "zeta", "itemId": item_id},
            {"amount": 9007199254740900, "secret": "a.+b", "itemId": item_id},
            {"amount": 3, "secret": "é", "itemId": item_id},
        ],
        "rawOutputs": raws,
    }
    assert ledger.live(item_id) == [3, 5, 9007199254740900]
    assert ledger.operations() == [("mint", 0, 3)]
    assert check(client, *raws) == ["unspent"] * 3


def test_output_objects_are_minted_like_strings(client, ledger):
    objects = [{"amount": 5, "secret": "a.b"}, {"secret": "+c", "amount": 2}]

    answer = post(client, "/v1/mint", {"outputs": objects, "metadata": None})

    item_id = answer.get_json()["itemId"]
    assert answer.get_json() == {
        "itemId": item_id,
        "outputs": [
            {"amount": 5, "secret": "a.b", "itemId": item_id},
            {"amount": 2, "secret": "+c", "itemId": item_id},
        ],
        "rawOutputs": [f"+5.{item_id}.a.b", f"+2.{item_id}.+c"],
    }
    assert ledger.live(item_id) == [2, 5]


def test_metadata_is_read_as_it_was_minted(client):
    """Values are counted before they are parsed, but not the characters of strings."""
    text = '\\"{},[],"' * 60_000
    metadata = {"image": "ar:x", "name": "Grüße \0 🏡", "description": text}

    minted = post(client, "/v1/mint", {"outputs": ["+1.a"], "metadata": metadata}).get_json()

    stored = client.get(f"/v1/item/{minted['itemId']}").get_json()["metadata"]
    assert stored.startswith('{"name":"Grüße \\u0000 🏡","description":')
    assert json.loads(stored) == metadata


def test_every_mint_makes_another_item_which_may_hold_the_largest_total(client, ledger):
    ids = [mint(client, "+9007199254740990.a", "+1.b") for _ in range(2)]

    totals = {each: client.get(f"/v1/item/{each}").get_json()["total"] for each in ids}

    assert totals == {ids[0]: 9007199254740991, ids[1]: 9007199254740991}
    assert len(totals) == 2
    assert ledger.operations() == [("mint", 0, 2)] * 2


@pytest.mark.parametrize(
    ("outputs", "code", "index"),
    [
        (["+9007199254740991.a", "+1.b"], "total_too_large", None),
        (["+1.a", "+2.b", "+3..a"], "duplicate_secret", 2),
        ([{"amount": 1, "secret": "a"}, {"amount": 1, "secret": "a"}], "duplicate_secret", 1),
        (["+1.a", "1.b"], "invalid_request", 1),
    ],
)
def test_a_mint_against_the_rules_is_refused_and_nothing_is_minted(
    client, ledger, outputs, code, index
):
    before = ledger.rows()

    answer = post(client, "/v1/mint", {"outputs": outputs})

    assert refusal(answer) == (400, code, index)
    assert ledger.rows() == before


def test_the_most_outputs_may_be_written_at_any_length(client):
    """Values are counted before they are parsed, in a body of more than 64 KiB."""
    outputs = [{"amount": 1, "secret": f"secret-{number}"} for number in range(256)]
    body = json.dumps({"outputs": outputs, "metadata": {"name": "N", "image": "ar:x"}}, indent=99)
    assert len(body) > 65_536

    answer = client.post("/v1/mint", data=body, content_type="application/json")

    assert answer.status_code == 200


@pytest.mark.parametrize("array_length_max", [2, 256])
def test_the_setting_bounds_the_outputs(settings, open_app, ledger, array_length_max):
    client = open_app(replace(settings, array_length_max=array_length_max)).test_client()
    outputs = [f"+1.secret-{number}" for number in range(array_length_max)]

    mint(client, *outputs)
    refused = post(client, "/v1/mint", {"outputs": [*outputs, "+1.more"]})

    assert refusal(refused) == (400, "invalid_request", None)
    assert ledger.operations() == [("mint", 0, array_length_max)]


@pytest.mark.parametrize(
    "media_type", [" Application/JSON ", 'application/json; charset="UTF-8"; profile=x']
)
def test_the_media_type_may_be_written_in_every_way(client, media_type):
    answer = client.post("/v1/mint", data=b'{"outputs":["+1.a"]}', content_type=media_type)

    assert answer.status_code == 200
