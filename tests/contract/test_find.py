"""POST /v1/find (contract part 4): outputs found by their strong secrets."""

from dataclasses import replace

import pytest

from deeds.domain.model import Argon2Cost
from deeds.domain.raw_output import make_strong_secret
from tests.support.requests import mint, post, refusal, swap

LIVE, SPENT, MOVED, UNUSED = (make_strong_secret() for _ in range(4))
NO_ITEM = "deed_00000000000000000000000000"


@pytest.fixture
def item(client):
    """An item with 5 units live, and 3 that were spent and live on elsewhere."""
    item_id = mint(client, f"+5.{LIVE}", f"+3.{SPENT}", "+2.weak")
    swap(client, [f"+3.{item_id}.{SPENT}"], [f"+3.{item_id}.{MOVED}"])
    return item_id


def find(client, item_id, *secrets):
    return post(client, "/v1/find", {"itemId": item_id, "secrets": secrets})


def test_outputs_are_told_in_the_order_of_their_secrets(client, item, ledger):
    before = ledger.rows()

    answer = find(client, item, SPENT, UNUSED, LIVE, SPENT)

    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
    spent = {"amount": 3, "state": "spent"}
    live = {"amount": 5, "state": "unspent"}
    assert answer.get_json() == {"outputs": [spent, None, live, spent]}
    assert ledger.rows() == before


def test_the_same_secret_in_another_item_is_not_found(client, item):
    other = mint(client, f"+1.{UNUSED}")

    answer = find(client, other, LIVE)

    assert answer.get_json() == {"outputs": [None]}


def test_what_was_hashed_under_older_settings_is_found(
    settings, open_app, client, item
):
    changed = replace(settings, ordinary_cost=Argon2Cost(16, 1, 1), pepper=b"p" * 32)

    answer = find(open_app(changed).test_client(), item, LIVE)

    assert answer.get_json() == {"outputs": [{"amount": 5, "state": "unspent"}]}


@pytest.mark.parametrize(
    "text", ["weak", "", "a" * 33, f"+5.{NO_ITEM}.{LIVE}", LIVE.upper(), "\ud800"]
)
def test_a_weak_secret_is_refused_with_its_place(client, item, text):
    assert refusal(find(client, item, LIVE, text)) == (400, "weak_secret", 1)


@pytest.mark.parametrize("item_id", [NO_ITEM, "", "deed_x", f"+5.{NO_ITEM}.a", "\0"])
def test_an_item_that_does_not_exist_is_unknown(client, item_id):
    assert refusal(find(client, item_id, LIVE)) == (400, "unknown_item", None)


BAD = {
    "no secrets": {"secrets": []},
    "too many": {"secrets": [LIVE] * 257},
    "one secret": {"secrets": LIVE},
    "a number": {"secrets": [1]},
    "null": {"secrets": None},
    "an item of another type": {"itemId": 1},
    "more": {"outputs": []},
}


@pytest.mark.parametrize("changes", BAD.values(), ids=BAD)
def test_a_request_of_another_shape_is_invalid(client, item, changes):
    body = {"itemId": item, "secrets": [LIVE]} | changes

    status, code, _ = refusal(post(client, "/v1/find", body))

    assert (status, code) == (400, "invalid_request")


def test_no_secret_that_is_asked_for_counts_as_failed(settings, open_app):
    limited = replace(
        settings, rate_limits=replace(settings.rate_limits, failures="1/day")
    )
    client = open_app(limited).test_client()
    item_id = mint(client, "+1.a")

    for _ in range(3):
        find(client, item_id, UNUSED)
        find(client, NO_ITEM, UNUSED)

    refused = swap(client, [f"+1.{item_id}.wrong"], [f"+1.{item_id}.b"])
    assert refusal(refused)[1] == "unknown_input"


def test_finding_costs_one_cheap_hash_a_secret(client, item, hash_costs):
    hash_costs.clear()

    find(client, item, LIVE, UNUSED)

    assert hash_costs == ["m=8,t=1,p=1"] * 2
