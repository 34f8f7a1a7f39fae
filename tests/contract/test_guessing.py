"""Wrong secrets are counted, and a client that sends too many is refused."""

import json
from collections import Counter
from contextlib import suppress
from functools import partial
from types import SimpleNamespace

import pytest

from deeds.blueprints.limits import ClientLimits
from deeds.domain.errors import TooManyFailuresError
from deeds.domain.model import Argon2Cost
from deeds.domain.raw_output import make_strong_secret
from deeds.settings import RateLimits, Settings
from tests.support.hooks import logged_statements
from tests.support.racing import at_once, client_of_port
from tests.support.requests import check, mint, post, refusal, swap

KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"
STRONG = [make_strong_secret() for _ in range(200)]
LIVE, NEW = f"+4.ITEM.{STRONG[0]}", f"+4.ITEM.{STRONG[1]}"


@pytest.fixture
def item(limited):
    """An item with 4 units under each of `a`, `b`, `c` and a strong secret.

    4 more were spent as `s`.
    """
    client = limited("failures=off")
    item = mint(client, "+4.s", "+4.b", "+4.c", f"+4.{STRONG[0]}")
    assert swap(client, [f"+4.{item}.s"], [f"+4.{item}.a"]).status_code == 200
    return item


def swap_of(*inputs, to=None, key=None):
    _, item, _ = inputs[0].split(".")
    total = sum(int(raw.split(".")[0]) for raw in inputs)
    return (
        "/v1/swap",
        {"inputs": inputs, "outputs": to or [f"+{total}.{item}.new"]},
        key,
    )


def check_of(*outputs):
    return "/v1/check", {"outputs": outputs}, None


def offer_of(*inputs, to):
    return "/v1/offers", {"inputs": inputs, "outputs": to}, None


def mint_of(*outputs, key=None, **rest):
    return "/v1/mint", {"outputs": outputs} | rest, key


def send(client, item, *requests):
    """Send requests in which ITEM stands for the id of the item.

    Return the last answer.
    """
    for path, body, key in requests:
        answer = post(
            client, path, json.loads(json.dumps(body).replace("ITEM", item)), key
        )
    return answer


# What is sent, what the last of it is answered, and how many of its secrets are wrong.
REQUESTS = {
    "a wrong amount": ([swap_of("+5.ITEM.a")], 400, 1),
    "199 wrong strong secrets": (
        [swap_of(*(f"+1.ITEM.{each}" for each in STRONG[1:]))],
        400,
        199,
    ),
    "two of four": (
        [swap_of("+4.ITEM.a", "+4.ITEM.x", "+4.ITEM.b", "+4.ITEM.y")],
        400,
        2,
    ),
    "one after a spent one": ([swap_of("+4.ITEM.s", "+4.ITEM.x")], 400, 1),
    "two of an unknown item": ([swap_of("+4.deed_0.a", "+4.deed_0.b")], 400, 2),
    "a check": (
        [check_of("+4.ITEM.s", "+4.ITEM.a", "+4.ITEM.x", "+4.deed_0.a")],
        200,
        2,
    ),
    "a check for a payment": ([check_of("+4.ITEM.x", f"+4.ITEM.{STRONG[1]}")], 200, 1),
    # Under somebody's Idempotency-Key: was it used, and with which secrets?
    "a mint again": (
        [mint_of("+1.a", "+1.b", key=KEY), mint_of("+1.x", "+1.b", key=KEY)],
        422,
        1,
    ),
    "a mint of more": (
        [mint_of("+1.a", key=KEY), mint_of("+1.a", "+1.b", key=KEY)],
        422,
        1,
    ),
    "a key": (
        [mint_of("+1.a", key=KEY), mint_of("+1.a", key=KEY, metadata={})],
        422,
        1,
    ),
    "a swap again": (
        [
            swap_of("+4.ITEM.a", key=KEY),
            swap_of("+4.ITEM.x", to=["+4.ITEM.y"], key=KEY),
        ],
        422,
        2,
    ),
    "used new secrets": (
        [swap_of("+4.ITEM.a", to=["+1.ITEM.new", "+1.ITEM.b", "+2.ITEM.s"])],
        400,
        1,
    ),
    "a strong new secret that was used": ([swap_of("+4.ITEM.a", to=[LIVE])], 400, 0),
    "one after a fresh one": (
        [swap_of("+4.ITEM.a", "+4.ITEM.b", to=["+4.ITEM.new", LIVE])],
        400,
        0,
    ),
    "a good swap": ([swap_of("+4.ITEM.a")], 200, 0),
    "two inputs of an offer": (
        [offer_of("+4.ITEM.x", "+4.ITEM.y", to=["+9" + NEW[2:]])],
        400,
        2,
    ),
    "the new secret of an offer": ([offer_of("+3.ITEM.a", to=[LIVE])], 400, 1),
    "a used one": ([offer_of(to=[LIVE])], 400, 0),
    "new units of no item": ([offer_of(to=[f"+4.deed_0.{STRONG[1]}"])], 400, 0),
    "units of no item in an offer": (
        [offer_of("+1.deed_0.a", "+1.deed_0.b", to=[f"+4.deed_0.{STRONG[1]}"])],
        400,
        2,
    ),
    "a spent secret": ([swap_of("+4.ITEM.s")], 400, 0),
    "an unbalanced swap": ([swap_of("+4.ITEM.wrong", to=["+5.ITEM.x"])], 400, 0),
}


@pytest.mark.parametrize(
    ("requests", "status", "wrong_count"), REQUESTS.values(), ids=REQUESTS
)
def test_every_wrong_secret_of_a_request_counts_and_nothing_else(
    limited, item, requests, status, wrong_count
):
    below, at = (
        limited(f"failures={n}/day") for n in (wrong_count + 1, max(1, wrong_count))
    )

    assert send(below, item, *requests).status_code == status
    assert check(below, f"+4.{item}.b") == ["unspent"]

    send(at, item, *requests)
    then = send(at, item, check_of("+4.ITEM.b"))
    assert then.status_code == (429 if wrong_count else 200)


def end_by_swap(client, item, _path):
    return swap(client, [f"+4.{item}.c"], [f"+4.{item}.d"])


def end_by_completion(client, item, path):
    body = {"inputs": [f"+4.{item}.{STRONG[0]}"], "outputs": []}
    return post(client, path, body)


@pytest.mark.parametrize(
    ("end", "state", "inputs"),
    [
        (end_by_swap, "void", ["+4.ITEM.a"]),
        (end_by_completion, "completed", ["+2.ITEM.x", "+1.ITEM.y", "+1.ITEM.z"]),
    ],
)
@pytest.mark.parametrize(("spare_count", "then"), [(1, 200), (0, 429)])
def test_where_an_offer_ends_meanwhile_every_ordinary_input_counts(
    limited, item, hash_costs, *, end, state, inputs, spare_count, then
):
    """Nobody has judged them: that it ended must not be a way to guess for free."""
    client = limited(f"failures={len(inputs) + spare_count}/day")
    other = limited("failures=off")
    wanted = [f"+8.{item}.{STRONG[1]}"]
    _, body, _ = offer_of(f"+4.{item}.c", to=wanted)
    offered = post(other, "/v1/offers", body).get_json()
    path = f"/v1/offers/{offered['offerId']}/complete"
    hash_costs.meanwhile = partial(end, other, item, path)

    refused = send(client, item, (path, {"inputs": inputs, "outputs": []}, None))

    assert refusal(refused) == (400, "offer_not_open", None)
    assert refused.get_json()["detail"].endswith(state)
    assert send(client, item, check_of("+4.ITEM.b")).status_code == then


# What may be a guess, with and without an Idempotency-Key.
GUESSES = {
    "check": check_of("+4.ITEM.a", LIVE),
    "swap": swap_of("+4.ITEM.a", to=[NEW]),
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
}


@pytest.mark.parametrize("request_", GUESSES.values(), ids=GUESSES)
def test_a_client_over_its_limit_is_refused_guesses_at_once(
    limited, item, hash_costs, request_
):
    client = limited("failures=1/day")
    check(client, f"+4.{item}.wrong")
    hash_costs.clear()

    with logged_statements() as statements:
        answer = send(client, item, request_)

    assert refusal(answer) == (429, "too_many_failures", None)
    assert 1 <= int(answer.headers["Retry-After"]) <= 24 * 60 * 60
    assert (hash_costs, statements.names) == ([], [])
    client.environ_base["REMOTE_ADDR"] = "192.0.2.2"
    assert send(client, item, request_).status_code == 200


@pytest.mark.parametrize("request_", NO_GUESSES.values(), ids=NO_GUESSES)
def test_a_client_over_its_limit_is_served_what_holds_no_guess(limited, item, request_):
    client = limited("failures=1/day")
    check(client, f"+4.{item}.wrong")

    assert send(client, item, request_).status_code == 200
    assert send(client, item, GUESSES["check"]).status_code == 429


def test_secrets_that_are_being_looked_at_count_until_they_are_known(
    limited, hash_costs
):
    """Its own good requests hold a client up for no longer than they last."""
    client = limited("failures=2/day")
    mine = mint(client, "+1.a", "+1.b", "+1.c")
    refused = []

    def ask_beside():
        # Of no item: it would be answered without a hash, for which all threads are
        # taken.
        refused.append(send(client, mine, check_of("+1.deed_0.c")))

    hash_costs.meanwhile = ask_beside
    assert check(client, f"+1.{mine}.a", f"+1.{mine}.b") == ["unspent"] * 2

    assert refusal(refused[0]) == (429, "too_many_failures", None)
    assert refused[0].headers["Retry-After"] == "1"
    assert check(client, f"+1.{mine}.c") == ["unspent"]


def test_a_burst_gets_no_further_than_one_request_after_the_other(gunicorn_service):
    """40 connections ask at once, with 5 guesses a request."""
    service = gunicorn_service(WEB_CONCURRENCY="1", DEEDS_RATE_LIMITS="failures=20/day")
    with client_of_port(service.port) as post_body:
        item = post_body("/v1/mint", {"outputs": ["+1.a"]})[1]["itemId"]
    body = {"outputs": [f"+1.{item}.wrong{n}" for n in range(5)]}

    def guess():
        with client_of_port(service.port) as post_body:
            return [post_body("/v1/check", body)[0] for _ in range(5)]

    statuses = Counter(status for each in at_once([guess] * 40) for status in each)

    assert set(statuses) == {200, 429}
    assert statuses[200] * 5 == 20


def test_by_default_a_hundred_may_be_wrong_in_a_minute(
    sqlite_url, open_app, item, caplog
):
    client = open_app(
        Settings(sqlite_url, ordinary_cost=Argon2Cost(8, 1, 1))
    ).test_client()

    check(client, *(f"+4.{item}.wrong{n}" for n in range(99)))
    check(client, f"+4.{item}.wrong")
    answer = send(client, item, swap_of("+4.ITEM.a"))

    assert refusal(answer) == (429, "too_many_failures", None)
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    [line] = [
        each.getMessage() for each in caplog.records if "wrong" in each.getMessage()
    ]
    assert line.startswith("too many wrong secrets from 127.0.0.1: refused for ")


def test_large_requests_get_no_more_in_an_hour_than_small_ones(monkeypatch):
    """One at a time may go past the limit.

    The next ones wait until that is made up for.
    """
    limits, now_s, served_count = ClientLimits(RateLimits()), 1_000_000.0, 0
    monkeypatch.setattr(
        "deeds.blueprints.limits.time", SimpleNamespace(monotonic=lambda: now_s)
    )

    for _ in range(60):
        with suppress(TooManyFailuresError), limits.judging("a", 256):
            limits.count_failures("a", 256)
            served_count += 256
        now_s += 60

    assert 6_000 <= served_count < 6_000 + 256
