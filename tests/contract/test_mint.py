"""POST /v1/mint (contract 4.1)."""

import json
import re
from dataclasses import replace

import pytest

from tests.support.requests import check, mint, post, refusal

ITEM_ID = re.compile("deed_[0-9abcdefghjkmnpqrstvwxyz]{26}")


def test_a_mint_answers_with_a_new_item_and_its_outputs_in_order(client, ledger):
    answer = post(client, "/v1/mint", {"outputs": ["+5.zeta", "+9007199254740900.alpha", "+3.m"]})

    item_id = answer.get_json()["itemId"]
    assert ITEM_ID.fullmatch(item_id)
    assert (answer.status_code, answer.content_type) == (200, "application/json")
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.get_json() == {
        "itemId": item_id,
        "outputs": [
            {"amount": 5, "secret": "zeta", "itemId": item_id},
            {"amount": 9007199254740900, "secret": "alpha", "itemId": item_id},
            {"amount": 3, "secret": "m", "itemId": item_id},
        ],
        "rawOutputs": [
            f"+5.{item_id}.zeta",
            f"+9007199254740900.{item_id}.alpha",
            f"+3.{item_id}.m",
        ],
    }
    assert ledger.live(item_id) == [3, 5, 9007199254740900]
    assert ledger.operations() == [("mint", 0, 3)]


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


def test_the_raw_outputs_of_a_mint_can_be_checked_as_they_are(client):
    raws = post(client, "/v1/mint", {"outputs": ["+5.a.+b", "+2..é"]}).get_json()["rawOutputs"]

    assert check(client, *raws) == ["unspent", "unspent"]


@pytest.mark.parametrize(
    ("text", "secret"),
    {
        "+5.s": "s",
        "+5..s": "s",
        "+5.deed_.s": "s",
        "+5.deed_placeholder.s": "s",
        "+5.deed_00000000000000000000000000.s": "s",
        "+5.a.b": "a.b",
        "+5..a.b": "a.b",
        "+5.deed_x.a.b": "a.b",
        "+5.deed_x.deed_y.s": "deed_y.s",
        "+5.deed_x": "deed_x",
        "+5.Deed_x.s": "Deed_x.s",
        "+5.xdeed_.s": "xdeed_.s",
        "+5...": ".",
        "+5...s": ".s",
        "+5.a.": "a.",
        "+5.+6.b": "+6.b",
        "+5.+": "+",
        "+5. s ": " s ",
    }.items(),
)
def test_a_string_may_leave_the_item_id_out_empty_or_open(client, text, secret):
    answer = post(client, "/v1/mint", {"outputs": [text]})

    item_id = answer.get_json()["itemId"]
    assert ITEM_ID.fullmatch(item_id)
    assert answer.get_json()["rawOutputs"] == [f"+5.{item_id}.{secret}"]


def test_every_mint_makes_another_item(client, ledger):
    ids = {mint(client, "+1.same") for _ in range(5)}

    assert len(ids) == 5
    assert ledger.operations() == [("mint", 0, 1)] * 5


def test_an_item_may_hold_the_largest_total(client, ledger):
    item_id = mint(client, "+9007199254740990.a", "+1.b")

    assert client.get(f"/v1/item/{item_id}").get_json()["total"] == 9007199254740991


@pytest.mark.parametrize(
    ("outputs", "code", "index"),
    [
        (["+9007199254740991.a", "+1.b"], "total_too_large", None),
        (["+9007199254740991.a", "+9007199254740991.b"], "total_too_large", None),
        (["+1.a", "+2.b", "+3.a"], "duplicate_secret", 2),
        (["+1.a", "+1..a"], "duplicate_secret", 1),
        (["+1.deed_x.a", "+1.deed_y.a"], "duplicate_secret", 1),
        ([{"amount": 1, "secret": "a"}, {"amount": 1, "secret": "a"}], "duplicate_secret", 1),
        (["+1.a", {"amount": 1, "secret": "b"}], "invalid_request", None),
        ([{"amount": 1, "secret": "b"}, "+1.a"], "invalid_request", None),
        ([["+1.a"]], "invalid_request", None),
        ([None], "invalid_request", None),
        (["+1.a", None], "invalid_request", None),
        ([5], "invalid_request", None),
        (["+1.a", "1.b"], "invalid_request", 1),
        (["+1.a", "+1"], "invalid_request", 1),
        ([""], "invalid_request", 0),
        (["+"], "invalid_request", 0),
        (["+."], "invalid_request", 0),
        (["+1."], "invalid_request", 0),
        (["+1.."], "invalid_request", 0),
        (["+1.deed_x."], "invalid_request", 0),
        ([" +1.a"], "invalid_request", 0),
        ([{"amount": 1}], "invalid_request", 0),
        ([{"secret": "a"}], "invalid_request", 0),
        ([{}], "invalid_request", 0),
        ([{"amount": 1, "secret": "a"}, {"amount": 1, "secret": None}], "invalid_request", 1),
        ([{"amount": None, "secret": "a"}], "invalid_request", 0),
        ([{"amount": 1, "secret": "a", "itemId": "deed_x"}], "invalid_request", 0),
        ([], "invalid_request", None),
        (None, "invalid_request", None),
        ("+1.a", "invalid_request", None),
        ({"0": "+1.a"}, "invalid_request", None),
        (1, "invalid_request", None),
        (True, "invalid_request", None),
    ],
)
def test_bad_outputs_are_refused_and_nothing_is_minted(client, ledger, outputs, code, index):
    before = ledger.rows()

    answer = post(client, "/v1/mint", {"outputs": outputs})

    assert refusal(answer) == (400, code, index)
    assert ledger.rows() == before


@pytest.mark.parametrize("body", [None, [], "x", 5, True, ["+1.a"], {}, {"metadata": {}}])
def test_a_body_that_is_no_mint_request_is_refused(client, ledger, body):
    answer = post(client, "/v1/mint", body)

    assert refusal(answer) == (400, "invalid_request", None)
    assert ledger.operations() == []


@pytest.mark.parametrize(
    ("body", "name", "index"),
    [
        ({"outputs": ["+1.a"], "metdata": {"name": "lost"}}, "metdata", None),
        ({"outputs": ["+1.a"], "Metadata": None}, "Metadata", None),
        ({"outputs": ["+1.a"], "metadata": {"nmae": "lost"}}, "metadata.nmae", None),
        ({"outputs": [{"amount": 1, "secret": "a", "note": 1}]}, "outputs[0].note", 0),
    ],
)
def test_an_unknown_key_is_refused_by_its_name(client, ledger, body, name, index):
    answer = post(client, "/v1/mint", body)

    assert refusal(answer) == (400, "invalid_request", index)
    assert answer.get_json()["detail"] == f"{name}: is not a field of this request"
    assert ledger.operations() == []


@pytest.mark.parametrize("key", ["+5.deed_x.secret", "a b", "", "k" * 25, "ключ", "\ud800"])
def test_an_unknown_key_that_is_no_name_is_not_repeated(client, key):
    """It may be a secret that slipped into the wrong place."""
    answer = post(client, "/v1/mint", {"outputs": ["+1.a"], key: "x"})

    assert refusal(answer) == (400, "invalid_request", None)
    assert answer.get_json()["detail"] == "(an unknown key): is not a field of this request"


@pytest.mark.parametrize(("count", "status"), [(1, 200), (256, 200), (257, 400)])
def test_a_mint_has_1_to_256_outputs(client, ledger, count, status):
    outputs = [f"+1.secret-{number}" for number in range(count)]

    answer = post(client, "/v1/mint", {"outputs": outputs})

    assert answer.status_code == status
    assert ledger.operations() == ([("mint", 0, count)] if status == 200 else [])


def test_the_most_outputs_may_be_written_at_any_length(client):
    """Values are counted before they are parsed, in a body of more than 64 KiB."""
    outputs = [{"amount": 1, "secret": f"secret-{number}"} for number in range(256)]
    body = json.dumps({"outputs": outputs, "metadata": {"name": "N", "image": "ar:x"}}, indent=99)
    assert len(body) > 65_536

    answer = client.post("/v1/mint", data=body, content_type="application/json")

    assert answer.status_code == 200


@pytest.mark.parametrize(("count", "status"), [(2, 200), (3, 400)])
def test_the_setting_bounds_the_outputs(settings, open_app, count, status):
    client = open_app(replace(settings, array_length_max=2)).test_client()
    outputs = [f"+1.secret-{number}" for number in range(count)]

    assert post(client, "/v1/mint", {"outputs": outputs}).status_code == status


@pytest.mark.parametrize(("length", "status"), [(1000, 200), (1001, 413)])
def test_the_setting_bounds_the_body(settings, open_app, length, status):
    client = open_app(replace(settings, body_bytes_max=1000)).test_client()
    body = b'{"outputs":["+1.a"]}'.ljust(length)

    answer = client.post("/v1/mint", data=body, content_type="application/json")

    assert answer.status_code == status


@pytest.mark.parametrize(
    "media_type",
    [
        "application/json",
        "Application/JSON",
        " application/json ",
        "application/json;charset=utf-8",
        'application/json; charset="UTF-8"; profile=x',
        "application/json;",
    ],
)
def test_the_media_type_may_be_written_in_every_way(client, media_type):
    answer = client.post("/v1/mint", data=b'{"outputs":["+1.a"]}', content_type=media_type)

    assert answer.status_code == 200
