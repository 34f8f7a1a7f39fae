"""Offers and Idempotency-Keys, and offers under a change of settings."""

from contextlib import contextmanager
from functools import partial

import pytest

from deeds.domain.model import Argon2Cost
from tests.support.hooks import hooked
from tests.support.requests import check, complete, fresh, mint, offer, refusal, swap

REUSED = (422, "idempotency_key_reused", None)
SUCCESS = {"success": True}
DEARER = {"ordinary_cost": Argon2Cost(16, 1, 1)}


def state(client, offered):
    return client.get(f"/v1/offers/{offered.get_json()['offerId']}").get_json()["state"]


def replayed(answer):
    return answer.status_code, answer.headers.get("Idempotency-Replayed")


@pytest.mark.parametrize("turn", [1, -1], ids=["same order", "other order"])
def test_another_process_replays_makings_and_completions_alone(
    open_client, ledger, turn
):
    client, restarted = open_client({}), open_client(DEARER)
    item, wanted = mint(client, "+5.a", "+4.b", "+1.c"), mint(client, "+3.x", "+2.y")
    hers, for_her = [f"+5.{item}.a", f"+4.{item}.b"], [fresh(5, wanted), fresh(1, item)]
    his, for_him = (
        [f"+3.{wanted}.x", f"+2.{wanted}.y"],
        [fresh(2, item), f"+6.{item}.z"],
    )
    made = offer(client, hers, for_her, "make", expiresIn=604800)
    assert complete(client, made, his, for_him, "complete").get_json() == SUCCESS
    other = offer(client, [], [fresh(1, wanted)])
    before = ledger.rows()

    made_again = offer(restarted, hers[::turn], for_her[::turn], "make")
    completed_again = complete(
        restarted, made, his[::turn], for_him[::turn], "complete"
    )

    assert [replayed(each) for each in (made_again, completed_again)] == [
        (200, "true")
    ] * 2
    assert made_again.get_json() == made.get_json() | {"state": "completed"}
    assert completed_again.get_json() == SUCCESS
    others = [
        offer(restarted, hers, for_her, "make", expiresIn=604801),
        offer(restarted, hers[:1], for_her, "make"),
        offer(restarted, hers, for_her[:1], "make"),
        offer(restarted, hers, [for_her[0], fresh(1, item)], "make"),
        offer(restarted, [hers[0], f"+1.{item}.c"], for_her, "make"),
        offer(restarted, hers, [for_her[0], for_her[1].replace("+1", "+2")], "make"),
        offer(restarted, hers, for_her, "complete"),
        swap(restarted, his, [fresh(5, wanted)], "make"),
        swap(restarted, hers + his, for_her + for_him, "complete"),
        complete(restarted, made, his, for_him, "make"),
        complete(restarted, other, his, for_him, "complete"),
        complete(restarted, made, hers, for_her, "complete"),
        complete(
            restarted, made, [his[0], hers[0]], [for_him[0], for_her[0]], "complete"
        ),
        complete(restarted, made, his, [for_him[0], fresh(6, item)], "complete"),
    ]
    assert [refusal(each) for each in others] == [REUSED] * len(others)
    assert ledger.rows() == before


@contextmanager
def when_the_state_is_read(event, happen):
    """Call the function once.

    At this event of the statement that reads the state of an offer.
    """
    calls = [happen]

    def hook(_connection, _cursor, text, *_):
        if "completed_by IS NOT NULL THEN" in text and calls:
            calls.pop()()

    with hooked(event, hook):
        yield


@pytest.fixture
def trade():
    """A function that offers 5 units for 2 of another item."""

    def make(client):
        item, wanted = mint(client, "+5.a"), mint(client, "+2.b", "+1.c", "+1.d")
        offered = offer(client, [f"+5.{item}.a"], [fresh(2, wanted)])
        return offered, [f"+2.{wanted}.b"], [f"+5.{item}.e"]

    return make


@pytest.mark.parametrize(
    ("is_same", "answer"), [(True, (200, "true")), (False, (422, None))]
)
def test_a_key_is_looked_up_again_before_an_offer_is_not_open(
    clients, ledger, trade, is_same, answer
):
    """A twin may have completed it meanwhile, or another request under its key."""
    client, twin = clients
    offered, paid, got = trade(client)
    others = got if is_same else [got[0] + " of another"]

    twin_completes = partial(complete, twin, offered, paid, others, "order 17")
    with when_the_state_is_read("before_cursor_execute", twin_completes):
        said = complete(client, offered, paid, got, "order 17")

    assert replayed(said) == answer
    assert check(client, *paid, *others) == ["spent", "unspent"]


# Settings that follow one another on a ledger.
PEPPER, LATER = (text.encode() * 8 for text in ("some", "more"))
CHANGES = [DEARER, {"pepper": PEPPER}, {"pepper": LATER}]


def test_an_offer_survives_every_change_of_settings(open_client, trade, ledger):
    client = open_client({"peppers_old": (PEPPER,)})
    offers = [trade(client)]

    for changes in CHANGES:
        client = open_client(changes | {"peppers_old": (PEPPER,)})
        states = {state(client, offered) for offered, *_ in offers}
        assert states == {"open"}
        offers.append(trade(client))
    for offered, paid, got in offers:
        assert complete(client, offered, paid, got).get_json() == SUCCESS
        assert state(client, offered) == "completed"
        assert check(client, *paid, *got) == ["spent", "unspent"]
