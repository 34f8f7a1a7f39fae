"""Wrong secrets are counted, and a client that sends too many is refused."""

import time
from collections import Counter
from functools import partial

import pytest

from tests.support.api import REUSED, Api, good, refusal
from tests.support.hooks import logged_statements
from tests.support.racing import at_once
from tests.support.strong_secrets import make_strong_secret

KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"
NOWHERE = "deed_00000000000000000000000000"
LIVE, NEW = make_strong_secret(), make_strong_secret()
GUESSES_MAX = 5


@pytest.fixture
def item(limited):
    """An item with 4 units under each of `a`, `b`, `c` and a strong secret.

    4 more were spent as `s`.
    """
    api = limited("failures=off")
    item = api.mint("+4.s", "+4.b", "+4.c", f"+4.{LIVE}")
    good(api.swap(f"+4.{item}.s", f"+4.{item}.a"))
    return item


@pytest.fixture
def counted(limited, item):
    """A function that calls a method of `Api`, of a client that has guessed nothing.

    Returns the code of the problem, if it was one, and how many secrets were counted as
    wrong.
    """

    def call(method, *arguments):
        api = limited(f"failures={GUESSES_MAX}/day")
        code = method(api, *arguments).json().get("code")
        return code, GUESSES_MAX - guesses_left(api, item)

    return call


def guesses_left(api, item):
    """Send one wrong secret after the other until the client is refused."""
    left = 0
    # The known secret may be a guess, too. It would count if it were not right.
    while api.send_check(f"+4.{item}.b", f"+4.{item}.wrong").status_code == 200:
        left += 1
    return left


def test_every_wrong_input_counts(counted, item):
    s, x, y = (f"+4.{item}.{secret}" for secret in "sxy")
    strong = [f"+1.{item}.{make_strong_secret()}" for _ in range(3)]
    of_no_item = [f"+4.{NOWHERE}.a", f"+4.{NOWHERE}.b"]

    another_amount = counted(Api.swap, f"+5.{item}.a", f"+5.{item}.new")
    beside_a_good_one = counted(Api.swap, [x, f"+4.{item}.a", y], f"+12.{item}.new")

    assert another_amount == ("unknown_input", 1)
    assert beside_a_good_one == ("unknown_input", 2)
    assert counted(Api.swap, strong, f"+3.{item}.new") == ("unknown_input", 3)
    assert counted(Api.swap, [s, x], f"+8.{item}.new") == ("unknown_input", 1)
    assert counted(Api.swap, of_no_item, f"+8.{NOWHERE}.n") == ("unknown_item", 2)
    assert counted(Api.offer, [x, y], f"+9.{item}.{NEW}") == ("unknown_input", 2)
    assert counted(Api.offer, of_no_item, f"+9.{NOWHERE}.{NEW}") == ("unknown_item", 2)


def test_a_new_secret_that_was_used_counts_unless_it_is_strong(counted, item):
    a, b = f"+4.{item}.a", f"+2.{item}.b"

    assert counted(Api.swap, a, [f"+2.{item}.new", b]) == ("used_secret", 1)
    assert counted(Api.swap, a, f"+4.{item}.{LIVE}") == ("used_secret", 0)


def test_what_its_sender_knew_or_did_not_learn_does_not_count(counted, item):
    a, s, x = (f"+4.{item}.{secret}" for secret in "asx")

    assert counted(Api.swap, s, f"+4.{item}.new") == ("spent_input", 0)
    assert counted(Api.swap, x, f"+5.{item}.new") == ("unbalanced", 0)
    assert counted(Api.offer, [], f"+4.{NOWHERE}.{NEW}") == ("unknown_item", 0)
    assert counted(Api.swap, a, f"+4.{item}.new") == (None, 0)


def test_what_a_check_does_not_know_counts_and_a_search_for_strong_secrets_does_not(
    counted, item
):
    a, s, x = (f"+4.{item}.{secret}" for secret in "asx")

    assert counted(Api.send_check, s, a, x, f"+4.{NOWHERE}.a") == (None, 2)
    # As for a payment that has not come.
    assert counted(Api.send_check, x, f"+4.{item}.{NEW}") == (None, 1)
    assert counted(Api.find, item, NEW) == (None, 0)


def test_a_request_under_the_key_of_another_counts(counted, limited, item):
    """It asks whether the key was used, and with which secrets."""
    api = limited("failures=off")
    api.mint("+1.a", key=KEY)
    good(api.swap(f"+4.{item}.a", f"+4.{item}.new", "swapped"))
    reused = (REUSED[1], 1)

    minted = counted(Api.post, "/v1/mint", {"outputs": ["+1.a"], "metadata": {}}, KEY)

    assert minted == reused
    assert counted(Api.swap, f"+4.{item}.x", f"+4.{item}.y", "swapped") == reused


def spend_what_it_gives(api, item, _offer_id):
    return api.swap(f"+4.{item}.c", f"+4.{item}.d")


def complete_it(api, item, offer_id):
    return api.complete(offer_id, f"+4.{item}.{LIVE}", [])


@pytest.mark.parametrize(
    ("end", "state", "inputs"),
    [
        (spend_what_it_gives, "void", ["+4.{}.a"]),
        (complete_it, "completed", ["+2.{}.x", "+1.{}.y", "+1.{}.z"]),
    ],
    ids=["void", "completed"],
)
def test_where_an_offer_ends_meanwhile_every_ordinary_input_counts(
    limited, item, hash_costs, end, state, inputs
):
    """Nobody has judged them: that it ended must not be a way to guess for free."""
    api = limited(f"failures={GUESSES_MAX}/day")
    other = limited("failures=off")
    offer_id = other.offer_id(f"+4.{item}.c", f"+8.{item}.{NEW}")
    hash_costs.meanwhile = partial(end, other, item, offer_id)

    answer = api.complete(offer_id, [each.format(item) for each in inputs], [])

    assert refusal(answer) == (400, "offer_not_open", None)
    assert answer.json()["detail"].endswith(state)
    assert guesses_left(api, item) == GUESSES_MAX - len(inputs)


def test_a_used_secret_of_a_completion_counts(limited, counted, item):
    offer_id = limited("failures=off").offer_id([], f"+1.{item}.{NEW}")

    completed = counted(Api.complete, offer_id, f"+4.{item}.a", f"+3.{item}.b")

    assert completed == ("used_secret", 1)


def swap_from_an_ordinary_secret(api, item):
    return api.swap(f"+4.{item}.a", f"+4.{item}.{NEW}")


def swap_to_an_ordinary_secret(api, item):
    return api.swap(f"+4.{item}.{LIVE}", f"+4.{item}.new")


def swap_under_a_key_that_may_be_guessed(api, item):
    return api.swap(f"+4.{item}.{LIVE}", f"+4.{item}.{NEW}", "order-17")


def mint_under_a_key_that_may_be_guessed(api, _item):
    return api.send_mint(f"+1.{NEW}", key="order-17")


def mint_an_ordinary_secret_under_a_random_key(api, _item):
    return api.send_mint("+1.a", key=KEY)


def check_an_ordinary_secret(api, item):
    return api.send_check(f"+4.{item}.a", f"+4.{item}.{LIVE}")


# What may be a guess, with and without an Idempotency-Key.
GUESSES = [
    check_an_ordinary_secret,
    swap_from_an_ordinary_secret,
    swap_to_an_ordinary_secret,
    swap_under_a_key_that_may_be_guessed,
    mint_under_a_key_that_may_be_guessed,
    mint_an_ordinary_secret_under_a_random_key,
]


@pytest.mark.parametrize("send", GUESSES)
def test_a_client_over_its_limit_is_refused_guesses_at_once(
    limited, item, hash_costs, send
):
    api = limited("failures=1/day", DEEDS_TRUSTED_PROXIES="1")
    api.check(f"+4.{item}.wrong")
    hash_costs.clear()

    with logged_statements() as statements:
        answer = send(api, item)

    assert refusal(answer) == (429, "too_many_failures", None)
    assert 1 <= int(answer.headers["Retry-After"]) <= 24 * 60 * 60
    assert (hash_costs, statements.names) == ([], [])
    # Another client is served.
    api.http.headers["X-Forwarded-For"] = "192.0.2.2"
    assert good(send(api, item))


def test_a_client_over_its_limit_is_served_what_holds_no_guess(limited, item):
    """Nothing that it tells depends on a secret that could be guessed."""
    api = limited("failures=1/day")
    api.check(f"+4.{item}.wrong")
    live, new = f"+4.{item}.{LIVE}", f"+4.{item}.{NEW}"

    assert api.check(live, new) == ["unspent", "unknown"]
    assert good(api.swap(live, new, KEY))
    assert api.mint(f"+1.{NEW}", key=KEY[:-1] + "5")
    assert api.mint("+1.a")
    assert check_an_ordinary_secret(api, item).status_code == 429


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
    [line] = [each for each in caplog.records if each.event == "client_refused"]
    said = "too many wrong secrets from 127.0.0.1: refused for "
    assert line.getMessage().startswith(said)


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
