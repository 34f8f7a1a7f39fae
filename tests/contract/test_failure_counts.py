"""The counts of failed secrets: bounded, shared where there is a Redis, and never in the way."""

import socket
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from limits.storage import RedisStorage

from app import prepare
from deeds.blueprints.bounded_counts import BoundedCounts
from deeds.blueprints.failure_counts import FailureCounts
from deeds.blueprints.shared_counts import STORAGE_OPTIONS, open_shared_counts
from deeds.domain.errors import StartError, TooManyFailuresError
from deeds.domain.model import Argon2Cost
from deeds.domain.strong_secret import make_strong_secret
from deeds.rate_limits import RateLimit, RateLimits
from deeds.settings import Settings
from tests.support.redis_server import running_redis
from tests.support.requests import check, mint, post, refusal

MINUTE_S = 60.0
MARK = "mark-7c1f9e"


class Clock:
    """Stands still until it is set."""

    def __init__(self):
        self.now_s = 1_000_000.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


def test_a_count_ends_when_its_time_is_over(clock):
    counts = BoundedCounts(clock=clock)

    grown = [counts.incr("a", MINUTE_S, 5), counts.incr("a", MINUTE_S, 2)]
    ends_in_s = counts.get_expiry("a") - time.time()
    clock.now_s += 59.999
    before = counts.get("a")
    clock.now_s += 0.001
    after = counts.get("a")

    assert grown == [5, 7]
    assert ends_in_s == pytest.approx(60, abs=1)
    assert (before, after) == (7, 0)
    assert counts.incr("a", MINUTE_S) == 1
    clock.now_s += 59.999
    assert counts.get("a") == 1


def test_a_count_of_nothing_is_not_kept(clock):
    counts = BoundedCounts(clock=clock)

    assert [counts.incr("a", MINUTE_S, amount) for amount in (5, -3, -2)] == [5, 2, 0]
    assert len(counts) == 0


def test_there_are_never_more_counts_than_are_allowed(clock):
    counts = BoundedCounts(counts_max=3, clock=clock)

    for key in ["a", "b", "c", "a", "d"]:
        counts.incr(key, MINUTE_S)

    assert len(counts) == 3
    assert {key: counts.get(key) for key in "abcd"} == {"a": 2, "b": 0, "c": 1, "d": 1}


def test_counts_can_be_forgotten(clock):
    counts = BoundedCounts(clock=clock)
    for key in "abc":
        counts.incr(key, MINUTE_S)

    counts.clear("a")

    assert [counts.get(key) for key in "abc"] == [0, 1, 1]
    assert counts.reset() == 2
    assert len(counts) == 0


def test_no_failure_is_lost_when_many_threads_count(clock):
    counts = BoundedCounts(clock=clock)
    start = threading.Barrier(8)

    def count():
        start.wait(30)
        for _ in range(500):
            counts.incr("a", MINUTE_S)

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(count) for _ in range(8)]:
            done.result()

    assert counts.get("a") == 4000


@pytest.fixture(params=["own", "shared"])
def counts_of_100(request):
    """Counts of 100 a minute, in this process and in a Redis."""
    url = request.getfixturevalue("redis_url") if request.param == "shared" else None
    shared = open_shared_counts(url)
    yield FailureCounts(RateLimit(100, "minute"), shared)
    if shared is not None:
        shared.storage.close()


@pytest.mark.parametrize(("count", "at_least_s", "at_most_s"), [(99, 0, 0), (100, 1, 60)])
def test_a_client_waits_from_its_limit_on(counts_of_100, count, at_least_s, at_most_s):
    held = counts_of_100.hold("a", 150)

    assert at_least_s <= counts_of_100.release(held, count) <= at_most_s


def test_what_failed_without_being_held_counts_too(counts_of_100):
    counts_of_100.release(counts_of_100.hold("a", 0), 100)

    with pytest.raises(TooManyFailuresError) as refused:
        counts_of_100.hold("a", 1)
    assert 1 <= refused.value.retry_after_s <= 60


def test_what_is_held_is_given_back(counts_of_100):
    held = [counts_of_100.hold("a", 60) for _ in range(2)]

    with pytest.raises(TooManyFailuresError) as refused:
        counts_of_100.hold("a", 60)
    # Nothing has failed: it need not wait for longer than the others take.
    assert refused.value.retry_after_s == 1
    assert counts_of_100.hold("b", 60)

    counts_of_100.release(held[0], 0)
    third = counts_of_100.hold("a", 60)
    assert [counts_of_100.release(each, 49) for each in (held[1], third)] == [0, 0]
    counts_of_100.release(counts_of_100.hold("a", 60), 2)
    with pytest.raises(TooManyFailuresError):
        counts_of_100.hold("a", 60)


def test_what_is_given_back_after_its_time_is_no_credit(clock, monkeypatch):
    counts = FailureCounts(RateLimit(100, "minute"))
    monkeypatch.setattr(counts, "_own", BoundedCounts(clock=clock))
    held = counts.hold("a", 256)

    clock.now_s += 3600
    counts.release(counts.hold("a", 99), 99)
    counts.release(held, 0)

    assert counts.release(counts.hold("a", 1), 1) > 0


def test_large_requests_get_no_more_in_an_hour_than_small_ones():
    """One at a time each may go past the limit; the next ones wait until that is made up for."""
    clock = Clock()
    counts = FailureCounts(RateLimit(100, "minute"))
    counts._own = BoundedCounts(clock=clock)

    waits_s = []
    for _ in range(24):
        clock.now_s += MINUTE_S
        waits_s.append(counts.release(counts.hold("a", 256), 256))

    assert all(0 < wait_s <= 60 for wait_s in waits_s[:23])
    assert 2100 < waits_s[23] <= 2220
    assert counts.hold("b", 1)


@pytest.fixture
def redis_url(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """The URL of a Redis, which may take its time."""
    for name in STORAGE_OPTIONS:
        monkeypatch.setitem(STORAGE_OPTIONS, name, 30)
    with running_redis(tmp_path) as url:
        yield url


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that nobody listens on."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def settings_with(sqlite_url, storage_url, **limits):
    return Settings(
        sqlite_url,
        ordinary_cost=Argon2Cost(8, 1, 1),
        rate_limits=RateLimits(**limits),
        rate_limits_storage=storage_url,
    )


def test_processes_that_share_a_storage_count_together(sqlite_url, open_app, redis_url):
    settings = settings_with(sqlite_url, redis_url, failures=RateLimit(3, "day"))
    one, other = (open_app(settings).test_client() for _ in range(2))
    item = mint(one, "+5.a")

    assert check(one, f"+5.{item}.x", f"+5.{item}.y") == ["unknown", "unknown"]
    assert check(other, f"+5.{item}.z") == ["unknown"]

    assert refusal(post(other, "/v1/check", {"outputs": [f"+5.{item}.a"]}))[0] == 429
    assert refusal(post(one, "/v1/check", {"outputs": [f"+5.{item}.a"]}))[0] == 429


def test_processes_that_share_a_storage_limit_routes_together(sqlite_url, open_app, redis_url):
    settings = settings_with(sqlite_url, redis_url, routes={"mint": RateLimit(1, "day")})
    one, other = (open_app(settings).test_client() for _ in range(2))
    mint(one, "+5.a")

    answer = post(other, "/v1/mint", {"outputs": ["+5.a"]})

    assert refusal(answer) == (429, "too_many_requests", None)


def test_while_the_shared_storage_is_away_each_process_counts_alone(
    sqlite_url, open_app, closed_port, caplog
):
    settings = settings_with(
        sqlite_url,
        f"redis://:{MARK}@127.0.0.1:{closed_port}/0",
        failures=RateLimit(2, "day"),
        routes={"mint": RateLimit(2, "day")},
    )
    client = open_app(settings).test_client()
    item = mint(client, "+5.a")

    for _ in range(2):
        assert check(client, f"+5.{item}.x") == ["unknown"]

    assert refusal(post(client, "/v1/check", {"outputs": [f"+5.{item}.a"]}))[0] == 429
    assert MARK not in caplog.text
    assert "DEEDS_RATE_LIMITS_STORAGE does not answer" in caplog.text


def test_strong_secrets_never_ask_the_storage(sqlite_url, open_app, redis_url, monkeypatch):
    settings = settings_with(sqlite_url, redis_url, failures=RateLimit(3, "day"))
    client = open_app(settings).test_client()
    asked, strong = [], make_strong_secret()
    monkeypatch.setattr(RedisStorage, "incr", lambda *arguments, **_: asked.append(arguments))

    item = mint(client, f"+5.{strong}", key="8e03978e-40d5-43e8-bc93-6894a57f9324")

    assert check(client, f"+5.{item}.{strong}") == ["unspent"]
    assert asked == []


@pytest.mark.parametrize("is_away_first", [True, False])
def test_what_is_held_while_the_storage_goes_or_comes_is_no_credit(
    tmp_path, monkeypatch, is_away_first
):
    monkeypatch.setattr("deeds.blueprints.failure_counts.SHARED_PAUSE_S", 0.0)
    url = f"redis+unix://{tmp_path / 'redis.sock'}"
    shared = open_shared_counts(url)
    counts = FailureCounts(RateLimit(100, "minute"), shared)
    running = running_redis(tmp_path)
    if is_away_first:
        held = counts.hold("a", 50)
        running.__enter__()
    else:
        running.__enter__()
        held = counts.hold("a", 50)
        running.__exit__(None, None, None)

    assert counts.release(counts.hold("a", 99), 99) == 0
    counts.release(held, 0)
    assert counts.release(counts.hold("a", 1), 1) > 0
    shared.storage.close()
    if is_away_first:
        running.__exit__(None, None, None)


def test_a_missing_client_library_stops_the_start_with_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "redis", None)

    with pytest.raises(StartError) as stopped:
        open_shared_counts("redis://127.0.0.1/0")

    assert str(stopped.value) == (
        "deeds cannot start: DEEDS_RATE_LIMITS_STORAGE needs the package redis: "
        "pip install --requirement requirements/redis.txt"
    )


@pytest.mark.parametrize("url", [f"redis://:{MARK}@host:port/0", f"redis://{MARK}:[/0"])
def test_an_odd_url_stops_the_start_and_is_not_quoted(monkeypatch, sqlite_url, url):
    monkeypatch.setenv("DATABASE_URL", sqlite_url)
    monkeypatch.setenv("DEEDS_RATE_LIMITS_STORAGE", url)

    with pytest.raises(StartError) as stopped:
        prepare()

    assert str(stopped.value) == (
        "deeds cannot start: DEEDS_RATE_LIMITS_STORAGE is not the URL of a Redis"
    )
