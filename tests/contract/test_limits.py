"""DEEDS_RATE_LIMITS: limits of routes."""

import time

import pytest

from deeds.blueprints.limits import ClientLimits
from deeds.errors import TooManyRequestsError
from deeds.settings import RateLimit
from tests.support.api import refusal, stop_line
from tests.support.sources import section, table_rows

# A request that each limit counts, with ITEM for the id of an item.
REQUESTS = {
    "mint": ("/v1/mint", '{"outputs":["+1.b"]}'),
    "swap": ("/v1/swap", '{"inputs":["+5.ITEM.a"],"outputs":["+5.ITEM.a"]}'),
    "check": ("/v1/check", '{"outputs":["+5.ITEM.a"]}'),
    "item": ("/v1/item/ITEM", ""),
    "offer": ("/v1/offers", '{"inputs":["+5.ITEM.a"],"outputs":["+5.ITEM.a"]}'),
    "qr": ("/web/qr", '{"texts":["a"]}'),
}


def ask(api, limit, item="deed_0"):
    path, text = (each.replace("ITEM", item) for each in REQUESTS[limit])
    return api.post(path, text) if text else api.get(path)


@pytest.mark.parametrize("limit", REQUESTS)
def test_a_client_that_asks_too_often_is_refused_there_alone(
    limited, hash_costs, limit
):
    item = limited("mint=off").mint("+5.a")
    api = limited(f"{limit}=2/day", DEEDS_TRUSTED_PROXIES="1")

    first, second = (ask(api, limit, item) for _ in range(2))
    hash_costs.clear()
    third = ask(api, limit, item)

    assert first.status_code == second.status_code != 429
    assert refusal(third) == (429, "too_many_requests", None)
    assert hash_costs == []
    assert 1 <= int(third.headers["Retry-After"]) <= 24 * 60 * 60
    refused = {name for name in REQUESTS if ask(api, name, item).status_code == 429}
    assert refused == {limit}
    # Another client is served.
    api.http.headers["X-Forwarded-For"] = "192.0.2.2"
    assert ask(api, limit, item).status_code == first.status_code


@pytest.mark.parametrize(
    ("limit", "method", "path"),
    [
        ("swap", "POST", "/v1/offers/offer_0/complete"),
        ("item", "GET", "/v1/offers/offer_0"),
        ("check", "POST", "/v1/find"),
        ("check", "POST", "/v1/offers/find"),
    ],
)
def test_requests_of_one_kind_count_together(limited, limit, method, path):
    api = limited(f"{limit}=1/day")
    ask(api, limit)

    answer = api.http.request(method, path)

    assert refusal(answer) == (429, "too_many_requests", None)


def test_a_preflight_does_not_count(limited):
    api = limited("mint=1/day")

    api.http.options("/v1/mint")

    assert api.mint("+5.a")


def test_what_was_counted_is_forgiven_little_by_little(limited, monkeypatch):
    # Whole, so that no rounding adds to what is left.
    api, now_s = limited("mint=2/minute"), int(time.monotonic()) + 1
    waits_s = []

    for later_s in (0, 0, 0, 29.5, 30, 30, 90, 90):
        monkeypatch.setattr(time, "monotonic", lambda at_s=now_s + later_s: at_s)
        waits_s.append(ask(api, "mint").headers.get("Retry-After"))

    assert waits_s == [None, None, "30", "1", None, "30", None, None]


def test_there_are_never_more_counts_than_are_allowed(monkeypatch):
    monkeypatch.setattr("deeds.blueprints.limits.DEBTS_MAX", 3)
    limits = ClientLimits([RateLimit("mint", 2, 60)])

    for client in "abbaccdd":
        limits.count("mint", client)

    for client in "acd":
        with pytest.raises(TooManyRequestsError):
            limits.count("mint", client)
    # Of the oldest nothing is left.
    limits.count("mint", "b")
    limits.count("mint", "b")


def test_a_limit_of_a_route_that_there_is_not_stops_the_start(limited):
    rows = table_rows(section("docs/settings.md", "Rate limits"))
    names = [name.strip("`") for name, _ in rows]

    line = stop_line(limited, "info=10/minute")

    assert names == ["failures", *REQUESTS]
    assert line.startswith("DEEDS_RATE_LIMITS names")
    assert line.endswith(f": there are {', '.join(names)}")
