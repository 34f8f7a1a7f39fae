"""Offers and Idempotency-Keys, between processes of different settings."""

from contextlib import closing
from functools import partial

import pytest

from app import create_app
from deeds.settings import read_settings
from tests.support.api import (
    REUSED,
    SUCCESS,
    Api,
    environ_of,
    fresh,
    good,
    refusal,
    replayed,
    served,
)
from tests.support.hooks import hooked

WEEK_S = 604_800
DEARER = {"DEEDS_ARGON2": "m=16,t=1,p=1"}
PEPPER = "some" * 8

MAKING = "/v1/offers"
COMPLETION = "/v1/offers/{0}/complete"
OTHER_COMPLETION = "/v1/offers/{1}/complete"
NO_COMPLETION = "/v1/offers/offer_x/complete"
NOWHERE = "deed_00000000000000000000000000"


@pytest.fixture(scope="module")
def raws(shared_api):
    """A function that returns raw outputs by their letters.

    `ab` are offered for `pq`, and `xy` given for `rs`; `c` is offered for `m`.
    """
    item = shared_api.mint("+5.a", "+4.b", "+1.c")
    wanted = shared_api.mint("+3.x", "+2.y")
    p, q = fresh(5, wanted), fresh(1, item)
    by_letter = {
        "a": f"+5.{item}.a",
        "b": f"+4.{item}.b",
        "c": f"+1.{item}.c",
        "p": p,
        "q": q,
        "r": fresh(2, item),
        "s": f"+6.{item}.z",
        "x": f"+3.{wanted}.x",
        "y": f"+2.{wanted}.y",
        # Others, as much as `q`, `s` and `xy`, and more of `q`.
        "k": fresh(1, item),
        "l": fresh(6, item),
        "m": fresh(5, wanted),
        "n": q.replace("+1", "+2"),
        # More than there are, and of an item that is not there.
        "t": f"+10.{wanted}.t",
        "u": fresh(11, item),
        "v": fresh(5, NOWHERE),
    }
    return lambda letters: [by_letter[each] for each in letters]


@pytest.fixture(scope="module")
def offer_ids(shared_api, shared_url, raws):
    """The ids of an offer that another process has completed, and of an open one."""
    made = shared_api.offer(raws("ab"), raws("pq"), "make", expiresIn=WEEK_S)
    offer_id = good(made)["offerId"]
    with served(environ_of(shared_url, **DEARER, DEEDS_PEPPER=PEPPER)) as other:
        good(other.complete(offer_id, raws("xy"), raws("rs"), "complete"))
    return offer_id, shared_api.offer_id(raws("c"), raws("m"))


@pytest.mark.parametrize("turn", [1, -1], ids=["same order", "other order"])
def test_another_process_replays_a_making_and_a_completion(
    shared_url, shared_ledger, raws, offer_ids, turn
):
    offer_id, _ = offer_ids

    with (
        shared_ledger.unchanged(),
        served(environ_of(shared_url, **DEARER)) as restarted,
    ):
        made = restarted.offer(raws("ab"[::turn]), raws("pq"[::turn]), "make")
        completed = restarted.complete(
            offer_id, raws("xy"[::turn]), raws("rs"[::turn]), "complete"
        )
        read = restarted.get(f"/v1/offers/{offer_id}")

    assert replayed(made) == good(read)
    assert good(read)["state"] == "completed"
    assert replayed(completed) == SUCCESS


@pytest.mark.parametrize(
    ("key", "path", "inputs", "outputs"),
    [
        ("make", MAKING, "a", "pq"),
        ("make", MAKING, "ab", "p"),
        ("make", MAKING, "ab", "pk"),
        ("make", MAKING, "ac", "pq"),
        ("make", MAKING, "ab", "pn"),
        ("make", MAKING, "", "u"),
        ("make", MAKING, "", "v"),
        ("make", "/v1/swap", "xy", "m"),
        ("make", COMPLETION, "xy", "rs"),
        ("complete", MAKING, "ab", "pq"),
        ("complete", "/v1/swap", "abxy", "pqrs"),
        ("complete", OTHER_COMPLETION, "xy", "rs"),
        # Both halves name one output.
        ("complete", OTHER_COMPLETION, "cxy", "r"),
        ("complete", OTHER_COMPLETION, "t", "mk"),
        ("complete", OTHER_COMPLETION, "m", "k"),
        ("complete", OTHER_COMPLETION, "v", ""),
        ("complete", NO_COMPLETION, "xy", "rs"),
        ("complete", COMPLETION, "ab", "pq"),
        ("complete", COMPLETION, "xa", "rp"),
        ("complete", COMPLETION, "xy", "rl"),
    ],
)
def test_a_key_serves_no_other_request(
    shared_api, shared_ledger, raws, offer_ids, *, key, path, inputs, outputs
):
    body = {"inputs": raws(inputs), "outputs": raws(outputs)}

    with shared_ledger.unchanged():
        answer = shared_api.post(path.format(*offer_ids), body, key)

    assert refusal(answer) == REUSED


def test_a_key_serves_no_making_for_another_time(
    shared_api, shared_ledger, raws, offer_ids
):
    with shared_ledger.unchanged():
        answer = shared_api.offer(raws("ab"), raws("pq"), "make", expiresIn=WEEK_S + 1)

    assert refusal(answer) == REUSED


@pytest.mark.parametrize(
    ("wanted", "said"),
    [("+5.{}.e", (200, "true")), ("+5.{}.another", (422, None))],
    ids=["the same", "another request"],
)
def test_a_key_is_looked_up_again_before_an_offer_is_not_open(
    apis, ledger, wanted, said
):
    """A twin may have completed it meanwhile, or another request under its key."""
    api, twin = apis
    item, other = api.mint("+5.a"), api.mint("+2.b")
    offer_id = api.offer_id(f"+5.{item}.a", fresh(2, other))
    paid, got = [f"+2.{other}.b"], [f"+5.{item}.e"]
    calls = [partial(twin.complete, offer_id, paid, [wanted.format(item)], "order 17")]

    def complete_meanwhile(_connection, sql, _values):
        if "completed_by IS NOT NULL THEN" in sql and calls:
            calls.pop()()

    with hooked("before statement", complete_meanwhile):
        answer = api.complete(offer_id, paid, got, "order 17")

    assert (answer.status_code, answer.headers.get("Idempotency-Replayed")) == said
    assert api.check(*paid, wanted.format(item)) == ["spent", "unspent"]


def test_time_and_randomness_are_those_that_the_service_is_given(
    settings, ledger, hash_costs
):
    times_ms = [1_000_001]
    app = create_app(
        read_settings(settings), clock=lambda: times_ms[-1], token_bytes=bytes
    )
    with closing(app.extensions["deeds"]):
        api = Api.of_app(app)
        item = api.mint("+5.a")
        offer = good(api.offer([], fresh(5, item), expiresIn=60))
        path = f"/v1/offers/{offer['offerId']}"
        # In whole seconds, rounded up.
        times_ms.append(1_060_999)
        before = good(api.get(path))
        # The offer is still open when the secret is hashed, and not when it is spent.
        hash_costs.meanwhile = lambda: times_ms.append(1_061_000)
        refused = api.complete(offer["offerId"], f"+5.{item}.a", [])

    assert (item, path[-32:]) == (f"deed_{'0' * 26}", f"offer_{'0' * 26}")
    assert offer["expiresAt"] == "1970-01-01T00:17:41Z"
    assert before == offer | {"state": "open"}
    assert refusal(refused) == (400, "offer_not_open", None)
    assert refused.json()["detail"].endswith("expired")
    times = ledger.read("SELECT created_at_ms FROM operations ORDER BY id")
    assert times == [(1_000_001,)] * 2
