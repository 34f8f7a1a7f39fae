"""DEEDS_RATE_LIMITS: what an operator may write, and what a route limit does."""

import pytest

from deeds.domain.model import Argon2Cost
from deeds.rate_limits import ROUTES, RateLimit, RateLimits, parse_rate_limits
from deeds.settings import Settings
from tests.support.requests import check, mint, post, refusal, swap
from tests.support.waiting import wait_until

TAKEN = {
    "mint=10/minute": RateLimits(routes={"mint": RateLimit(10, "minute")}),
    "swap=600/hour;check=5/second": RateLimits(
        routes={"swap": RateLimit(600, "hour"), "check": RateLimit(5, "second")}
    ),
    "item=1/day": RateLimits(routes={"item": RateLimit(1, "day")}),
    "failures=7/hour": RateLimits(failures=RateLimit(7, "hour")),
    "failures=off": RateLimits(failures=None),
    "mint=off": RateLimits(),
    " mint=10/minute ; failures=off ": RateLimits(
        failures=None, routes={"mint": RateLimit(10, "minute")}
    ),
    "mint=1000000/second": RateLimits(routes={"mint": RateLimit(1_000_000, "second")}),
}

ODD = {
    "word": "many",
    "nothing": ";",
    "nothing at the end": "mint=10/minute;",
    "no limit": "mint=",
    "no unit": "mint=10",
    "no count": "mint=/minute",
    "unknown route": "info=10/minute",
    "unknown unit": "mint=10/week",
    "plural": "mint=10/minutes",
    "zero": "mint=0/minute",
    "negative": "mint=-1/minute",
    "fraction": "mint=1.5/minute",
    "too many": "mint=1000001/minute",
    "endless": "mint=" + "9" * 10_000 + "/minute",
    "two units": "mint=10/minute/hour",
    "commas": "mint=10/minute,swap=10/minute",
    "spaces within": "mint = 10/minute",
    "capitals": "MINT=10/minute",
    "twice": "mint=10/minute;mint=20/minute",
    "twice off": "failures=off;failures=10/minute",
    "line end": "mint=10/minute\n;",
    "digits of another script": "mint=\u0661/minute",
}


@pytest.mark.parametrize("text", TAKEN)
def test_a_limit_is_read_as_it_is_written(text):
    assert parse_rate_limits(text) == TAKEN[text]


@pytest.mark.parametrize("name", ODD)
def test_odd_limits_are_refused_in_one_line_that_does_not_quote_them(name):
    with pytest.raises(ValueError, match=r"^[a-z]") as refused:
        parse_rate_limits(ODD[name])

    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 100


@pytest.fixture
def limited(sqlite_url, open_app):
    """A function that opens a client of a service with these limits."""

    def open_it(text):
        settings = Settings(
            sqlite_url, ordinary_cost=Argon2Cost(8, 1, 1), rate_limits=parse_rate_limits(text)
        )
        client = open_app(settings).test_client()
        client.environ_base["REMOTE_ADDR"] = "192.0.2.1"
        return client

    return open_it


def ask(client, route, item):
    raws = [f"+5.{item}.a"], [f"+5.{item}.a"]
    return {
        "mint": lambda: post(client, "/v1/mint", {"outputs": ["+1.b"]}),
        "swap": lambda: swap(client, *raws),
        "check": lambda: post(client, "/v1/check", {"outputs": raws[0]}),
        "item": lambda: client.get(f"/v1/item/{item}"),
        "qr": lambda: post(client, "/web/qr", {"text": "a"}),
    }[route]()


@pytest.mark.parametrize("route", ROUTES)
def test_a_client_that_asks_a_limited_route_too_often_is_refused_there_and_nowhere_else(
    limited, route
):
    item = mint(limited("mint=off"), "+5.a")
    client = limited(f"{route}=2/day")

    first = [ask(client, route, item).status_code for _ in range(2)]
    third = ask(client, route, item)

    assert 429 not in first
    assert refusal(third) == (429, "too_many_requests", None)
    assert 1 <= int(third.headers["Retry-After"]) <= 24 * 60 * 60
    # For other sites' pages it is the interface alone.
    allowed = None if route == "qr" else "*"
    assert third.headers.get("Access-Control-Allow-Origin") == allowed
    others = [ask(client, each, item).status_code for each in ROUTES if each != route]
    assert 429 not in others
    client.environ_base["REMOTE_ADDR"] = "192.0.2.2"
    assert ask(client, route, item).status_code == first[0]


def test_a_refused_request_does_nothing(limited, hash_costs):
    client = limited("mint=1/day")
    mint(client, "+5.a")
    hash_costs.clear()

    assert refusal(post(client, "/v1/mint", {"outputs": ["+1.b"]}))[0] == 429
    assert hash_costs == []


def test_a_limited_client_is_served_again_when_its_time_is_over(limited):
    client = limited("mint=1/second")
    mint(client, "+5.a")

    wait_until(lambda: post(client, "/v1/mint", {"outputs": ["+1.b"]}).status_code == 200)


def test_what_a_browser_asks_beforehand_does_not_count(limited):
    client = limited("mint=1/day")

    assert {client.options("/v1/mint").status_code for _ in range(3)} == {200}
    mint(client, "+5.a")


def test_failures_and_requests_have_limits_of_their_own(limited):
    client = limited("check=3/day;failures=2/day")
    item = mint(client, "+5.a")

    assert check(client, f"+5.{item}.x", f"+5.{item}.y") == ["unknown", "unknown"]
    answers = [post(client, "/v1/check", {"outputs": [f"+5.{item}.a"]}) for _ in range(3)]

    codes = [answer.get_json()["code"] for answer in answers]
    assert codes == ["too_many_failures", "too_many_failures", "too_many_requests"]
