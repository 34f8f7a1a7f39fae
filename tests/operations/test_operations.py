"""What the Procfile starts runs, and the files for operators agree with the service's settings."""

import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from deeds.domain.model import BODY_BYTES_MAX
from deeds.settings import RateLimits, parse_rate_limits
from tests.support.serving import (
    REPOSITORY,
    clean_environment,
    start_command,
    wait_until_it_answers,
)
from tests.support.sources import read_text

BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def gunicorn():
    """The settings in gunicorn.conf.py."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("PORT", "WEB_CONCURRENCY"):
            patch.delenv(name, raising=False)
        return runpy.run_path(str(REPOSITORY / "gunicorn.conf.py"), run_name="gunicorn.conf")


@pytest.fixture
def procfile():
    """The command of each process type."""
    lines = (line.partition(": ") for line in read_text("Procfile").splitlines())
    return {kind: shlex.split(command) for kind, _, command in lines}


def unit_settings(name):
    found = re.findall(rf"^{name}=(.*)$", read_text("deploy/deeds.service"), re.MULTILINE)
    return found[0] if len(found) == 1 else found


def nginx_setting(name):
    return re.findall(rf"^ +{name} (.+);$", read_text("deploy/nginx.conf"), re.MULTILINE)


def test_the_procfile_releases_and_then_serves(procfile, postgres_url, tmp_path):
    path = {"PATH": f"{BIN}:{os.environ['PATH']}", "DATABASE_URL": postgres_url}

    released = subprocess.run(
        procfile["release"],
        cwd=REPOSITORY,
        env=clean_environment(path),
        capture_output=True,
        text=True,
        check=False,
    )

    assert list(procfile) == ["release", "web"]
    assert (released.returncode, released.stderr) == (0, "")
    log = tmp_path / "web.log"
    # A platform finds the program by the PATH that it sets.
    web = [str(BIN / procfile["web"][0]), *procfile["web"][1:]]
    with start_command(web, log, path) as process:
        assert wait_until_it_answers(process, log) > 0


def test_systemd_waits_longer_for_a_stop_than_the_service_takes(gunicorn):
    assert int(unit_settings("TimeoutStopSec")) > gunicorn["graceful_timeout"]
    assert unit_settings("KillMode") == "mixed"


def test_the_unit_keeps_the_ledger_and_the_pepper_where_it_may():
    environment = dict(each.split("=", 1) for each in unit_settings("Environment"))

    assert environment["DATABASE_URL"] == (
        f"sqlite:///%S/{unit_settings('StateDirectory')}/deeds.sqlite3"
    )
    assert environment["DEEDS_PEPPER_FILE"] == "%d/pepper"
    assert unit_settings("LoadCredential").startswith("pepper:/")


def test_mints_are_limited_wherever_the_service_is_deployed():
    """Anybody may mint, and what a mint writes is never deleted."""
    unit = dict(each.split("=", 1) for each in unit_settings("Environment"))
    compose = re.findall(r"DEEDS_RATE_LIMITS: (.*)", read_text("deploy/compose.yaml"))
    nginx = re.findall(r"zone=deeds_mints:\S+ rate=([0-9]+)r/m;", read_text("deploy/nginx.conf"))

    assert [parse_rate_limits(each) for each in (unit["DEEDS_RATE_LIMITS"], *compose)] == [
        RateLimits(routes={"mint": f"{rate}/minute"}) for rate in nginx * 2
    ]


def test_nginx_lets_bodies_pass_that_the_service_takes_and_writes_none_to_a_file():
    of_all, *of_mints = nginx_setting("client_max_body_size")
    assert [of_all] == nginx_setting("client_body_buffer_size")
    assert of_all == f"{BODY_BYTES_MAX // 1024**2}m"
    assert of_mints == ["256k", "256k"]
    assert nginx_setting("proxy_max_temp_file_size") == ["0"]


def test_nginx_closes_idle_connections_before_the_service_and_waits_longer_for_answers(gunicorn):
    seconds = {
        name: int(nginx_setting(name)[0].removesuffix("s"))
        for name in ("keepalive_timeout", "proxy_read_timeout")
    }

    # The first is that of the upstream.
    assert seconds["keepalive_timeout"] < gunicorn["keepalive"]
    assert seconds["proxy_read_timeout"] > gunicorn["graceful_timeout"]
