"""Making, reading and completing offers (contract part 3).

What is answered, and what is moved.
"""

import time
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from deeds.domain.raw_output import make_strong_secret
from tests.support.requests import (
    check,
    complete,
    fresh,
    mint,
    offer,
    post,
    refusal,
    swap,
)

SUCCESS = {"success": True}
NO_OFFER = "offer_00000000000000000000000000"
KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"
STRONG = [make_strong_secret() for _ in range(4)]
# A week is how long an offer is open.
LATER = SimpleNamespace(time_ns=lambda: time.time_ns() + 8 * 24 * 60 * 60 * 10**9)


def test_several_items_change_hands_both_ways_and_nothing_else_is_told(client, ledger):
    items = sorted(mint(client, "+5.hers", "+4.his") for _ in range(4))
    a, b, c, d = items
    # She gives 2 of A and 5 of B for 3 of C and 4 of D, and keeps 3 of A and 5 of C.
    hers = [f"+5.{each}.hers" for each in (c, b, a)]
    for_her = [fresh(amount, item) for amount, item in [(4, d), (3, a), (8, c)]]
    offered = offer(client, hers, for_her, expiresIn=61)
    *_, inputs_count, outputs_count, made_at_ms = ledger.rows()["operations"][-1]
    expires_at = datetime.fromtimestamp(-(-made_at_ms // 1000) + 61, UTC)

    said = offered.get_json()
    path = f"/v1/offers/{said['offerId']}"
    read, head = client.get(path), client.head(path)

    assert said == {
        "offerId": said["offerId"],
        "state": "open",
        "gives": [{"itemId": a, "amount": 2}, {"itemId": b, "amount": 5}],
        "wants": [{"itemId": c, "amount": 3}, {"itemId": d, "amount": 4}],
        "expiresAt": f"{expires_at:%Y-%m-%dT%H:%M:%SZ}",
    }
    assert (read.get_json(), read.headers["Cache-Control"]) == (said, "no-store")
    assert (head.status_code, head.data, inputs_count, outputs_count) == (
        200,
        b"",
        3,
        3,
    )
    assert check(client, *hers, *for_her) == ["unspent"] * 3 + ["unknown"] * 3

    his = [f"+4.{c}.his", f"+4.{d}.his"]
    for_him = [f"+1.{c}.change", f"+5.{b}.of b", fresh(2, a)]
    completed = complete(client, offered, his, for_him)

    assert (completed.status_code, completed.get_json()) == (200, SUCCESS)
    assert client.get(path).get_json() == said | {"state": "completed"}
    assert check(client, *hers, *his) == ["spent"] * 5
    assert check(client, *for_her, *for_him) == ["unspent"] * 6
    assert ledger.operations()[-1] == ("swap", 5, 6)


def test_256_outputs_and_inputs_a_side_are_one_swap(client, ledger):
    a, b = (mint(client, *(f"+1.{number}" for number in range(256))) for _ in range(2))
    hers, his = ([f"+1.{item}.{number}" for number in range(256)] for item in (a, b))
    offered = offer(client, hers, [fresh(1, b) for _ in range(256)])

    completed = complete(client, offered, his, [fresh(1, a) for _ in range(256)])

    assert completed.get_json() == SUCCESS
    assert ledger.operations()[-1] == ("swap", 512, 512)


@pytest.fixture
def ground(client):
    """What is named in OTHERS.

    Offers by state: the open one gives `b`, 3 units, for 4 units.

    The item has 10 units: 5 live as `a`, 3 as `b`, and 2 spent as `s`, now under a
    strong secret.
    """
    item, other = mint(client, "+5.a", "+3.b", "+2.s"), mint(client, "+1.a")
    old, new, fresh_one, two = STRONG
    swap(client, [f"+2.{item}.s"], [f"+2.{item}.{old}"])
    post(client, "/v1/mint", {"outputs": ["+1.a"]}, KEY)
    opened = offer(client, [f"+3.{item}.b"], [f"+4.{item}.{new}"])
    void = offer(client, [f"+1.{other}.a"], [f"+1.{item}.{two}"])
    swap(client, [f"+1.{other}.a"], [f"+1.{other}.b"])
    ids = {"open": opened.get_json()["offerId"], "void": void.get_json()["offerId"]}
    return ids | {
        "none": NO_OFFER,
        "item": item,
        "old": old,
        "new": new,
        "fresh": fresh_one,
    }


MAKE, NONE, VOID, OPEN = "", "/{none}/complete", "/{void}/complete", "/{open}/complete"
NOWHERE = "deed_00000000000000000000000000"
A, B, S, X, Y = (f".{{item}}.{name}" for name in "absxy")
NO, NO_NEW = f".{NOWHERE}.a", f".{NOWHERE}.{STRONG[2]}"
OLD, NEW, FRESH = ".{item}.{old}", ".{item}.{new}", ".{item}.{fresh}"
BAD_SHAPES = [{"inputs": None}, {"outputs": []}]
BAD_SHAPES += [{"expiresIn": n} for n in (59, 2592001, 60.0, None)]

# Each breaks the rule of its code, and rules that are judged after it. The key is
# another mint's.
REFUSED = [
    *[
        (MAKE, [], ["+1" + X], KEY, ("invalid_request", None), rest)
        for rest in BAD_SHAPES
    ],
    (MAKE, ["+1" + A] * 257, ["+1" + X], KEY, ("invalid_request", None)),
    (MAKE, ["+1" + A] * 2, ["+1" + X], KEY, ("duplicate_input", 1)),
    (MAKE, ["+1" + A], ["+1" + B, "+1" + A], KEY, ("duplicate_secret", 1)),
    (MAKE, ["+2" + A], ["+1" + FRESH, "+1" + X], KEY, ("weak_secret", 1)),
    (MAKE, ["+2" + NO], ["+2" + NO_NEW], KEY, ("not_an_offer", None)),
    (MAKE, [], ["+2" + NO_NEW], KEY, ("idempotency_key_reused", None)),
    (MAKE, ["+1" + X, "+1" + NO], ["+2" + NO_NEW], None, ("unknown_item", 1)),
    (MAKE, ["+1" + X], ["+11" + FRESH, "+2" + NO_NEW], None, ("unknown_item", 1)),
    (MAKE, ["+1" + X], ["+9" + FRESH, "+2" + OLD], None, ("total_too_large", None)),
    (MAKE, ["+2" + S, "+4" + A], ["+8" + OLD], None, ("unknown_input", 1)),
    (MAKE, ["+5" + A, "+2" + S], ["+8" + OLD], None, ("spent_input", 1)),
    (MAKE, ["+5" + A], ["+4" + FRESH, "+4" + OLD], None, ("used_secret", 1)),
    (NONE, [], [], KEY, ("invalid_request", None)),
    (NONE, ["+1" + NO] * 2, [], KEY, ("duplicate_input", 1)),
    (NONE, ["+1" + A], ["+1" + A], KEY, ("duplicate_secret", 0)),
    (NONE, ["+1" + NO], [], KEY, ("idempotency_key_reused", None)),
    (NONE, ["+1" + NO], [], None, ("unknown_offer", None)),
    (VOID, ["+1" + NO], [], None, ("offer_not_open", None)),
    (OPEN, ["+1" + X, "+1" + NO], [], None, ("unknown_item", 1)),
    (OPEN, ["+1" + X], ["+1" + NO], None, ("unknown_item", 0)),
    (OPEN, ["+2" + X], ["+2" + A], None, ("unbalanced", None)),
    (OPEN, ["+2" + S, "+1" + X], ["+2" + A], None, ("unknown_input", 1)),
    (OPEN, ["+2" + S], ["+1" + A], None, ("spent_input", 0)),
    (OPEN, ["+5" + A], ["+3" + Y, "+1" + S], None, ("used_secret", 1)),
    # What both halves name. Nobody without inputs is told of the maker's.
    (OPEN, ["+1" + X, "+3" + B], ["+3" + Y], None, ("duplicate_input", 1)),
    (OPEN, ["+5" + A], ["+4" + NEW], None, ("duplicate_secret", 0)),
    (OPEN, ["+5" + A], ["+1" + Y, "+3" + B], None, ("used_secret", 1)),
    (OPEN, ["+5" + X], ["+4" + B], None, ("unknown_input", 0)),
    (OPEN, ["+4" + NEW], ["+3" + Y], None, ("used_secret", None)),
]
STATUSES = {"idempotency_key_reused": 422, "unknown_offer": 404}


def test_a_half_is_refused_for_what_is_judged_first_and_nothing_changes(
    client, ledger, ground
):
    before = ledger.rows()

    for path, inputs, outputs, key, (code, index), *rest in REFUSED:
        halves = {"inputs": inputs, "outputs": outputs}
        body = {
            name: [each.format(**ground) for each in halves[name]] for name in halves
        }
        body |= rest[0] if rest else {}
        answer = post(client, "/v1/offers" + path.format(**ground), body, key)
        assert refusal(answer) == (STATUSES.get(code, 400), code, index), (
            path,
            inputs,
            outputs,
        )
        if code == "unknown_item":
            array = "inputs" if NOWHERE in inputs[-1] else "outputs"
            assert answer.get_json()["detail"].startswith(array)

    assert ledger.rows() == before


def test_an_offer_that_is_not_open_any_more_says_why_and_moves_nothing(
    client, ledger, monkeypatch
):
    item = mint(client, "+5.a", "+1.b", "+1.c", "+1.late")
    used, asked = fresh(1, item), fresh(1, item)
    halves = ([f"+5.{item}.a"], [fresh(6, item)]), ([], [used]), ([], [asked])
    offers = [offer(client, *half) for half in halves]

    def states():
        paths = [f"/v1/offers/{each.get_json()['offerId']}" for each in offers]
        return [client.get(path).get_json()["state"] for path in paths]

    assert swap(client, [f"+5.{item}.a"], [fresh(5, item)]).get_json() == SUCCESS
    assert swap(client, [f"+1.{item}.b"], [used]).get_json() == SUCCESS
    assert complete(client, offers[2], [f"+1.{item}.c"], []).get_json() == SUCCESS
    before = ledger.rows()

    for expected in (
        ["void", "void", "completed"],
        ["expired", "expired", "completed"],
    ):
        assert states() == expected
        for offered, state in zip(offers, expected, strict=True):
            refused = complete(client, offered, [f"+1.{item}.late"], [])
            assert refusal(refused) == (400, "offer_not_open", None)
            assert refused.get_json()["detail"].endswith(state)
        monkeypatch.setattr("storage.repository.time", LATER)
    assert ledger.rows() == before


@pytest.mark.parametrize("offer_id", [NO_OFFER, "offer_x", NO_OFFER.upper(), "é%00"])
def test_an_offer_that_nobody_made_is_not_found(client, offer_id):
    answer = client.get(f"/v1/offers/{offer_id}")

    assert refusal(answer) == (404, "unknown_offer", None)
    assert answer.headers["Cache-Control"] == "no-store"
