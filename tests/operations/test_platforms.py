"""The files for platforms: Procfile, app.json, Dockerfile and those of deploy/.

No platform runs here. The files are held to what the platforms document, and their
commands run in a shell as a platform runs them.
"""

import json
import os
import re
import signal
import sys
import tomllib
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest
import yaml

from deeds.settings import read_setting
from tests.support.commanding import printed_by
from tests.support.proxies import free_port
from tests.support.serving import (
    REPOSITORY,
    Service,
    clean_environment,
    start_command,
    wait_until_it_answers,
)
from tests.support.sources import (
    found_in,
    read_text,
    read_variables,
    run_gunicorn_conf,
    section,
    table_rows,
)

BIN = Path(sys.executable).parent

PROCFILE = yaml.safe_load(read_text("Procfile"))
HEROKU = json.loads(read_text("app.json"))
RENDER = yaml.safe_load(read_text("deploy/render.yaml"))
FLY = tomllib.loads(read_text("deploy/fly.toml"))
RAILWAY = json.loads(read_text("deploy/railway.json"))

[RENDER_WEB] = RENDER["services"]
[FLY_CHECK] = FLY["http_service"]["checks"]
RENDER_ENV = {each["key"]: each for each in RENDER_WEB["envVars"]}

# The instructions of the Dockerfile, each with the rest of its line.
INSTRUCTIONS = re.findall(
    r"^([A-Z]+) +(.+)$", read_text("Dockerfile").replace("\\\n", " "), re.MULTILINE
)
LAST = dict(INSTRUCTIONS)
IMAGE_ENV = dict(pair.split("=", 1) for pair in LAST["ENV"].split())

# Each value that a file sets, by the variable.
VALUES = {
    "app.json": {
        name: each["value"] for name, each in HEROKU["env"].items() if "value" in each
    },
    "deploy/render.yaml": {
        name: each["value"] for name, each in RENDER_ENV.items() if "value" in each
    },
    "deploy/fly.toml": FLY["env"],
}

# Keys that each platform documents for the place. Another one is ignored, or refused.
KNOWN = {
    "app.json": (
        HEROKU,
        (
            "addons buildpacks description env environments formation image keywords"
            " logo name repository scripts stack success_url website"
        ),
    ),
    "variables of app.json": (
        {key for each in HEROKU["env"].values() for key in each},
        "description generator required value",
    ),
    "render.yaml": (RENDER, "databases envVarGroups previews projects services"),
    "services of render.yaml": (
        RENDER_WEB,
        (
            "autoDeployTrigger branch buildFilter disk dockerCommand dockerContext"
            " dockerfilePath domains envVars healthCheckPath maxShutdownDelaySeconds"
            " name numInstances plan preDeployCommand region repo rootDir runtime"
            " scaling type"
        ),
    ),
    "databases of render.yaml": (
        RENDER["databases"][0],
        (
            "databaseName diskSizeGB highAvailability ipAllowList name plan"
            " postgresMajorVersion readReplicas region user"
        ),
    ),
    "fly.toml": (
        FLY,
        (
            "app build checks console_command deploy env files http_service kill_signal"
            " kill_timeout metrics mounts primary_region processes restart services"
            " swap_size_mb vm"
        ),
    ),
    "http_service of fly.toml": (
        FLY["http_service"],
        (
            "auto_start_machines auto_stop_machines checks concurrency force_https"
            " http_options internal_port min_machines_running processes tls_options"
        ),
    ),
    "checks of fly.toml": (
        FLY_CHECK,
        (
            "grace_period headers interval method path protocol timeout tls_server_name"
            " tls_skip_verify"
        ),
    ),
    "deploy of fly.toml": (
        FLY["deploy"],
        (
            "max_unavailable release_command release_command_timeout release_command_vm"
            " seed_command strategy wait_timeout"
        ),
    ),
    "railway.json": (RAILWAY, "$schema build deploy environments"),
    "build of railway.json": (
        RAILWAY["build"],
        "buildCommand builder dockerfilePath railpackVersion watchPatterns",
    ),
    "deploy of railway.json": (
        RAILWAY["deploy"],
        (
            "cronSchedule drainingSeconds healthcheckPath healthcheckTimeout"
            " multiRegionConfig overlapSeconds preDeployCommand restartPolicyMaxRetries"
            " restartPolicyType startCommand"
        ),
    ),
}


@pytest.mark.parametrize(("used", "known"), KNOWN.values(), ids=KNOWN)
def test_a_file_has_only_keys_that_its_platform_documents(used, known):
    assert set(used) - set(known.split()) == set()


def test_files_are_where_their_platforms_or_the_document_look():
    document = section("docs/deployment.md", "A platform (PaaS)")
    files = {row[1].split("`")[1] for row in table_rows(document) if "`" in row[1]}

    assert {"app.json", "deploy/render.yaml", "deploy/fly.toml"} < files
    assert all((REPOSITORY / name).is_file() for name in files)
    # Heroku and what reads a Procfile look at the root alone.
    assert (REPOSITORY / "Procfile").is_file()
    assert "`/deploy/railway.json`" in document
    assert "`fly deploy --config deploy/fly.toml" in document
    assert "Blueprint Path" in document


def test_each_platform_migrates_before_new_code_serves():
    [of_railway] = RAILWAY["deploy"]["preDeployCommand"]

    steps = [
        RENDER_WEB["preDeployCommand"],
        FLY["deploy"]["release_command"],
        of_railway,
    ]

    assert steps == [PROCFILE["release"]] * 3
    # Heroku takes the release phase of the Procfile; `postdeploy` runs once.
    assert "scripts" not in HEROKU


def test_each_platform_gives_a_postgresql():
    [database] = RENDER["databases"]

    assert HEROKU["addons"] == ["heroku-postgresql:essential-0"]
    assert RENDER_ENV["DATABASE_URL"]["fromDatabase"] == {
        "name": database["name"],
        "property": "connectionString",
    }
    # Where it is attached or referred to by hand, no file names another ledger.
    assert "DATABASE_URL" not in FLY["env"]
    assert "mounts" not in FLY
    assert "disk" not in RENDER_WEB


def test_each_platform_waits_longer_for_a_stop_than_it_takes():
    stop_s = run_gunicorn_conf({})["graceful_timeout"] + 1
    fly_s = int(FLY["kill_timeout"].removesuffix("s"))
    render_s = RENDER_WEB["maxShutdownDelaySeconds"]
    railway_s = RAILWAY["deploy"]["drainingSeconds"]

    assert min(fly_s, render_s, railway_s) >= 2 * stop_s
    # What the platforms allow; Railway takes numbers only.
    assert fly_s <= 300
    assert 1 <= render_s <= 300
    assert isinstance(railway_s, int)
    # By default Fly sends SIGINT, on which gunicorn drops its requests.
    assert FLY["kill_signal"] == "SIGTERM"


def test_a_check_that_restarts_asks_for_life_and_one_that_routes_for_readiness():
    asked = {
        "render": RENDER_WEB["healthCheckPath"],
        "fly": FLY_CHECK["path"],
        "railway": RAILWAY["deploy"]["healthcheckPath"],
    }

    assert asked == {"render": "/healthz", "fly": "/readyz", "railway": "/readyz"}


def test_files_set_only_what_the_service_reads_and_accepts():
    names = {"deploy/render.yaml": set(RENDER_ENV), "app.json": set(HEROKU["env"])}
    limits = found_in("deploy/compose.yaml", r"DEEDS_RATE_LIMITS: (.*)")

    for file, values in VALUES.items():
        assert names.get(file, set(values)) - read_variables() == set()
        assert int(values["DEEDS_TRUSTED_PROXIES"]) >= 1
        # What mints and offers write is never deleted: everywhere the same.
        assert [values["DEEDS_RATE_LIMITS"]] == limits
        assert all(isinstance(value, str) for value in values.values())


@pytest.mark.parametrize("made", ["4f" * 32, "aZ+/" * 10 + "a7w="])
def test_what_a_platform_makes_is_accepted_as_pepper_and_token(made):
    """Heroku makes hexadecimal digits, Render the Base64 of 256 bits."""
    for name in ("DEEDS_PEPPER", "DEEDS_MINT_TOKEN"):
        assert HEROKU["env"][name]["generator"] == "secret"
        assert RENDER_ENV[name]["generateValue"] is True

    assert read_setting({"DEEDS_PEPPER": made}, "pepper") == made.encode()
    token = read_setting({"DEEDS_MINT_TOKEN": made}, "mint_token_digests")
    assert token == (sha256(made.encode()).digest(),)


def test_the_image_names_no_ledger_and_no_volume_and_its_user_by_number():
    assert "VOLUME" not in LAST
    assert LAST["USER"] == "10001"
    assert LAST["ENV"] == "HOST=0.0.0.0 PORT=8000 PYTHONUNBUFFERED=1"
    assert [LAST["EXPOSE"], str(FLY["http_service"]["internal_port"])] == ["8000"] * 2
    assert RAILWAY["build"]["builder"] == "DOCKERFILE"
    built = {RAILWAY["build"]["dockerfilePath"], RENDER_WEB["dockerfilePath"]}
    assert {Path(path).name for path in built} == {"Dockerfile"}
    # Fly looks for a named one beside fly.toml, for none where it is called.
    assert "build" not in FLY


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "0.0.0.0"),  # noqa: S104
        ({"HOST": "", "DEEDS_HOST": ""}, "0.0.0.0"),  # noqa: S104
        ({"HOST": "::"}, "::"),
        ({"HOST": "127.0.0.1", "DEEDS_HOST": "::1"}, "::1"),
    ],
    ids=["by default", "empty", "HOST", "DEEDS_HOST before HOST"],
)
def test_the_procfile_listens_everywhere_unless_an_address_is_set(
    tmp_path, shell, settings, expected
):
    stub = tmp_path / "python"
    stub.write_text('#!/bin/sh\necho "$*"\n')
    stub.chmod(0o755)
    environment = clean_environment(settings)
    environment["PATH"] = f"{tmp_path}:{environment['PATH']}"

    printed = printed_by(shell, "-c", PROCFILE["web"], env=environment)

    assert printed == f"-m app serve --host {expected}\n"


def of_platform(settings):
    """Return an environment as Heroku's, with the programs found by PATH."""
    return {
        "DYNO": "web.1",
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "GUNICORN_CMD_ARGS": "",
        "WEB_CONCURRENCY": "2",
    } | settings


@contextmanager
def running(line, directory, settings, send=os.kill):
    """Run a line in a shell; yield the service, then end it as a platform does."""
    log = directory / "web.log"
    with start_command(["bash", "-c", line], log, of_platform(settings)) as process:
        port = wait_until_it_answers(process, log)
        yield Service(port, process, log)
        send(process.pid, signal.SIGTERM)
        # Cloud Run waits least of all.
        assert process.wait(timeout=10) == 0


@pytest.mark.slow
@pytest.mark.slow
# Heroku sends SIGTERM to every process of a dyno, most others to the first.
@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["the first", "all"])
@pytest.mark.parametrize("host", ["", "127.0.0.1"], ids=["no HOST", "HOST"])
def test_the_procfile_migrates_serves_and_stops(postgres_url, tmp_path, host, send):
    port = free_port()
    settings = {"DATABASE_URL": postgres_url, "PORT": str(port), "HOST": host}
    environment = clean_environment(of_platform(settings))

    printed_by("bash", "-c", PROCFILE["release"], env=environment)
    with running(PROCFILE["web"], tmp_path, settings, send) as service:
        ready = service.get("/readyz").status_code

    assert list(PROCFILE) == ["release", "web"]
    assert (ready, service.port) == (200, port)
    address = host or "0.0.0.0"  # noqa: S104
    assert f"Listening at: http://{address}:{port} " in service.log_text()


def test_the_command_of_the_image_serves_a_migrated_postgresql(
    fresh_postgres_url, tmp_path
):
    words = json.loads(LAST["CMD"])
    line = " ".join(f"'{word}'" for word in words)
    settings = IMAGE_ENV | {"PORT": "0", "DATABASE_URL": fresh_postgres_url()}

    with running(line, tmp_path, settings) as service:
        paths = ["/healthz", "/readyz"]
        statuses = [service.get(path).status_code for path in paths]

    assert statuses == [200, 200]
    assert "Listening at: http://0.0.0.0:" in service.log_text()


def test_a_volume_of_another_user_is_said_in_one_line_with_the_remedy(tmp_path):
    volume = tmp_path / "volume"
    volume.mkdir(mode=0o555)
    # root without this capability may write no more than the modes of files say.
    as_user = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    line = [*as_user, sys.executable, *json.loads(LAST["CMD"])[1:]]
    settings = {"DATABASE_URL": f"sqlite:///{volume}/deeds.sqlite3", "PORT": "0"}
    log = tmp_path / "log"

    with start_command(line, log, settings) as process:
        assert process.wait(timeout=30) == 1

    user = os.geteuid()
    *_, said = log.read_text().splitlines()
    assert json.loads(said)["message"] == (
        "deeds: DATABASE_URL: the database cannot be opened:"
        f" user {user} may not write {volume}, which belongs to user {user};"
        f" run as root: chown {user} {volume}; chmod 700 {volume}"
    )
