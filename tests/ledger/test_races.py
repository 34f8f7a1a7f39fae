"""Races for the same units, secret or key.

One wins, others are told so, and the books balance.
"""

import random
from collections import Counter
from functools import partial
from itertools import cycle

import pytest

from deeds.domain.model import Argon2Cost
from deeds.domain.raw_output import make_strong_secret
from tests.ledger.offer_races import OFFER_RACES
from tests.support.racing import Racers, client_of_app, client_of_port

THREADS_COUNT = 32
CROSSING_COUNT = 8
ROUNDS_COUNT = 12
# Each round of these lets PostgreSQL look for a deadlock.
DEADLOCK_ROUNDS_COUNT = 3
PEPPER = b"a-pepper-of-32-or-more-characters"


def strong(count):
    # No slow hashing: the requests shall meet in the ledger, not in the queue before
    # it.
    return [make_strong_secret() for _ in range(count)]


def assert_one_won(said, code):
    assert Counter(said) == {(200, None, None): 1, (400, code, 0): len(said) - 1}


def race_to_spend_one_output(racers, ledger):
    [secret], new = strong(1), strong(THREADS_COUNT)
    item = racers.mint(f"+5.{secret}")
    outputs = [f"+5.{item}.{each}" for each in new]

    said = racers.swap_at_once(
        [([f"+5.{item}.{secret}"], [output]) for output in outputs]
    )

    assert_one_won(said, "spent_input")
    assert ledger.live(item) == [5]
    states = ["unspent" if status == 200 else "unknown" for status, _, _ in said]
    assert racers.check(outputs) == states


def race_to_create_one_secret(racers, ledger):
    [wanted], sources = strong(1), strong(THREADS_COUNT)
    item = racers.mint(*(f"+5.{each}" for each in sources))
    inputs = [f"+5.{item}.{each}" for each in sources]

    said = racers.swap_at_once([([each], [f"+5.{item}.{wanted}"]) for each in inputs])

    assert_one_won(said, "used_secret")
    assert ledger.live(item) == [5] * THREADS_COUNT
    states = ["spent" if status == 200 else "unspent" for status, _, _ in said]
    assert racers.check(inputs) == states


def race_to_spend_the_same_outputs_in_crossing_orders(racers, ledger):
    shuffle = random.Random(17).shuffle
    items = [racers.mint("+8.first") for _ in range(2)]
    secrets = ["first"]

    for _ in range(ROUNDS_COUNT):
        sources = [
            f"+{8 // len(secrets)}.{item}.{each}" for item in items for each in secrets
        ]
        offers = [strong(4) for _ in range(CROSSING_COUNT)]
        swaps = []
        for offer in offers:
            inputs, outputs = (
                list(sources),
                [f"+2.{i}.{s}" for i in items for s in offer],
            )
            shuffle(inputs)
            shuffle(outputs)
            swaps.append((inputs, outputs))

        said = racers.swap_at_once(swaps)

        statuses = [status for status, _, _ in said]
        assert sorted(statuses) == [200] + [400] * (CROSSING_COUNT - 1), said
        assert {code for _, code, _ in said} == {None, "spent_input"}
        secrets = offers[statuses.index(200)]
    for item in items:
        assert ledger.live(item) == [2, 2, 2, 2]


def race_to_spend_overlapping_outputs(racers, ledger):
    item = racers.mint(*(f"+1.{index}" for index in range(3)))
    live = ["0", "1", "2"]

    for _ in range(ROUNDS_COUNT):
        pairs = [(live[0], live[1]), (live[1], live[2]), (live[2], live[0])]
        new = [strong(2) for _ in pairs]
        said = racers.swap_at_once(
            [
                [[f"+1.{item}.{each}" for each in half] for half in halves]
                for halves in zip(pairs, new, strict=True)
            ]
        )

        # Any two of the pairs share an output.
        statuses = [status for status, _, _ in said]
        assert sorted(statuses) == [200, 400, 400], said
        winner = statuses.index(200)
        [left] = set(live) - set(pairs[winner])
        live = [left, *new[winner]]
    assert racers.check([f"+1.{item}.{each}" for each in live]) == ["unspent"] * 3


def race_to_create_what_the_other_one_spends(racers, ledger):
    for _ in range(DEADLOCK_ROUNDS_COUNT):
        a, b = strong(2)
        item = racers.mint(f"+5.{a}", f"+5.{b}")
        there = ([f"+5.{item}.{a}"], [f"+5.{item}.{b}"])
        back = ([f"+5.{item}.{b}"], [f"+5.{item}.{a}"])

        said = racers.swap_at_once([there, back] * 4)

        assert Counter(said) == {(400, "used_secret", 0): 8}
        assert ledger.live(item) == [5, 5]


RACES = [
    race_to_spend_one_output,
    race_to_create_one_secret,
    race_to_spend_the_same_outputs_in_crossing_orders,
    race_to_spend_overlapping_outputs,
    race_to_create_what_the_other_one_spends,
    *OFFER_RACES,
]


@pytest.mark.parametrize("race", RACES)
def test_of_racing_threads_one_wins_and_the_others_are_refused(app, ledger, race):
    race(Racers(partial(client_of_app, app)), ledger)


def test_of_clients_of_two_masters_one_wins_and_the_others_are_refused(
    gunicorn_service, database_url, ledger
):
    settings = {"DATABASE_URL": database_url, "WEB_CONCURRENCY": "2"}
    ports = cycle([gunicorn_service(**settings).port for _ in range(2)])

    for race in RACES:
        race(Racers(lambda: client_of_port(next(ports))), ledger)


@pytest.mark.parametrize("race", RACES)
def test_processes_of_different_settings_race_alike(open_client, ledger, race):
    """As in the middle of a rolling change of cost and pepper."""
    older = open_client({"peppers_old": (PEPPER,)})
    newer = open_client({"ordinary_cost": Argon2Cost(16, 1, 1), "pepper": PEPPER})
    apps = cycle([older.application, newer.application])

    race(Racers(lambda: client_of_app(next(apps))), ledger)
