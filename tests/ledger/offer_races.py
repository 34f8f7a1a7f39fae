"""Races for offers: a completion against all that may end an offer meanwhile."""

from collections import Counter
from functools import partial
from uuid import uuid4

from deeds.domain.raw_output import make_strong_secret
from tests.support.racing import at_once
from tests.support.requests import fresh

ROUNDS_COUNT = 6
COMPLETERS_COUNT = 8

WON = (200, None)
NOT_OPEN = (400, "offer_not_open")


def half(inputs, outputs):
    return {"inputs": inputs, "outputs": outputs}


def said_of(answers):
    return [(status, answer.get("code")) for status, answer in answers]


class Trade:
    """An offer of 5 units for 2 of another item, and halves that complete it."""

    def __init__(self, racers, completers_count=1):
        mine, *secrets = (make_strong_secret() for _ in range(completers_count + 2))
        self.racers = racers
        self.item = racers.mint(f"+5.{mine}")
        self.wanted = racers.mint(*(f"+2.{each}" for each in secrets))
        self.hers, self.for_her = f"+5.{self.item}.{mine}", fresh(2, self.wanted)
        *self.his, self.third = (f"+2.{self.wanted}.{each}" for each in secrets)
        self.for_him = [fresh(5, self.item) for _ in self.his]
        self.path = self.offer(self.for_her)
        self.completions = [
            (f"{self.path}/complete", half([paid], [got]))
            for paid, got in zip(self.his, self.for_him, strict=True)
        ]

    def offer(self, for_her):
        """Offer hers for this output; return the path of the offer."""
        status, said = self.racers.send("/v1/offers", half([self.hers], [for_her]))
        assert status == 200, said
        return f"/v1/offers/{said['offerId']}"

    def one_of_each_kind(self):
        return [
            ("/v1/mint", {"outputs": [f"+5.{make_strong_secret()}"]}),
            ("/v1/swap", half([self.third], [fresh(2, self.wanted)])),
            ("/v1/offers", half([self.hers], [fresh(2, self.wanted)])),
            *self.completions,
        ]

    def assert_won(self, ledger, winner):
        """Assert that only the halves of the winner and hers changed hands.

        Or none, of None.
        """
        for number, (paid, got) in enumerate(zip(self.his, self.for_him, strict=True)):
            is_won = number == winner
            expected = ["spent", "unspent"] if is_won else ["unspent", "unknown"]
            assert self.racers.check([paid, got]) == expected
        if winner is not None:
            assert self.racers.check([self.hers, self.for_her]) == ["spent", "unspent"]
        assert ledger.live(self.item) == [5]
        assert ledger.live(self.wanted) == [2] * (len(self.his) + 1)


def race_to_complete_one_offer(racers, ledger):
    trade = Trade(racers, COMPLETERS_COUNT)

    said = said_of(racers.send_at_once(trade.completions))

    assert Counter(said) == {WON: 1, NOT_OPEN: COMPLETERS_COUNT - 1}
    trade.assert_won(ledger, said.index(WON))


def race_to_complete_two_offers_of_the_same_units(racers, ledger):
    for _ in range(ROUNDS_COUNT):
        trade = Trade(racers, 2)
        first, (_, body) = trade.completions
        second = f"{trade.offer(fresh(2, trade.wanted))}/complete", body

        said = said_of(racers.send_at_once([first, second] * 2))

        assert Counter(said) == {WON: 1, NOT_OPEN: 3}
        states = racers.check([trade.hers, *trade.for_him])
        assert sorted(states) == ["spent", "unknown", "unspent"]
        assert (ledger.live(trade.item), ledger.live(trade.wanted)) == ([5], [2] * 3)


def race_to_complete_what_a_swap_ends(racers, ledger):
    """It spends an input of the maker or uses his new secret."""
    for number in range(4 * ROUNDS_COUNT):
        trade = Trade(racers)
        swap, code = [
            (half([trade.hers], [fresh(5, trade.item)]), "spent_input"),
            (half([trade.third], [trade.for_her]), "used_secret"),
        ][number % 2]
        complete = partial(racers.send, *trade.completions[0])

        said = said_of(at_once([complete, partial(racers.send, "/v1/swap", swap)]))

        is_completed = said[0] == WON
        assert said == ([WON, (400, code)] if is_completed else [NOT_OPEN, WON])
        trade.assert_won(ledger, 0 if is_completed else None)
        _, read = racers.send(trade.path)
        assert read["state"] == ("completed" if is_completed else "void")


def race_to_complete_what_expires(racers, ledger):
    for _ in range(ROUNDS_COUNT):
        trade = Trade(racers, 2)
        calls = [partial(racers.send, *each) for each in trade.completions]

        *answers, _ = at_once([*calls, ledger.expire_offers])

        said = said_of(answers)
        assert Counter(said) in ({WON: 1, NOT_OPEN: 1}, {NOT_OPEN: 2})
        trade.assert_won(ledger, said.index(WON) if WON in said else None)


def race_to_carry_out_a_request_under_one_key(racers, ledger):
    for _ in range(ROUNDS_COUNT):
        trade, before = Trade(racers), ledger.operations()

        for path, body in trade.one_of_each_kind():
            answers = racers.send_at_once(
                [(path, body, str(uuid4()))] * COMPLETERS_COUNT
            )
            assert answers == [(200, answers[0][1])] * COMPLETERS_COUNT

        kinds = [("mint", 0, 1), ("swap", 1, 1), ("offer", 1, 1), ("swap", 2, 2)]
        assert ledger.operations() == [*before, *kinds]
        trade.assert_won(ledger, 0)


def race_to_carry_out_different_requests_under_one_key(racers, ledger):
    for _ in range(ROUNDS_COUNT):
        trade, before, key = Trade(racers), len(ledger.operations()), str(uuid4())

        said = said_of(
            racers.send_at_once([(*each, key) for each in trade.one_of_each_kind()])
        )

        assert Counter(said) == {WON: 1, (422, "idempotency_key_reused"): 3}
        assert len(ledger.operations()) == before + 1
        trade.assert_won(ledger, 0 if said[-1] == WON else None)


OFFER_RACES = [
    race_to_complete_one_offer,
    race_to_complete_two_offers_of_the_same_units,
    race_to_complete_what_a_swap_ends,
    race_to_complete_what_expires,
    race_to_carry_out_a_request_under_one_key,
    race_to_carry_out_different_requests_under_one_key,
]
