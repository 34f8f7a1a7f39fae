"""The header Idempotency-Key on mint and swap (contract part 2, "retries")."""

from dataclasses import replace

import pytest

from deeds.domain.model import Argon2Cost
from deeds.domain.strong_secret import make_strong_secret
from tests.support.requests import check, mint, post, refusal, swap

KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"
MINT = {"outputs": ["+5.a", "+3.b"], "metadata": {"name": "N"}}


def replayed(answer):
    return answer.headers.get("Idempotency-Replayed")


def test_a_repeated_mint_answers_as_the_first_time(client, ledger):
    first = post(client, "/v1/mint", MINT, KEY)
    before = ledger.rows()

    again = post(client, "/v1/mint", MINT, KEY)

    assert (first.status_code, replayed(first)) == (200, None)
    assert (again.status_code, replayed(again)) == (200, "true")
    assert again.data == first.data
    assert ledger.rows() == before


def test_a_repeated_swap_answers_as_the_first_time(client, ledger):
    item_id = mint(client, "+5.a")
    request = ([f"+5.{item_id}.a"], [f"+2.{item_id}.b", f"+3.{item_id}.c"])
    first = swap(client, *request, key=KEY)
    before = ledger.rows()

    again = swap(client, *request, key=KEY)

    assert (first.get_json(), replayed(first)) == ({"success": True}, None)
    assert (again.get_json(), replayed(again)) == ({"success": True}, "true")
    assert ledger.rows() == before


def test_without_a_key_a_repeated_mint_makes_another_item_and_a_repeated_swap_is_refused(client):
    one, other = mint(client, "+5.a"), mint(client, "+5.a")
    request = ([f"+5.{one}.a"], [f"+5.{one}.b"])

    answers = [swap(client, *request), swap(client, *request)]

    assert one != other
    assert answers[0].get_json() == {"success": True}
    assert refusal(answers[1]) == (400, "spent_input", 0)


def test_a_mint_in_another_order_and_spelling_is_the_same_mint(client, ledger):
    first = post(client, "/v1/mint", MINT, KEY).get_json()
    objects = [{"secret": "b", "amount": 3}, {"secret": "a", "amount": 5}]

    again = post(client, "/v1/mint", MINT | {"outputs": objects}, KEY)

    assert replayed(again) == "true"
    assert again.get_json() == {
        "itemId": first["itemId"],
        "outputs": first["outputs"][::-1],
        "rawOutputs": first["rawOutputs"][::-1],
    }


def test_a_swap_in_another_order_is_the_same_swap(client):
    item_id = mint(client, "+5.a", "+3.b")
    inputs = [f"+5.{item_id}.a", f"+3.{item_id}.b"]
    outputs = [f"+1.{item_id}.c", f"+7.{item_id}.d"]
    swap(client, inputs, outputs, key=KEY)

    again = swap(client, inputs[::-1], outputs[::-1], key=KEY)

    assert (again.get_json(), replayed(again)) == ({"success": True}, "true")


@pytest.mark.parametrize(
    "other",
    [
        {"outputs": ["+6.a", "+3.b"]},
        {"outputs": ["+3.a", "+5.b"]},
        {"outputs": ["+5.x", "+3.b"]},
        {"outputs": ["+5.a"]},
        {"outputs": ["+8.a"]},
        {"outputs": ["+5.a", "+3.b", "+1.c"]},
        {"metadata": {"name": "M"}},
        {"metadata": {"name": "N", "description": ""}},
        {"metadata": {}},
        {"metadata": None},
    ],
)
def test_a_key_does_not_serve_another_mint(client, ledger, other):
    post(client, "/v1/mint", MINT, KEY)
    before = ledger.rows()

    answer = post(client, "/v1/mint", MINT | other, KEY)

    assert refusal(answer) == (422, "idempotency_key_reused", None)
    assert ledger.rows() == before


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        (["+5.{0}.a"], ["+3.{0}.c", "+2.{0}.d"]),
        (["+5.{0}.a"], ["+2.{0}.c", "+3.{0}.x"]),
        (["+5.{0}.a"], ["+2.{0}.x", "+3.{0}.y"]),
        (["+5.{0}.a"], ["+5.{0}.c"]),
        (["+2.{0}.c"], ["+2.{0}.x"]),
        (["+7.{0}.b"], ["+7.{0}.x"]),
        (["+5.{0}.a", "+7.{0}.b"], ["+2.{0}.c", "+3.{0}.d", "+7.{0}.e"]),
        (["+5.{1}.a"], ["+2.{1}.c", "+3.{1}.d"]),
        (["+5.deed_x.a"], ["+5.deed_x.b"]),
    ],
)
def test_a_key_does_not_serve_another_swap(client, ledger, inputs, outputs):
    ids = mint(client, "+5.a", "+7.b"), mint(client, "+5.a")
    swap(client, [f"+5.{ids[0]}.a"], [f"+2.{ids[0]}.c", f"+3.{ids[0]}.d"], key=KEY)
    before = ledger.rows()

    answer = swap(
        client, [each.format(*ids) for each in inputs], [each.format(*ids) for each in outputs], KEY
    )

    assert refusal(answer) == (422, "idempotency_key_reused", None)
    assert ledger.rows() == before


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [(["+5.{0}.a"], ["+5.{0}.d"]), (["+5.{0}.b"], ["+5.{0}.c"]), (["+5.{0}.b"], ["+5.{0}.d"])],
)
def test_a_key_does_not_serve_for_what_another_swap_did(client, inputs, outputs):
    item_id = mint(client, "+5.a", "+5.b")
    swap(client, [f"+5.{item_id}.a"], [f"+5.{item_id}.c"], key=KEY)
    swap(client, [f"+5.{item_id}.b"], [f"+5.{item_id}.d"])

    answer = swap(
        client,
        [each.format(item_id) for each in inputs],
        [each.format(item_id) for each in outputs],
        KEY,
    )

    assert refusal(answer) == (422, "idempotency_key_reused", None)


def test_the_key_of_a_mint_does_not_serve_for_what_a_swap_made_of_it(client):
    item_id = post(client, "/v1/mint", MINT, KEY).get_json()["itemId"]
    swap(client, [f"+5.{item_id}.a"], [f"+5.{item_id}.c"])

    answer = post(client, "/v1/mint", MINT | {"outputs": ["+5.c", "+3.b"]}, KEY)

    assert refusal(answer) == (422, "idempotency_key_reused", None)


def test_the_key_of_a_mint_does_not_serve_a_swap_nor_the_other_way_round(client, ledger):
    item_id = mint(client, "+5.a", key="of the mint")
    swap(client, [f"+5.{item_id}.a"], [f"+5.{item_id}.b"], key="of the swap")
    before = ledger.rows()

    answers = [
        swap(client, [f"+5.{item_id}.b"], [f"+5.{item_id}.c"], key="of the mint"),
        post(client, "/v1/mint", {"outputs": ["+5.b"]}, "of the swap"),
    ]

    assert [refusal(each) for each in answers] == [(422, "idempotency_key_reused", None)] * 2
    assert ledger.rows() == before


def test_a_refused_request_leaves_its_key_free(client, ledger):
    item_id = mint(client, "+5.a", "+1.b")
    swap(client, [f"+1.{item_id}.b"], [f"+1.{item_id}.c"])
    before = ledger.rows()

    refused = [
        swap(client, [f"+5.{item_id}.a"], [f"+4.{item_id}.d"], KEY),
        swap(client, [f"+5.{item_id}.wrong"], [f"+5.{item_id}.d"], KEY),
        swap(client, [f"+1.{item_id}.b"], [f"+1.{item_id}.d"], KEY),
        swap(client, [f"+5.{item_id}.a"], [f"+5.{item_id}.c"], KEY),
        post(client, "/v1/mint", {"outputs": ["+1.a", "+1.a"]}, KEY),
    ]
    assert [refusal(each)[1] for each in refused] == [
        "unbalanced",
        "unknown_input",
        "spent_input",
        "used_secret",
        "duplicate_secret",
    ]
    assert ledger.rows() == before

    answer = swap(client, [f"+5.{item_id}.a"], [f"+5.{item_id}.d"], KEY)

    assert (answer.get_json(), replayed(answer)) == ({"success": True}, None)


def test_another_process_replays_even_after_the_outputs_were_spent(settings, open_app, ledger):
    client = open_app(settings).test_client()
    first = post(client, "/v1/mint", MINT, "mint")
    item_id = first.get_json()["itemId"]
    request = ([f"+5.{item_id}.a"], [f"+5.{item_id}.c"])
    swap(client, *request, key="swap")
    swap(client, [f"+5.{item_id}.c", f"+3.{item_id}.b"], [f"+8.{item_id}.d"])
    before = ledger.rows()
    restarted = open_app(settings).test_client()

    minted, swapped = post(restarted, "/v1/mint", MINT, "mint"), swap(restarted, *request, "swap")

    assert (minted.data, replayed(minted)) == (first.data, "true")
    assert (swapped.get_json(), replayed(swapped)) == ({"success": True}, "true")
    assert ledger.rows() == before


@pytest.mark.parametrize(
    "changed",
    [
        {"ordinary_cost": Argon2Cost(16, 1, 1)},
        {"pepper": b"0123456789abcdef0123456789abcdef"},
        {"ordinary_cost": Argon2Cost(16, 1, 1), "pepper": b"0123456789abcdef0123456789abcdef"},
    ],
)
@pytest.mark.parametrize("key", ["order 17", KEY])
def test_a_change_of_settings_loses_no_key(settings, open_app, changed, key):
    client = open_app(settings).test_client()
    strong = make_strong_secret()
    item_id = mint(client, "+5.a")
    request = ([f"+5.{item_id}.a"], [f"+2.{item_id}.b", f"+3.{item_id}.{strong}"])
    swap(client, *request, key=key)
    changed_client = open_app(replace(settings, **changed)).test_client()

    again = swap(changed_client, *request, key=key)
    other = swap(changed_client, request[1], [f"+5.{item_id}.d"], key=key)

    assert (again.get_json(), replayed(again)) == ({"success": True}, "true")
    assert refusal(other) == (422, "idempotency_key_reused", None)
    assert check(changed_client, *request[0], *request[1]) == ["spent", "unspent", "unspent"]
