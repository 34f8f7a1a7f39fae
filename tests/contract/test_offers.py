"""Making, reading and completing offers (contract 4.7 to 4.9).

What is answered, and what is moved.
"""

import time
from datetime import UTC, datetime

import pytest

from tests.support.api import SUCCESS, fresh, good, refusal
from tests.support.strong_secrets import make_strong_secret

NO_OFFER = "offer_00000000000000000000000000"
KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"
DAY_NS = 24 * 60 * 60 * 10**9

# What an offer has in place of a good field, or besides.
BAD_FIELDS = [
    {"inputs": None},
    {"outputs": []},
    {"inputs": ["+1.deed_x.a"] * 257},
    *({"expiresIn": value} for value in (59, 2592001, 60.0, None)),
]

# Where to, inputs and outputs in the words of `ground`, and the refusal: for the rule
# that is judged first, while they break others too. The key is that of a mint. Its
# detail names the element at fault.
REFUSED = [
    (
        "make",
        "+1.{item}.a +1.{item}.a",
        "+1.{item}.x",
        KEY,
        "duplicate_input inputs[1]",
    ),
    (
        "make",
        "+1.{item}.a",
        "+1.{item}.b +1.{item}.a",
        KEY,
        "duplicate_secret outputs[1]",
    ),
    (
        "make",
        "+2.{item}.a",
        "+1.{item}.{fresh} +1.{item}.x",
        KEY,
        "weak_secret outputs[1]",
    ),
    ("make", "+2.{nowhere}.a", "+2.{nowhere}.{two}", KEY, "not_an_offer"),
    ("make", "", "+2.{nowhere}.{two}", KEY, "idempotency_key_reused"),
    (
        "make",
        "+1.{item}.x +1.{nowhere}.a",
        "+2.{nowhere}.{two}",
        None,
        "unknown_item inputs[1]",
    ),
    (
        "make",
        "+1.{item}.x",
        "+11.{item}.{fresh} +2.{nowhere}.{two}",
        None,
        "unknown_item outputs[1]",
    ),
    (
        "make",
        "+1.{item}.x",
        "+9.{item}.{fresh} +2.{item}.{old}",
        None,
        "total_too_large",
    ),
    (
        "make",
        "+2.{item}.s +4.{item}.a",
        "+8.{item}.{old}",
        None,
        "unknown_input inputs[1]",
    ),
    (
        "make",
        "+5.{item}.a +2.{item}.s",
        "+8.{item}.{old}",
        None,
        "spent_input inputs[1]",
    ),
    (
        "make",
        "+5.{item}.a",
        "+4.{item}.{fresh} +4.{item}.{old}",
        None,
        "used_secret outputs[1]",
    ),
    ("none", "", "", KEY, "invalid_request"),
    ("none", "+1.{nowhere}.a +1.{nowhere}.a", "", KEY, "duplicate_input inputs[1]"),
    ("none", "+1.{item}.a", "+1.{item}.a", KEY, "duplicate_secret outputs[0]"),
    ("none", "+1.{nowhere}.a", "", KEY, "idempotency_key_reused"),
    ("none", "+1.{nowhere}.a", "", None, "unknown_offer"),
    ("void", "+1.{nowhere}.a", "", None, "offer_not_open"),
    ("open", "+1.{item}.x +1.{nowhere}.a", "", None, "unknown_item inputs[1]"),
    ("open", "+1.{item}.x", "+1.{nowhere}.a", None, "unknown_item outputs[0]"),
    ("open", "+2.{item}.x", "+2.{item}.a", None, "unbalanced"),
    ("open", "+2.{item}.s +1.{item}.x", "+2.{item}.a", None, "unknown_input inputs[1]"),
    ("open", "+2.{item}.s", "+1.{item}.a", None, "spent_input inputs[0]"),
    ("open", "+5.{item}.a", "+3.{item}.y +1.{item}.s", None, "used_secret outputs[1]"),
    # What both halves name. Nobody without inputs is told of the maker's.
    (
        "open",
        "+1.{item}.x +3.{item}.b",
        "+3.{item}.y",
        None,
        "duplicate_input inputs[1]",
    ),
    ("open", "+5.{item}.a", "+4.{item}.{new}", None, "duplicate_secret outputs[0]"),
    ("open", "+5.{item}.a", "+1.{item}.y +3.{item}.b", None, "used_secret outputs[1]"),
    ("open", "+5.{item}.x", "+4.{item}.b", None, "unknown_input inputs[0]"),
    ("open", "+4.{item}.{new}", "+3.{item}.y", None, "used_secret"),
]


def test_an_offer_says_what_it_gives_and_wants_and_nothing_else(api, ledger):
    """She gives 2 of A and 5 of B for 3 of C and 4 of D; the rest is change."""
    a, b, c, d = sorted(api.mint("+5.hers", "+4.his") for _ in range(4))
    hers = [f"+5.{each}.hers" for each in (c, b, a)]
    for_her = [fresh(4, d), fresh(3, a), fresh(8, c)]

    answer = api.offer(hers, for_her, expiresIn=61)

    *_, made_at_ms = ledger.rows()["operations"][-1]
    expires_at = datetime.fromtimestamp(-(-made_at_ms // 1000) + 61, UTC)
    offer_id = good(answer)["offerId"]
    assert answer.json() == {
        "offerId": offer_id,
        "state": "open",
        "gives": [{"itemId": a, "amount": 2}, {"itemId": b, "amount": 5}],
        "wants": [{"itemId": c, "amount": 3}, {"itemId": d, "amount": 4}],
        "expiresAt": f"{expires_at:%Y-%m-%dT%H:%M:%SZ}",
    }
    assert api.check(*hers, *for_her) == ["unspent"] * 3 + ["unknown"] * 3
    read = api.get(f"/v1/offers/{offer_id}")
    assert (read.json(), read.headers["Cache-Control"]) == (answer.json(), "no-store")
    head = api.http.head(f"/v1/offers/{offer_id}")
    assert (head.status_code, head.content) == (200, b"")


def test_a_completion_moves_both_halves(api, ledger):
    a, b, c = (api.mint("+5.hers", "+4.his") for _ in range(3))
    hers, for_her = [f"+5.{a}.hers", f"+5.{b}.hers"], [fresh(4, c), fresh(3, a)]
    his, for_him = [f"+4.{c}.his"], [f"+2.{a}.his too", f"+5.{b}.of b"]
    offer_id = api.offer_id(hers, for_her)

    answer = api.complete(offer_id, his, for_him)

    assert good(answer) == SUCCESS
    assert api.get(f"/v1/offers/{offer_id}").json()["state"] == "completed"
    assert api.check(*hers, *his) == ["spent"] * 3
    assert api.check(*for_her, *for_him) == ["unspent"] * 4
    assert ledger.operations()[-2:] == [("offer", 2, 2), ("swap", 3, 4)]


def test_256_outputs_and_inputs_a_side_are_one_swap(api, ledger):
    a, b = (api.mint(*(f"+1.{n}" for n in range(256))) for _ in range(2))
    hers, his = ([f"+1.{item}.{n}" for n in range(256)] for item in (a, b))
    offer_id = api.offer_id(hers, [fresh(1, b) for _ in range(256)])

    answer = api.complete(offer_id, his, [fresh(1, a) for _ in range(256)])

    assert good(answer) == SUCCESS
    assert ledger.operations()[-1] == ("swap", 512, 512)


@pytest.fixture(scope="module")
def ground(shared_api):
    """The words of the tables; the open offer gives `b`, 3 units, for 4 units.

    The item has 10 units: 5 live as `a`, 3 as `b`, and 2 spent as `s`, now under a
    strong secret.
    """
    item, other = shared_api.mint("+5.a", "+3.b", "+2.s"), shared_api.mint("+1.a")
    shared_api.mint("+1.a", key=KEY)
    old, new, fresh_one, two = (make_strong_secret() for _ in range(4))
    good(shared_api.swap(f"+2.{item}.s", f"+2.{item}.{old}"))
    opened = shared_api.offer_id(f"+3.{item}.b", f"+4.{item}.{new}")
    void = shared_api.offer_id(f"+1.{other}.a", fresh(1, item))
    good(shared_api.swap(f"+1.{other}.a", f"+1.{other}.b"))
    return {
        "make": "/v1/offers",
        "none": f"/v1/offers/{NO_OFFER}/complete",
        "void": f"/v1/offers/{void}/complete",
        "open": f"/v1/offers/{opened}/complete",
        "item": item,
        "nowhere": "deed_00000000000000000000000000",
        "old": old,
        "new": new,
        "fresh": fresh_one,
        "two": two,
    }


@pytest.mark.usefixtures("ground", "nothing_moves")
@pytest.mark.parametrize("fields", BAD_FIELDS)
def test_a_making_of_another_shape_is_refused(shared_api, fields):
    body = {"inputs": [], "outputs": ["+1.deed_x.x"]} | fields

    answer = shared_api.post("/v1/offers", body, KEY)

    assert refusal(answer) == (400, "invalid_request", None)


@pytest.mark.usefixtures("nothing_moves")
@pytest.mark.parametrize(("where", "inputs", "outputs", "key", "refused"), REFUSED)
def test_a_half_is_refused_for_what_is_judged_first(
    shared_api, ground, *, where, inputs, outputs, key, refused
):
    half = {
        "inputs": inputs.format(**ground).split(),
        "outputs": outputs.format(**ground).split(),
    }

    answer = shared_api.post(ground[where], half, key)

    code, _, place = refused.partition(" ")
    index = int(place[-2]) if place else None
    assert refusal(answer)[1:] == (code, index)
    assert answer.json()["detail"].startswith(place)


@pytest.mark.parametrize(
    ("days", "states"),
    [(0, ["void", "void", "completed"]), (8, ["expired", "expired", "completed"])],
)
def test_an_offer_that_has_ended_says_how_and_moves_nothing(
    api, ledger, monkeypatch, days, states
):
    item = api.mint("+5.a", "+1.b", "+1.c", "+1.late")
    used = fresh(1, item)
    offer_ids = [
        api.offer_id(f"+5.{item}.a", fresh(6, item)),
        api.offer_id([], used),
        api.offer_id([], fresh(1, item)),
    ]
    good(api.swap(f"+5.{item}.a", fresh(5, item)))
    good(api.swap(f"+1.{item}.b", used))
    good(api.complete(offer_ids[2], f"+1.{item}.c", []))
    later_ns = time.time_ns() + days * DAY_NS
    monkeypatch.setattr(time, "time_ns", lambda: later_ns)

    with ledger.unchanged():
        read = [api.get(f"/v1/offers/{each}").json()["state"] for each in offer_ids]
        refused = [api.complete(each, f"+1.{item}.late", []) for each in offer_ids]

    assert read == states
    assert [refusal(each) for each in refused] == [(400, "offer_not_open", None)] * 3
    assert [each.json()["detail"].split()[-1] for each in refused] == states


@pytest.mark.parametrize("offer_id", [NO_OFFER, "offer_x", NO_OFFER.upper(), "é%00"])
def test_an_offer_that_nobody_made_is_not_found(shared_api, offer_id):
    answer = shared_api.get(f"/v1/offers/{offer_id}")

    assert refusal(answer) == (404, "unknown_offer", None)
    assert answer.headers["Cache-Control"] == "no-store"
