"""Wrong secrets are counted, and a client that sends too many is refused."""

import time
from collections import Counter
from functools import partial

import pytest

from tests.support.api import REUSED, good, refusal
from tests.support.hooks import logged_statements
from tests.support.racing import at_once
from tests.support.strong_secrets import make_strong_secret

KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"
LIVE, NEW = make_strong_secret(), make_strong_secret()

# In all bodies ITEM stands for the id of the item, LIVE and NEW for strong secrets.
STRONG_GUESSES = ",".join(f'"+1.ITEM.{make_strong_secret()}"' for _ in range(199))

# What is sent, the status of the answer, and how many of its secrets are wrong.
REQUESTS = {
    "a wrong amount": (
        "/v1/swap",
        '{"inputs":["+5.ITEM.a"],"outputs":["+5.ITEM.new"]}',
        400,
        1,
    ),
    "199 wrong strong secrets": (
        "/v1/swap",
        f'{{"inputs":[{STRONG_GUESSES}],"outputs":["+199.ITEM.new"]}}',
        400,
        199,
    ),
    "two of three": (
        "/v1/swap",
        '{"inputs":["+4.ITEM.x","+4.ITEM.a","+4.ITEM.y"],"outputs":["+12.ITEM.n"]}',
        400,
        2,
    ),
    "one after a spent one": (
        "/v1/swap",
        '{"inputs":["+4.ITEM.s","+4.ITEM.x"],"outputs":["+8.ITEM.new"]}',
        400,
        1,
    ),
    "two of an unknown item": (
        "/v1/swap",
        '{"inputs":["+4.deed_0.a","+4.deed_0.b"],"outputs":["+8.deed_0.new"]}',
        400,
        2,
    ),
    "used new secrets": (
        "/v1/swap",
        '{"inputs":["+4.ITEM.a"],"outputs":["+1.ITEM.new","+1.ITEM.b","+2.ITEM.s"]}',
        400,
        1,
    ),
    "a strong new secret that was used": (
        "/v1/swap",
        '{"inputs":["+4.ITEM.a"],"outputs":["+4.ITEM.LIVE"]}',
        400,
        0,
    ),
    "a spent secret": (
        "/v1/swap",
        '{"inputs":["+4.ITEM.s"],"outputs":["+4.ITEM.new"]}',
        400,
        0,
    ),
    "an unbalanced swap": (
        "/v1/swap",
        '{"inputs":["+4.ITEM.wrong"],"outputs":["+5.ITEM.x"]}',
        400,
        0,
    ),
    "a good swap": (
        "/v1/swap",
        '{"inputs":["+4.ITEM.a"],"outputs":["+4.ITEM.new"]}',
        200,
        0,
    ),
    "a check": (
        "/v1/check",
        '{"outputs":["+4.ITEM.s","+4.ITEM.a","+4.ITEM.x","+4.deed_0.a"]}',
        200,
        2,
    ),
    "a check for a payment": (
        "/v1/check",
        '{"outputs":["+4.ITEM.x","+4.ITEM.NEW"]}',
        200,
        1,
    ),
    "a search": ("/v1/find", '{"itemId":"ITEM","secrets":["NEW","NEW"]}', 200, 0),
    "a search in offers": (
        "/v1/offers/find",
        '{"itemId":"ITEM","secrets":["NEW"]}',
        200,
        0,
    ),
    "two inputs of an offer": (
        "/v1/offers",
        '{"inputs":["+4.ITEM.x","+4.ITEM.y"],"outputs":["+9.ITEM.NEW"]}',
        400,
        2,
    ),
    "the new secret of an offer": (
        "/v1/offers",
        '{"inputs":["+3.ITEM.a"],"outputs":["+4.ITEM.LIVE"]}',
        400,
        1,
    ),
    "new units of no item": (
        "/v1/offers",
        '{"inputs":[],"outputs":["+4.deed_0.NEW"]}',
        400,
        0,
    ),
    "units of no item in an offer": (
        "/v1/offers",
        '{"inputs":["+1.deed_0.a","+1.deed_0.b"],"outputs":["+4.deed_0.NEW"]}',
        400,
        2,
    ),
}

# Under somebody's Idempotency-Key: was it used, and with which secrets? Each second
# body differs from the first, and shows so many wrong secrets.
UNDER_A_USED_KEY = {
    "another secret": (
        "/v1/mint",
        '{"outputs":["+1.a","+1.b"]}',
        '{"outputs":["+1.x","+1.b"]}',
        1,
    ),
    "one more secret": (
        "/v1/mint",
        '{"outputs":["+1.a"]}',
        '{"outputs":["+1.a","+1.b"]}',
        1,
    ),
    "the key alone": (
        "/v1/mint",
        '{"outputs":["+1.a"]}',
        '{"outputs":["+1.a"],"metadata":{}}',
        1,
    ),
    "another swap": (
        "/v1/swap",
        '{"inputs":["+4.ITEM.a"],"outputs":["+4.ITEM.new"]}',
        '{"inputs":["+4.ITEM.x"],"outputs":["+4.ITEM.y"]}',
        1,
    ),
}

# What ends an offer, how it is then, and how it was to be completed.
ENDS = {
    "void": (
        "/v1/swap",
        '{"inputs":["+4.ITEM.c"],"outputs":["+4.ITEM.d"]}',
        ["+4.ITEM.a"],
    ),
    "completed": (
        "/v1/offers/OFFER/complete",
        '{"inputs":["+4.ITEM.LIVE"],"outputs":[]}',
        ["+2.ITEM.x", "+1.ITEM.y", "+1.ITEM.z"],
    ),
}

# What may be a guess, with and without an Idempotency-Key.
GUESSES = {
    "check": ("/v1/check", '{"outputs":["+4.ITEM.a","+4.ITEM.LIVE"]}'),
    "swap": (
        "/v1/swap",
        '{"inputs":["+4.ITEM.a"],"outputs":["+4.ITEM.NEW"]}',
    ),
    "swap to an ordinary secret": (
        "/v1/swap",
        '{"inputs":["+4.ITEM.LIVE"],"outputs":["+4.ITEM.new"]}',
    ),
    "swap under a key that may be guessed": (
        "/v1/swap",
        '{"inputs":["+4.ITEM.LIVE"],"outputs":["+4.ITEM.NEW"]}',
        "order-17",
    ),
    "mint under a key that may be guessed": (
        "/v1/mint",
        '{"outputs":["+1.NEW"]}',
        "order-17",
    ),
    "mint of an ordinary secret under a random key": (
        "/v1/mint",
        '{"outputs":["+1.a"]}',
        KEY,
    ),
}

# What holds no guess: nothing that it tells depends on a secret that could be guessed.
NO_GUESSES = {
    "check": ("/v1/check", '{"outputs":["+4.ITEM.LIVE","+4.ITEM.NEW"]}'),
    "swap": (
        "/v1/swap",
        '{"inputs":["+4.ITEM.LIVE"],"outputs":["+4.ITEM.NEW"]}',
    ),
    "swap under a random key": (
        "/v1/swap",
        '{"inputs":["+4.ITEM.LIVE"],"outputs":["+4.ITEM.NEW"]}',
        KEY,
    ),
    "mint": ("/v1/mint", '{"outputs":["+1.NEW"]}', KEY),
    "mint of an ordinary secret": ("/v1/mint", '{"outputs":["+1.a"]}'),
}


@pytest.fixture
def item(limited):
    """An item with 4 units under each of `a`, `b`, `c` and a strong secret.

    4 more were spent as `s`.
    """
    api = limited("failures=off")
    item = api.mint("+4.s", "+4.b", "+4.c", f"+4.{LIVE}")
    good(api.swap(f"+4.{item}.s", f"+4.{item}.a"))
    return item


def send(api, item, path, text, key=None):
    """Send a body in which names stand for the id and the secrets."""
    text = text.replace("ITEM", item).replace("LIVE", LIVE).replace("NEW", NEW)
    return api.post(path, text, key)


def assert_one_guess_is_left(api, item):
    known = f"+4.{item}.b"
    assert api.check(known, f"+4.{item}.wrong") == ["unspent", "unknown"]
    assert api.send_check(known).status_code == 429


@pytest.mark.parametrize(
    ("path", "text", "status", "wrong_count"), REQUESTS.values(), ids=REQUESTS
)
def test_every_wrong_secret_of_a_request_counts_and_nothing_else(
    limited, item, path, text, status, wrong_count
):
    api = limited(f"failures={wrong_count + 1}/day")

    answer = send(api, item, path, text)

    assert answer.status_code == status
    assert_one_guess_is_left(api, item)


@pytest.mark.parametrize(
    ("path", "first", "second", "wrong_count"),
    UNDER_A_USED_KEY.values(),
    ids=UNDER_A_USED_KEY,
)
def test_what_a_request_asks_of_a_used_key_counts(
    limited, item, path, first, second, wrong_count
):
    api = limited(f"failures={wrong_count + 1}/day")
    good(send(api, item, path, first, KEY))

    answer = send(api, item, path, second, KEY)

    assert refusal(answer) == REUSED
    assert_one_guess_is_left(api, item)


@pytest.mark.parametrize("state", ENDS)
def test_where_an_offer_ends_meanwhile_every_ordinary_input_counts(
    limited, item, hash_costs, state
):
    """Nobody has judged them: that it ended must not be a way to guess for free."""
    path, text, inputs = ENDS[state]
    api = limited(f"failures={len(inputs) + 1}/day")
    other = limited("failures=off")
    offer_id = other.offer_id(f"+4.{item}.c", f"+8.{item}.{NEW}")
    path = path.replace("OFFER", offer_id)
    hash_costs.meanwhile = partial(send, other, item, path, text)

    answer = api.complete(offer_id, [each.replace("ITEM", item) for each in inputs], [])

    assert refusal(answer) == (400, "offer_not_open", None)
    assert answer.json()["detail"].endswith(state)
    assert_one_guess_is_left(api, item)


def test_a_used_secret_of_a_completion_counts(limited, item):
    api = limited("failures=2/day")
    offer_id = api.offer_id([], f"+1.{item}.{NEW}")

    answer = api.complete(offer_id, f"+4.{item}.a", f"+3.{item}.b")

    assert refusal(answer) == (400, "used_secret", 0)
    assert_one_guess_is_left(api, item)


@pytest.mark.parametrize("request_", GUESSES.values(), ids=GUESSES)
def test_a_client_over_its_limit_is_refused_guesses_at_once(
    limited, item, hash_costs, request_
):
    api = limited("failures=1/day", DEEDS_TRUSTED_PROXIES="1")
    api.check(f"+4.{item}.wrong")
    hash_costs.clear()

    with logged_statements() as statements:
        answer = send(api, item, *request_)

    assert refusal(answer) == (429, "too_many_failures", None)
    assert 1 <= int(answer.headers["Retry-After"]) <= 24 * 60 * 60
    assert (hash_costs, statements.names) == ([], [])
    # Another client is served.
    api.http.headers["X-Forwarded-For"] = "192.0.2.2"
    assert good(send(api, item, *request_))


@pytest.mark.parametrize("request_", NO_GUESSES.values(), ids=NO_GUESSES)
def test_a_client_over_its_limit_is_served_what_holds_no_guess(limited, item, request_):
    api = limited("failures=1/day")
    api.check(f"+4.{item}.wrong")

    answer = send(api, item, *request_)

    assert good(answer)
    assert send(api, item, *GUESSES["check"]).status_code == 429


def test_secrets_that_are_being_looked_at_count_until_they_are_known(
    limited, hash_costs
):
    """Its own good requests hold a client up for no longer than they last."""
    api = limited("failures=2/day")
    mine = api.mint("+1.a", "+1.b", "+1.c")
    answers = []
    # Of no item: it would be answered without a hash, for which all threads are taken.
    hash_costs.meanwhile = lambda: answers.append(api.send_check("+1.deed_0.c"))

    assert api.check(f"+1.{mine}.a", f"+1.{mine}.b") == ["unspent"] * 2

    assert refusal(answers[0]) == (429, "too_many_failures", None)
    assert answers[0].headers["Retry-After"] == "1"
    assert api.check(f"+1.{mine}.c") == ["unspent"]


def test_a_burst_gets_no_further_than_one_request_after_the_other(gunicorn_service):
    """40 connections ask at once, with 5 guesses a request."""
    service = gunicorn_service(DEEDS_RATE_LIMITS="failures=20/day")
    with service.open_api() as api:
        item = api.mint("+1.a")
        wrong = [f"+1.{item}.wrong{n}" for n in range(5)]

        answers = at_once([partial(api.send_check, *wrong)] * 40)

    assert Counter(each.status_code for each in answers) == {200: 4, 429: 36}


def test_by_default_a_hundred_may_be_wrong_in_a_minute(limited, item, caplog):
    api = limited("mint=off")

    api.check(*(f"+4.{item}.wrong{n}" for n in range(99)))
    api.check(f"+4.{item}.wrong")
    answer = api.swap(f"+4.{item}.a", f"+4.{item}.new")

    assert refusal(answer) == (429, "too_many_failures", None)
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    said = "too many wrong secrets from 127.0.0.1: refused for "
    assert caplog.text.count(said) == 1


def test_large_requests_get_no_more_in_an_hour_than_small_ones(limited, monkeypatch):
    """One at a time may go past the limit.

    The next ones wait until that is made up for.
    """
    api, now_s = limited("mint=off"), int(time.monotonic()) + 1
    guesses = [f"+1.deed_0.{number}" for number in range(256)]
    statuses = Counter()

    for minute in range(60):
        monkeypatch.setattr(time, "monotonic", lambda at_s=now_s + 60 * minute: at_s)
        statuses[api.send_check(*guesses).status_code] += 1

    assert statuses.keys() == {200, 429}
    assert 6_000 <= 256 * statuses[200] < 6_000 + 256
