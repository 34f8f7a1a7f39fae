"""Races for the same units, secret, offer or key.

One wins, others are told so, and the books balance.
"""

import random
from collections import Counter
from functools import partial
from uuid import uuid4

import pytest

from tests.support.api import REUSED, fresh
from tests.support.racing import at_once, mint_strong, outcome_of, race
from tests.support.strong_secrets import make_strong_secret

SWAPS_COUNT = 32
CROSSING_COUNT = 8
CROSSING_ROUNDS_COUNT = 12
# Who complete one offer, or how often a request is sent.
RIVALS_COUNT = 8
ROUNDS_COUNT = 4
# Of swaps that could wait for each other in a circle.
CIRCLES_COUNT = 500

WON = (200, None, None)
SPENT = (400, "spent_input", 0)
USED = (400, "used_secret", 0)
NOT_OPEN = (400, "offer_not_open", None)
UNKNOWN = (400, "unknown_input", 0)

# PostgreSQL counts those that it ended for a deadlock.
DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"

MINTED = f"+5.{make_strong_secret()}"
# What each kind of request leaves: kind, number of inputs and of outputs.
OPERATIONS = {
    "mint": ("mint", 0, 1),
    "swap": ("swap", 1, 1),
    "offer": ("offer", 1, 1),
    "completion": ("swap", 2, 2),
}


@pytest.mark.parametrize(
    "racers",
    [
        pytest.param("one process", marks=pytest.mark.slow),
        "different settings",
        "two masters",
    ],
    indirect=True,
)
def test_of_swaps_that_spend_one_output_one_wins(racers, shared_ledger):
    item, [source] = mint_strong(next(racers), 5)
    outputs = [fresh(5, item) for _ in range(SWAPS_COUNT)]

    answers = race([partial(next(racers).swap, source, each) for each in outputs])

    assert Counter(answers) == {WON: 1, SPENT: SWAPS_COUNT - 1}
    states = ["unspent" if each == WON else "unknown" for each in answers]
    assert next(racers).check(*outputs) == states
    assert shared_ledger.live(item) == [5]


def test_of_swaps_that_create_one_secret_one_wins(racers, shared_ledger):
    item, sources = mint_strong(next(racers), *[5] * SWAPS_COUNT)
    wanted = fresh(5, item)

    answers = race([partial(next(racers).swap, each, wanted) for each in sources])

    assert Counter(answers) == {WON: 1, USED: SWAPS_COUNT - 1}
    states = ["spent" if each == WON else "unspent" for each in answers]
    assert next(racers).check(*sources) == states
    assert shared_ledger.live(item) == [5] * SWAPS_COUNT


def test_of_swaps_that_name_the_same_outputs_in_any_order_one_wins(
    racers, shared_ledger
):
    shuffled = random.Random(17)
    (first, [one]), (second, [other]) = (mint_strong(next(racers), 8) for _ in "ab")
    sources = [one, other]

    for _ in range(CROSSING_ROUNDS_COUNT):
        attempts = [
            [fresh(2, item) for item in (first, second) for _ in range(4)]
            for _ in range(CROSSING_COUNT)
        ]
        swaps = [
            partial(
                next(racers).swap,
                shuffled.sample(sources, len(sources)),
                shuffled.sample(outputs, len(outputs)),
            )
            for outputs in attempts
        ]

        answers = race(swaps)

        assert Counter(answers) == {WON: 1, SPENT: CROSSING_COUNT - 1}
        sources = attempts[answers.index(WON)]
    assert shared_ledger.live(first) == [2, 2, 2, 2]
    assert shared_ledger.live(second) == [2, 2, 2, 2]


@pytest.mark.slow
@pytest.mark.parametrize("racers", ["different settings"], indirect=True)
def test_swaps_that_create_what_others_spend_end_without_a_deadlock(
    racers, shared_ledger
):
    item, [x, y] = mint_strong(next(racers), 9, 9)

    def with_secret_of(raw, outputs_count):
        """Return outputs of 9 units; the first one has the secret."""
        secret = raw.rpartition(".")[2]
        others = [fresh(1, item) for _ in range(outputs_count - 1)]
        return [f"+{9 - len(others)}.{item}.{secret}", *others]

    for number in range(CIRCLES_COUNT):
        z, w = fresh(9, item), fresh(9, item)
        # Nine are looked at before they are written.
        outputs_count = (1, 9)[number % 2]

        x_to_y, y_to_x, x_to_z, z_to_w = race(
            [
                partial(next(racers).swap, x, with_secret_of(y, outputs_count)),
                partial(next(racers).swap, y, with_secret_of(x, outputs_count)),
                partial(next(racers).swap, x, z),
                partial(next(racers).swap, z, w),
            ]
        )

        assert x_to_y in (USED, SPENT)
        assert (y_to_x, x_to_z) == (USED, WON)
        assert z_to_w in (WON, UNKNOWN)
        x = w if z_to_w == WON else z
    assert shared_ledger.live(item) == [9, 9]
    if not shared_ledger.is_sqlite:
        assert shared_ledger.read(DEADLOCKS) == [(0,)]


class Trade:
    """An offer of 5 units for 2 of another item, and halves that complete it.

    `third` are units of that item too, of somebody who has no part in it.
    """

    def __init__(self, racers, ledger, completers_count=1):
        self.racers = racers
        self.ledger = ledger
        self.item, [self.hers] = mint_strong(next(racers), 5)
        self.wanted, paid = mint_strong(next(racers), *[2] * (completers_count + 1))
        *self.his, self.third = paid
        self.for_him = [fresh(5, self.item) for _ in self.his]
        self.for_her, self.new = fresh(2, self.wanted), fresh(2, self.wanted)
        self.offer_id = next(racers).offer_id(self.hers, self.for_her)

    def completions(self):
        """Return the completion of each who wants to complete it."""
        return [
            partial(next(self.racers).complete, self.offer_id, paid, got)
            for paid, got in zip(self.his, self.for_him, strict=True)
        ]

    def request(self, kind):
        """Return a request of a kind, to be sent under a key."""
        api = next(self.racers)
        return {
            "mint": partial(api.send_mint, MINTED),
            "swap": partial(api.swap, self.third, self.new),
            "offer": partial(api.offer, self.hers, self.new),
            "completion": partial(api.complete, self.offer_id, self.his, self.for_him),
        }[kind]

    def assert_done(self, kind, before):
        """Assert that since then one operation was carried out, of this kind."""
        assert self.ledger.operations() == [*before, OPERATIONS[kind]]
        self.assert_won(0 if kind == "completion" else None)

    def assert_won(self, winner):
        """Assert that only her half and that of the winner changed hands, if any."""
        api = next(self.racers)
        paid, got = ["unspent"] * len(self.his), ["unknown"] * len(self.his)
        if winner is not None:
            paid[winner], got[winner] = "spent", "unspent"
            assert api.check(self.hers, self.for_her) == ["spent", "unspent"]
        assert api.check(*self.his, *self.for_him) == paid + got
        assert self.ledger.live(self.item) == [5]
        assert self.ledger.live(self.wanted) == [2] * (len(self.his) + 1)


def test_of_completions_of_one_offer_one_wins(racers, shared_ledger):
    trade = Trade(racers, shared_ledger, RIVALS_COUNT)

    answers = race(trade.completions())

    assert Counter(answers) == {WON: 1, NOT_OPEN: RIVALS_COUNT - 1}
    trade.assert_won(answers.index(WON))


def test_of_two_offers_of_the_same_units_one_is_completed_once(racers, shared_ledger):
    for _ in range(ROUNDS_COUNT):
        trade = Trade(racers, shared_ledger, 2)
        first, _ = trade.completions()
        trade.offer_id = next(racers).offer_id(trade.hers, trade.new)
        _, second = trade.completions()

        answers = race([first, second] * 2)

        assert Counter(answers) == {WON: 1, NOT_OPEN: 3}
        states = next(racers).check(trade.hers, *trade.for_him)
        assert sorted(states) == ["spent", "unknown", "unspent"]
        assert shared_ledger.live(trade.item) == [5]
        assert shared_ledger.live(trade.wanted) == [2, 2, 2]


@pytest.mark.parametrize("lost", [SPENT, USED], ids=["her input", "her new secret"])
def test_a_completion_or_the_swap_that_ends_the_offer_wins(racers, shared_ledger, lost):
    for _ in range(2 * ROUNDS_COUNT):
        trade = Trade(racers, shared_ledger)
        swap = partial(next(racers).swap, trade.third, trade.for_her)
        if lost == SPENT:
            swap = partial(next(racers).swap, trade.hers, fresh(5, trade.item))

        answers = race([*trade.completions(), swap])

        read = next(racers).get(f"/v1/offers/{trade.offer_id}").json()
        if read["state"] == "completed":
            assert answers == [WON, lost]
            trade.assert_won(0)
        else:
            assert read["state"] == "void"
            assert answers == [NOT_OPEN, WON]
            trade.assert_won(None)


def test_of_completions_of_an_offer_that_expires_one_wins_or_none(
    racers, shared_ledger
):
    for _ in range(ROUNDS_COUNT):
        trade = Trade(racers, shared_ledger, 2)

        *completed, _ = at_once([*trade.completions(), shared_ledger.expire_offers])

        answers = [outcome_of(each) for each in completed]
        assert Counter(answers) in ({WON: 1, NOT_OPEN: 1}, {NOT_OPEN: 2})
        winner = answers.index(WON) if WON in answers else None
        trade.assert_won(winner)


@pytest.mark.parametrize("kind", OPERATIONS)
def test_a_request_sent_at_once_under_one_key_is_one_operation(
    racers, shared_ledger, kind
):
    for _ in range(ROUNDS_COUNT):
        trade = Trade(racers, shared_ledger)
        before, key = shared_ledger.operations(), str(uuid4())
        requests = [partial(trade.request(kind), key=key) for _ in range(RIVALS_COUNT)]

        answers = at_once(requests)

        told = {(each.status_code, each.text) for each in answers}
        assert told == {(200, answers[0].text)}
        trade.assert_done(kind, before)


def test_of_different_requests_under_one_key_one_wins(racers, shared_ledger):
    for _ in range(ROUNDS_COUNT):
        trade = Trade(racers, shared_ledger)
        before, key = shared_ledger.operations(), str(uuid4())

        answers = race([partial(trade.request(kind), key=key) for kind in OPERATIONS])

        assert Counter(answers) == {WON: 1, REUSED: 3}
        kind = list(OPERATIONS)[answers.index(WON)]
        trade.assert_done(kind, before)
