"""Secrets that fail are counted for each client, and who fails too often is refused."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from flask import Flask

import deeds.domain.hashing
from deeds.blueprints.limits import BoundedCounts, ClientLimits
from deeds.domain.errors import TooManyFailuresError
from deeds.domain.model import Argon2Cost
from deeds.domain.raw_output import make_strong_secret
from deeds.settings import RateLimits, Settings
from tests.support.evaluations import Evaluations
from tests.support.racing import client_of_port
from tests.support.requests import check, mint, post, refusal, swap
from tests.support.statement_log import logged_statements

COST = Argon2Cost(8, 1, 1)
OTHER_COST = Argon2Cost(16, 1, 1)
KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"
STRONG = [make_strong_secret() for _ in range(200)]
LIVE, NEW = f"+4.{{}}.{STRONG[0]}", f"+4.{{}}.{STRONG[1]}"


@pytest.fixture
def open_client(sqlite_url, open_app):
    """A function that opens a client of a service with this limit of failures."""

    def open_it(count, cost=COST):
        limits = RateLimits(failures=f"{count}/day" if count else None)
        app = open_app(Settings(sqlite_url, ordinary_cost=cost, rate_limits=limits))
        client = app.test_client()
        client.environ_base["REMOTE_ADDR"] = "192.0.2.1"
        return client

    return open_it


@pytest.fixture
def item(open_client):
    """An item with 4 units under each of `a`, `b`, `c` and a strong secret, and 4 spent as `s`."""
    client = open_client(None)
    item = mint(client, "+4.s", "+4.b", "+4.c", f"+4.{STRONG[0]}")
    assert swap(client, [f"+4.{item}.s"], [f"+4.{item}.a"]).status_code == 200
    return item


def wrong(count):
    return [f"+1.{{}}.wrong{n}" for n in range(count)]


def swap_of(*inputs, to=None, key=None):
    """Return a function that sends a swap of these, where `{}` stands for the id of the item."""
    total = sum(int(raw.split(".")[0]) for raw in inputs)
    outputs = to or [f"+{total}.{inputs[0].split('.')[1]}.new"]

    def send(client, item):
        here, there = ([raw.format(item) for raw in raws] for raws in (inputs, outputs))
        return swap(client, here, there, key)

    return send


def check_of(*outputs):
    return lambda client, item: post(
        client, "/v1/check", {"outputs": [raw.format(item) for raw in outputs]}
    )


def mint_of(*outputs, key=None, metadata=None):
    body = {"outputs": outputs, "metadata": metadata}
    return lambda client, _: post(client, "/v1/mint", body, key)


def one_after_the_other(*sends):
    """Return a function that sends all of them and returns the last answer."""
    return lambda client, item: [send(client, item) for send in sends][-1]


# Asks under somebody's Idempotency-Key whether his item was minted with these secrets.
REPEATED_WITH_A_GUESS = one_after_the_other(
    mint_of("+1.mine", "+1.yours", key=KEY), mint_of("+1.guess", "+1.yours", key=KEY)
)

# Asks whether somebody used a key, with nothing that is wrong by itself.
REPEATED_WITH_A_KEY_THAT_IS_TAKEN = one_after_the_other(
    mint_of("+1.mine", key=KEY), mint_of("+1.mine", key=KEY, metadata={"name": "x"})
)
SWAP_REPEATED_WITH_GUESSES = one_after_the_other(
    swap_of("+4.{}.a", key=KEY), swap_of("+4.{}.guess", to=["+4.{}.guess too"], key=KEY)
)

# What is sent, what it is answered, and how many of its secrets failed.
REQUESTS = {
    "one wrong secret": (swap_of("+4.{}.wrong"), 400, 1),
    "a wrong amount": (swap_of("+5.{}.a"), 400, 1),
    "200 wrong strong secrets": (swap_of(*(f"+1.{{}}.{each}" for each in STRONG[1:])), 400, 199),
    "two wrong of four": (swap_of("+4.{}.a", "+4.{}.x", "+4.{}.b", "+4.{}.y"), 400, 2),
    "a wrong one after a spent one": (swap_of("+4.{}.s", "+4.{}.x"), 400, 1),
    "an unknown item": (swap_of("+4.deed_00000000000000000000000000.a"), 400, 1),
    "two of an unknown item": (swap_of("+4.deed_0.a", "+4.deed_0.b"), 400, 2),
    "a check of 256": (check_of(*wrong(256)), 200, 256),
    "a check of all kinds": (check_of("+4.{}.s", "+4.{}.a", "+4.{}.x", "+4.deed_0.a"), 200, 2),
    "a mint repeated with a guess": (REPEATED_WITH_A_GUESS, 422, 1),
    "a swap repeated with guesses": (SWAP_REPEATED_WITH_GUESSES, 422, 2),
    "a key that is taken": (REPEATED_WITH_A_KEY_THAT_IS_TAKEN, 422, 1),
    "a new secret that was used": (swap_of("+4.{}.a", to=["+4.{}.b"]), 400, 1),
    "two of them": (swap_of("+4.{}.a", to=["+1.{}.new", "+1.{}.b", "+2.{}.s"]), 400, 1),
    "a strong new secret that was used": (swap_of("+4.{}.a", to=[LIVE]), 400, 0),
    "a good swap": (swap_of("+4.{}.a"), 200, 0),
    "a spent secret": (swap_of("+4.{}.s"), 400, 0),
    "a check of what is known": (check_of("+4.{}.a", "+4.{}.s"), 200, 0),
    "an unbalanced swap": (swap_of("+4.{}.wrong", to=["+5.{}.x"]), 400, 0),
    "no request": (lambda client, _: post(client, "/v1/swap", {"inputs": ["wrong"]}), 400, 0),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_every_failed_secret_of_a_request_counts_and_nothing_else(open_client, item, name):
    send, status, failed_count = REQUESTS[name]
    below, at = open_client(failed_count + 1), open_client(max(1, failed_count))

    assert send(below, item).status_code == status
    still_served = post(below, "/v1/check", {"outputs": [f"+4.{item}.b"]})
    assert still_served.get_json() == {"states": ["unspent"]}

    send(at, item)
    then = post(at, "/v1/check", {"outputs": [f"+4.{item}.b"]})
    assert then.status_code == (429 if failed_count else 200)


def test_secrets_that_fail_under_every_scheme_of_an_item_count_once(open_client, item):
    changed = open_client(2, cost=OTHER_COST)
    assert swap(changed, [f"+4.{item}.b"], [f"+4.{item}.d"]).status_code == 200

    refused = swap(changed, [f"+4.{item}.x", f"+4.{item}.y"], [f"+8.{item}.z"])

    assert refusal(refused) == (400, "unknown_input", 0)
    assert refusal(swap(changed, [f"+4.{item}.c"], [f"+4.{item}.e"]))[0] == 429


def test_secrets_that_no_output_of_the_item_is_like_count(open_client):
    client = open_client(2)
    strong_item = mint(client, f"+4.{STRONG[0]}")

    for _ in range(2):
        assert swap(client, [f"+4.{strong_item}.x"], [f"+4.{strong_item}.y"]).status_code == 400

    assert refusal(swap(client, [f"+4.{strong_item}.x"], [f"+4.{strong_item}.y"]))[0] == 429


# What may be a guess, with and without an Idempotency-Key.
GUESSES = {
    "check": check_of("+4.{}.a", LIVE),
    "swap": swap_of("+4.{}.a", to=[NEW]),
    "swap to an ordinary secret": swap_of(LIVE),
    "swap under a key that may be guessed": swap_of(LIVE, to=[NEW], key="order-17"),
    "mint under a key that may be guessed": mint_of(f"+1.{STRONG[1]}", key="order-17"),
    "mint of an ordinary secret under a random key": mint_of("+1.a", key=KEY),
}

# What holds no guess: nothing that it tells depends on a secret that could be guessed.
NO_GUESSES = {
    "check": check_of(LIVE, NEW),
    "swap": swap_of(LIVE, to=[NEW]),
    "swap under a random key": swap_of(LIVE, to=[NEW], key=KEY),
    "mint": mint_of(f"+1.{STRONG[1]}", key=KEY),
    "mint of an ordinary secret": mint_of("+1.a"),
    "read": lambda client, item: client.get(f"/v1/item/{item}"),
}


@pytest.mark.parametrize("name", GUESSES)
def test_a_client_over_its_limit_is_refused_guesses_before_anything_is_done(
    open_client, item, hash_costs, name
):
    client = open_client(1)
    check(client, f"+4.{item}.wrong")
    hash_costs.clear()

    with logged_statements() as statements:
        answer = GUESSES[name](client, item)

    assert refusal(answer) == (429, "too_many_failures", None)
    assert 1 <= int(answer.headers["Retry-After"]) <= 24 * 60 * 60
    assert (hash_costs, statements.names) == ([], [])
    client.environ_base["REMOTE_ADDR"] = "192.0.2.2"
    assert GUESSES[name](client, item).status_code == 200


@pytest.mark.parametrize("name", NO_GUESSES)
def test_a_client_over_its_limit_is_served_what_holds_no_guess(open_client, item, name):
    client = open_client(1)
    check(client, f"+4.{item}.wrong")

    assert NO_GUESSES[name](client, item).status_code == 200
    assert GUESSES["check"](client, item).status_code == 429


def test_secrets_that_are_being_looked_at_count_until_they_are_known(open_client, monkeypatch):
    """Its own good requests hold a client up for no longer than they last."""
    evaluations = Evaluations(deeds.domain.hashing.hash_secret_raw)
    monkeypatch.setattr(deeds.domain.hashing, "hash_secret_raw", evaluations)
    client = open_client(2)
    mine = mint(client, "+1.a", "+1.b", "+1.c")
    refused = []

    def ask_beside():
        evaluations.before = lambda: None
        # Of no item: it would be answered without a hash, for which all threads are taken.
        refused.append(post(client, "/v1/check", {"outputs": ["+1.deed_0.c"]}))

    evaluations.before = ask_beside
    assert check(client, f"+1.{mine}.a", f"+1.{mine}.b") == ["unspent"] * 2

    assert refusal(refused[0]) == (429, "too_many_failures", None)
    assert refused[0].headers["Retry-After"] == "1"
    assert check(client, f"+1.{mine}.c") == ["unspent"]


def test_a_burst_gets_no_further_than_one_request_after_the_other(gunicorn_service):
    """40 connections ask at once, with 5 guesses a request."""
    service = gunicorn_service(WEB_CONCURRENCY="1", DEEDS_RATE_LIMITS="failures=20/day")
    start = threading.Barrier(40)
    with client_of_port(service.port) as send:
        item = send("/v1/mint", {"outputs": ["+1.a"]})[1]["itemId"]
    body = {"outputs": [f"+1.{item}.wrong{n}" for n in range(5)]}

    def guess(_):
        with client_of_port(service.port) as send:
            start.wait(60)
            return [send("/v1/check", body)[0] for _ in range(5)]

    with ThreadPoolExecutor(40) as pool:
        statuses = Counter(status for each in pool.map(guess, range(40)) for status in each)

    assert set(statuses) == {200, 429}
    assert statuses[200] * 5 == 20


def test_by_default_a_hundred_may_fail_in_a_minute(sqlite_url, open_app, item):
    client = open_app(Settings(sqlite_url, ordinary_cost=COST)).test_client()

    check(client, *(raw.format(item) for raw in wrong(99)))
    check(client, f"+4.{item}.wrong")
    answer = swap(client, [f"+4.{item}.a"], [f"+4.{item}.d"])

    assert refusal(answer) == (429, "too_many_failures", None)
    assert 1 <= int(answer.headers["Retry-After"]) <= 60


def test_the_log_names_the_client_that_is_refused_and_no_secret(open_client, item, caplog):
    client = open_client(1)

    check(client, f"+4.{item}.wrong")

    [line] = [record.getMessage() for record in caplog.records if record.name == "deeds"]
    assert line == (
        "too many wrong secrets from 192.0.2.1: refused for 86400 s"
        " (if that is a proxy, DEEDS_TRUSTED_PROXIES must say so)"
    )


def test_large_requests_get_no_more_in_an_hour_than_small_ones():
    """One at a time may go past the limit; the next ones wait until that is made up for."""
    limits, now_s, served_count = ClientLimits(RateLimits()), 1_000_000.0, 0
    limits._own = BoundedCounts(clock=lambda: now_s)

    for _ in range(60):
        with (
            Flask("any").test_request_context(),
            suppress(TooManyFailuresError),
            limits.judging(256),
        ):
            limits.count_failures(256)
            served_count += 256
        now_s += 60

    assert 6_000 <= served_count < 6_000 + 256
