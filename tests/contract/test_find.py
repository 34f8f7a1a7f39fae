"""POST /v1/find (contract 4.5), and what POST /v1/offers/find (4.10) refuses alike."""

import pytest

from tests.support.api import fresh, good, refusal
from tests.support.strong_secrets import make_strong_secret

LIVE, SPENT, UNUSED = (make_strong_secret() for _ in range(3))
NO_ITEM = "deed_00000000000000000000000000"

WEAK_SECRETS = {
    "weak": "weak",
    "empty": "",
    "too long": "a" * 33,
    "raw output": f"+5.{NO_ITEM}.{LIVE}",
    "upper case": LIVE.upper(),
    "surrogate": "\ud800",
}

# What a request has in place of a good field, or besides.
BAD_FIELDS = {
    "no secrets": {"secrets": []},
    "too many": {"secrets": [LIVE] * 257},
    "one secret": {"secrets": LIVE},
    "a number": {"secrets": [1]},
    "null": {"secrets": None},
    "an item of another type": {"itemId": 1},
    "more": {"outputs": []},
}


def test_outputs_are_told_in_the_order_of_their_secrets(api, ledger):
    item_id = api.mint(f"+5.{LIVE}", f"+3.{SPENT}", "+2.weak")
    api.swap(f"+3.{item_id}.{SPENT}", fresh(3, item_id))

    with ledger.unchanged():
        answer = api.find(item_id, SPENT, UNUSED, LIVE, SPENT)

    spent = {"amount": 3, "state": "spent"}
    live = {"amount": 5, "state": "unspent"}
    assert good(answer) == {"outputs": [spent, None, live, spent]}


def test_the_same_secret_in_another_item_is_not_found(api):
    api.mint(f"+5.{LIVE}")
    other = api.mint(f"+1.{UNUSED}")

    answer = api.find(other, LIVE)

    assert good(answer) == {"outputs": [None]}


@pytest.fixture(params=["/v1/find", "/v1/offers/find"])
def path(request):
    return request.param


@pytest.mark.parametrize("text", WEAK_SECRETS.values(), ids=WEAK_SECRETS)
def test_a_weak_secret_is_refused_with_its_place(shared_api, path, text):
    item_id = shared_api.mint("+5.a")

    answer = shared_api.find(item_id, LIVE, text, path=path)

    assert refusal(answer) == (400, "weak_secret", 1)
    assert answer.json()["detail"].startswith("secrets[1]: ")


@pytest.mark.parametrize("item_id", [NO_ITEM, "", "deed_x", f"+5.{NO_ITEM}.a", "\0"])
def test_an_item_that_does_not_exist_is_unknown(shared_api, path, item_id):
    answer = shared_api.find(item_id, LIVE, path=path)

    assert refusal(answer) == (400, "unknown_item", None)


@pytest.mark.parametrize("fields", BAD_FIELDS.values(), ids=BAD_FIELDS)
def test_a_request_of_another_shape_is_invalid(shared_api, path, fields):
    body = {"itemId": shared_api.mint("+5.a"), "secrets": [LIVE]} | fields

    answer = shared_api.post(path, body)

    assert refusal(answer)[:2] == (400, "invalid_request")


def test_finding_costs_one_cheap_hash_a_secret(api, hash_costs, path):
    item_id = api.mint("+5.a")
    hash_costs.clear()

    good(api.find(item_id, LIVE, UNUSED, path=path))

    assert hash_costs == ["m=8,t=1,p=1"] * 2
