"""Races for the same units: one wins, the others are told so, and the books balance."""

import random
from collections import Counter
from functools import partial

import pytest

from deeds.domain.strong_secret import make_strong_secret
from tests.support.racing import Racers, client_of_app, client_of_port

THREADS_COUNT = 32
CROSSING_COUNT = 8
ROUNDS_COUNT = 12
# Each round of these lets PostgreSQL look for a deadlock, which it does after a second.
DEADLOCK_ROUNDS_COUNT = 3


@pytest.fixture(params=["one process", "three processes"])
def racers(request, database_url):
    """Clients of the service, in this process or behind a gunicorn of three."""
    if request.param == "one process":
        return Racers(partial(client_of_app, request.getfixturevalue("app")))
    start = request.getfixturevalue("gunicorn_service")
    service = start(DATABASE_URL=database_url, WEB_CONCURRENCY="3")
    return Racers(partial(client_of_port, service.port))


def strong(count):
    # No slow hashing: the requests shall meet in the ledger, not in the queue before it.
    return [make_strong_secret() for _ in range(count)]


def test_of_many_who_spend_one_output_exactly_one_succeeds(racers, ledger):
    [secret], new = strong(1), strong(THREADS_COUNT)
    item = racers.mint(f"+5.{secret}")

    said = racers.swap_at_once([([f"+5.{item}.{secret}"], [f"+5.{item}.{each}"]) for each in new])

    assert Counter(said) == {
        (200, None, None): 1,
        (400, "spent_input", 0): THREADS_COUNT - 1,
    }
    assert ledger.live(item) == [5]
    assert racers.check([f"+5.{item}.{each}" for each in new]) == [
        "unspent" if status == 200 else "unknown" for status, _, _ in said
    ]


def test_of_many_who_create_one_secret_exactly_one_succeeds(racers, ledger):
    [wanted], sources = strong(1), strong(THREADS_COUNT)
    item = racers.mint(*(f"+5.{each}" for each in sources))

    said = racers.swap_at_once(
        [([f"+5.{item}.{each}"], [f"+5.{item}.{wanted}"]) for each in sources]
    )

    assert Counter(said) == {
        (200, None, None): 1,
        (400, "used_secret", 0): THREADS_COUNT - 1,
    }
    assert ledger.live(item) == [5] * THREADS_COUNT
    assert racers.check([f"+5.{item}.{each}" for each in sources]) == [
        "spent" if status == 200 else "unspent" for status, _, _ in said
    ]


def test_of_crossing_swaps_of_the_same_outputs_exactly_one_succeeds(racers, ledger):
    shuffle = random.Random(17).shuffle
    items = [racers.mint("+8.first") for _ in range(2)]
    secrets = ["first"]

    for _ in range(ROUNDS_COUNT):
        sources = [f"+{8 // len(secrets)}.{item}.{each}" for item in items for each in secrets]
        offers = [strong(4) for _ in range(CROSSING_COUNT)]
        swaps = []
        for offer in offers:
            inputs, outputs = list(sources), [f"+2.{i}.{s}" for i in items for s in offer]
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


def test_of_overlapping_swaps_one_at_least_succeeds_and_the_rest_lose_nothing(racers, ledger):
    item = racers.mint(*(f"+1.{index}" for index in range(3)))
    live = ["0", "1", "2"]

    for _ in range(ROUNDS_COUNT):
        pairs = [(live[0], live[1]), (live[1], live[2]), (live[2], live[0])]
        new = [strong(2) for _ in pairs]
        said = racers.swap_at_once(
            [
                ([f"+1.{item}.{each}" for each in pair], [f"+1.{item}.{each}" for each in secrets])
                for pair, secrets in zip(pairs, new, strict=True)
            ]
        )

        # Any two of the pairs share an output.
        statuses = [status for status, _, _ in said]
        assert sorted(statuses) == [200, 400, 400], said
        winner = statuses.index(200)
        [left] = set(live) - set(pairs[winner])
        live = [left, *new[winner]]
    assert racers.check([f"+1.{item}.{each}" for each in live]) == ["unspent"] * 3


def test_swaps_that_lock_each_others_outputs_are_refused_and_never_fail(racers, ledger):
    """Each spends an output and wants to create the secret that the other one is spending."""
    for _ in range(DEADLOCK_ROUNDS_COUNT):
        a, b = strong(2)
        item = racers.mint(f"+5.{a}", f"+5.{b}")
        there = ([f"+5.{item}.{a}"], [f"+5.{item}.{b}"])
        back = ([f"+5.{item}.{b}"], [f"+5.{item}.{a}"])

        said = racers.swap_at_once([there, back] * 4)

        assert Counter(said) == {(400, "used_secret", 0): 8}
        assert ledger.live(item) == [5, 5]
