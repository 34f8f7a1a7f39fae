"""The files for platforms: Procfile, app.json, Dockerfile and those of deploy/.

No platform runs here. The tests compare the files with the platforms' documents, and
run the commands of the Procfile in a shell, as a platform does.
"""

import json
import os
import signal
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.support.commanding import AS_USER, printed_by
from tests.support.proxies import free_port
from tests.support.serving import (
    clean_environment,
    start_command,
    wait_for_service,
)
from tests.support.sources import (
    found_in,
    read_dockerfile,
    read_text,
    read_variables,
    run_gunicorn_conf,
)

PROCFILE = yaml.safe_load(read_text("Procfile"))
HEROKU = json.loads(read_text("app.json"))
RENDER = yaml.safe_load(read_text("deploy/render.yaml"))
FLY = tomllib.loads(read_text("deploy/fly.toml"))
RAILWAY = json.loads(read_text("deploy/railway.json"))

[RENDER_WEB] = RENDER["services"]
[FLY_CHECK] = FLY["http_service"]["checks"]
RENDER_ENV = {each["key"]: each for each in RENDER_WEB["envVars"]}

# The last instruction of each name.
DOCKERFILE = dict(read_dockerfile())

# The variables of each file; the value is None if the platform makes it.
SET = {
    "app.json": {name: each.get("value") for name, each in HEROKU["env"].items()},
    "deploy/render.yaml": {
        name: each.get("value") for name, each in RENDER_ENV.items()
    },
    "deploy/fly.toml": FLY["env"],
}


def test_each_platform_migrates_before_new_code_serves():
    [of_railway] = RAILWAY["deploy"]["preDeployCommand"]

    steps = [
        RENDER_WEB["preDeployCommand"],
        FLY["deploy"]["release_command"],
        of_railway,
    ]

    # Heroku runs `release` of the Procfile.
    assert steps == [PROCFILE["release"]] * 3


def test_each_platform_provides_a_postgresql_and_makes_the_secrets():
    [database] = RENDER["databases"]

    assert HEROKU["addons"] == ["heroku-postgresql:essential-0"]
    assert RENDER_ENV["DATABASE_URL"]["fromDatabase"] == {
        "name": database["name"],
        "property": "connectionString",
    }
    # It is attached by hand, so the file must not name another ledger.
    assert "DATABASE_URL" not in FLY["env"]
    for name in ("DEEDS_PEPPER", "DEEDS_MINT_TOKEN"):
        assert HEROKU["env"][name]["generator"] == "secret"
        assert RENDER_ENV[name]["generateValue"] is True


def test_each_platform_waits_longer_for_a_stop_than_it_takes():
    stop_s = run_gunicorn_conf({})["graceful_timeout"] + 1
    waits_s = [
        int(FLY["kill_timeout"].removesuffix("s")),
        RENDER_WEB["maxShutdownDelaySeconds"],
        RAILWAY["deploy"]["drainingSeconds"],
    ]

    assert min(waits_s) >= 2 * stop_s
    # By default Fly sends SIGINT, on which gunicorn drops its requests.
    assert FLY["kill_signal"] == "SIGTERM"


def test_checks_that_restart_use_healthz_and_checks_that_route_use_readyz():
    assert RENDER_WEB["healthCheckPath"] == "/healthz"
    assert FLY_CHECK["path"] == "/readyz"
    assert RAILWAY["deploy"]["healthcheckPath"] == "/readyz"


@pytest.mark.parametrize("values", SET.values(), ids=SET)
def test_files_set_only_what_the_service_reads(values):
    limits = found_in("deploy/compose.yaml", r"DEEDS_RATE_LIMITS: (.*)")

    assert set(values) <= read_variables()
    assert int(values["DEEDS_TRUSTED_PROXIES"]) >= 1
    # The same limits everywhere, because the data of mints and offers is never deleted.
    assert [values["DEEDS_RATE_LIMITS"]] == limits


def test_the_image_sets_no_ledger_and_no_volume_and_its_user_by_number():
    assert "VOLUME" not in DOCKERFILE
    assert DOCKERFILE["USER"] == "10001"
    assert DOCKERFILE["ENV"] == "HOST=0.0.0.0 PORT=8000 PYTHONUNBUFFERED=1"
    assert FLY["http_service"]["internal_port"] == 8000


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"HOST": "", "DEEDS_HOST": ""}, "0.0.0.0"),  # noqa: S104
        ({"HOST": "::"}, "::"),
        ({"HOST": "127.0.0.1", "DEEDS_HOST": "::1"}, "::1"),
    ],
)
def test_the_procfile_listens_everywhere_unless_an_address_is_set(settings, expected):
    line = PROCFILE["web"].replace("python", "echo", 1)

    printed = printed_by("sh", "-c", line, env=clean_environment(settings))

    assert printed == f"-m app serve --host {expected}\n"


@pytest.mark.slow
def test_the_procfile_migrates_serves_and_stops(postgres_url, tmp_path):
    port, log = free_port(), tmp_path / "web.log"
    environment = clean_environment(
        {
            "DATABASE_URL": postgres_url,
            "DYNO": "web.1",
            "GUNICORN_CMD_ARGS": "",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PORT": str(port),
            "WEB_CONCURRENCY": "2",
        }
    )

    printed_by("bash", "-c", PROCFILE["release"], env=environment)
    with start_command(["bash", "-c", PROCFILE["web"]], log, environment) as process:
        assert wait_for_service(process, log).port == port
        # Heroku signals every process of a dyno, most other platforms only the first.
        os.killpg(process.pid, signal.SIGTERM)
        # Cloud Run waits for 10 s, less than the others.
        assert process.wait(timeout=10) == 0

    assert f"Listening at: http://0.0.0.0:{port} " in log.read_text()


def test_a_volume_of_another_user_stops_the_start_in_one_line_with_the_remedy(tmp_path):
    volume = tmp_path / "volume"
    volume.mkdir(mode=0o555)
    line = [*AS_USER, sys.executable, *json.loads(DOCKERFILE["CMD"])[1:]]
    settings = {"DATABASE_URL": f"sqlite:///{volume}/deeds.sqlite3", "PORT": "0"}
    log = tmp_path / "log"

    with start_command(line, log, settings) as process:
        assert process.wait(timeout=30) == 1

    user = os.geteuid()
    assert json.loads(log.read_text())["message"] == (
        "deeds: DATABASE_URL: the database cannot be opened:"
        f" user {user} may not write {volume}, which belongs to user {user};"
        f" run as root: chown {user} {volume}; chmod 700 {volume}"
    )
