"""Dockerfile, compose.yaml, deeds.service and deeds.env: `make operations`.

Needs systemd-analyze.

No image is built. The tests copy the files and install the packages as the Dockerfile
says, then run its commands with its environment and as a user who may write only the
volumes.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from dotenv import dotenv_values

from tests.support.api import SUCCESS, good, read_settings
from tests.support.commanding import AS_USER, printed_by, run_program
from tests.support.proxies import free_port, is_open
from tests.support.serving import REPOSITORY, Service, clean_environment, start_command
from tests.support.sources import (
    found_in,
    read_dockerfile,
    read_text,
    read_variables,
    run_gunicorn_conf,
)
from tests.support.waiting import wait_until

VOLUME = "/var/lib/deeds"
CHECKPOINTS = f"{VOLUME}-checkpoint"
TOKEN = "t" * 64

# A program of Debian's package systemd that parses files of settings.
SYSTEMD_PARSER = (
    "/usr/lib/systemd/user-environment-generators/30-systemd-environment-d-generator"
)

INSTRUCTIONS = read_dockerfile()

# The last one of each name.
LAST = dict(INSTRUCTIONS)


class Image:
    """A directory with the files of the image that the Dockerfile describes."""

    def __init__(self, root):
        self._root = root
        self._log = root / "log"
        self.volume = self.place(VOLUME)
        self.volume.parent.mkdir(parents=True)
        path = f"{root / 'venv' / 'bin'}:{os.environ['PATH']}"
        self.environment = {"PATH": path, "GUNICORN_CMD_ARGS": ""}
        subprocess.run([sys.executable, "-m", "venv", root / "venv"], check=True)
        for word, rest in INSTRUCTIONS:
            if word == "WORKDIR":
                self.code = self.place(rest)
                self.code.mkdir(parents=True)
            elif word == "COPY":
                self._copy(*shlex.split(rest))
            elif word == "RUN" and not rest.startswith("useradd"):
                self.run(*shlex.split(rest))
            elif word == "ENV":
                pairs = (each.split("=", 1) for each in shlex.split(rest))
                self.environment |= {name: self.settle(value) for name, value in pairs}
        for path in [self.code, *self.code.rglob("*")]:
            path.chmod(path.stat().st_mode & ~0o222)

    def place(self, path):
        """Return the place of a path of the image in this directory."""
        return self._root / path.removeprefix("/")

    def settle(self, value):
        """Return the value of a setting with the volume's place in this directory."""
        return value.replace(VOLUME, str(self.volume))

    def _copy(self, *names):
        *sources, target = names
        if sources[0] == "--from=page":
            shutil.copytree(self.place(sources[1]), self.code / target)
            return
        caches = shutil.ignore_patterns("__pycache__", "node_modules")
        for source in sources:
            if (REPOSITORY / source).is_dir():
                shutil.copytree(REPOSITORY / source, self.code / target, ignore=caches)
            else:
                shutil.copy(REPOSITORY / source, self.code / target)

    def run(self, *command, check=True, **settings):
        """Run a command of the image; with `check` it must succeed."""
        environment = clean_environment(self.environment | settings)
        words = [*AS_USER, *command]
        return subprocess.run(words, cwd=self.code, env=environment, check=check)

    def is_healthy(self, port):
        """Return whether the health check of the image succeeds."""
        _, _, command = LAST["HEALTHCHECK"].partition(" CMD ")
        ran = self.run(*json.loads(command), check=False, PORT=str(port))
        return ran.returncode == 0

    @contextmanager
    def running(self, **settings):
        """Run the image's command within the block; yield it once it is healthy."""
        port = free_port()
        assert not self.is_healthy(port)
        command = [*AS_USER, *json.loads(LAST["CMD"])]
        environment = self.environment | {"PORT": str(port)} | settings
        with start_command(command, self._log, environment, cwd=self.code) as process:
            wait_until(
                lambda: (
                    process.poll() is not None
                    or (is_open(port) and self.is_healthy(port))
                )
            )
            assert process.poll() is None, self._log.read_text()
            yield Service(port, process, self._log)
            os.kill(process.pid, signal.SIGTERM)
            assert process.wait(timeout=30) == 0


@pytest.fixture(scope="module")
def built_image(tmp_path_factory):
    return Image(tmp_path_factory.mktemp("image"))


@pytest.fixture
def image(built_image):
    """The image, with empty volumes."""
    for path in (VOLUME, CHECKPOINTS):
        shutil.rmtree(built_image.place(path), ignore_errors=True)
        built_image.place(path).mkdir(mode=0o700)
    return built_image


def test_packages_are_pinned_and_the_user_is_not_root():
    runs = " ".join(rest for word, rest in INSTRUCTIONS if word == "RUN")

    assert "--require-hashes --requirement requirements.txt" in runs
    assert f"useradd --system --uid {LAST['USER']} --no-create-home deeds " in runs
    assert f"--owner deeds --group deeds --mode 700 {VOLUME} {CHECKPOINTS}" in runs


def test_the_documented_command_serves_and_keeps_its_ledger_in_the_volumes(image):
    [line] = found_in("docs/deployment.md", r"^docker run ((?:.*\\\n)*.*)$")
    words = shlex.split(line.replace("\\\n", " "))
    options = list(pairwise(words))
    mounted = [value.split(":")[1] for name, value in options if name == "--volume"]
    variables = [value for name, value in options if name == "--env" and "=" in value]
    settings = dict(image.settle(value).split("=", 1) for value in variables)
    settings |= {"DEEDS_PEPPER": "p" * 64, "DEEDS_MINT_TOKEN": TOKEN}

    with image.running(**settings) as service, service.open_api() as api:
        api.http.headers["Authorization"] = f"Bearer {TOKEN}"
        item = api.mint("+5.first")
        page = api.get("/claim").text
        wait_until(lambda: any(image.place(CHECKPOINTS).iterdir()))
    with image.running(**settings) as service, service.open_api() as api:
        answer = api.swap(f"+5.{item}.first", f"+5.{item}.second")

    assert mounted == [VOLUME, CHECKPOINTS]
    assert good(answer) == SUCCESS
    assert " data-code-reader" in page
    assert (image.volume / "deeds.sqlite3").exists()
    assert not (image.volume / "deeds.sqlite3-checkpoint").exists()


@pytest.fixture
def compose():
    """compose.yaml, with the settings that a file .env would contain."""
    text = read_text("deploy/compose.yaml")
    settings = {
        "POSTGRES_PASSWORD": "f" * 64,
        "DEEDS_PEPPER": "p" * 64,
        "DEEDS_MINT_TOKEN": TOKEN,
        "SITE": "example.org",
    }
    assert set(re.findall(r"\$\{(\w+):\?\}", text)) == set(settings)
    return yaml.safe_load(
        re.sub(r"\$\{(\w+):\?\}", lambda match: settings[match[1]], text)
    )


def test_the_services_of_compose_fit_together(compose):
    app = compose["services"]["app"]
    url = urlsplit(app["environment"]["DATABASE_URL"])
    database = compose["services"][url.hostname]["environment"]

    assert set(app["environment"]) <= read_variables()
    read_settings(app["environment"])
    assert url.username == database["POSTGRES_USER"]
    assert url.password == database["POSTGRES_PASSWORD"]
    assert url.path == f"/{database['POSTGRES_DB']}"
    assert app["volumes"] == [f"checkpoint:{CHECKPOINTS}"]
    assert app["environment"]["DEEDS_CHECKPOINT_FILE"].startswith(f"{CHECKPOINTS}/")
    grace_s = int(app["stop_grace_period"].removesuffix("s"))
    assert grace_s == run_gunicorn_conf({})["graceful_timeout"] + 10


def test_systemd_finds_nothing_wrong_with_the_units_which_expose_little(tmp_path):
    units = []
    for name in ("deeds.service", "deeds-backup.service", "deeds-backup.timer"):
        text = read_text(f"deploy/{name}")
        # `verify` checks that the program exists.
        text = text.replace("/srv/deeds/.venv/bin", str(Path(sys.executable).parent))
        unit = tmp_path / name
        unit.write_text(text)
        units.append(unit)

    verified = run_program("systemd-analyze", "verify", *units)
    security = ("systemd-analyze", "security", "--offline=true", "--no-pager")
    ratings = [run_program(*security, unit).stdout for unit in units[:2]]

    assert (verified.returncode, verified.stdout, verified.stderr) == (0, "", "")
    # From 0, the safest, to 10. systemd calls anything up to 4.9 OK.
    exposures = re.findall(r"exposure level for .*: ([0-9.]+)", "".join(ratings))
    assert len(exposures) == 2
    assert max(float(exposure) for exposure in exposures) <= 1.2


def test_systemd_reads_the_file_of_settings_as_the_commands_do(tmp_path):
    """The program has systemd's parser of such files, and prints the result.

    Unlike `EnvironmentFile` it expands variables, but the file uses none.
    """
    file = tmp_path / "environment.d" / "deeds.conf"
    file.parent.mkdir()
    url = "postgresql://deeds:a%40b#c@db1,db2/deeds?x=y&sslmode=verify-full"
    file.write_text(f"{read_text('deploy/deeds.env')}\nDATABASE_URL={url}\n")

    home = {"XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)}
    printed = printed_by(SYSTEMD_PARSER, env=home)

    parsed = dict(shlex.split(line)[0].split("=", 1) for line in printed.splitlines())
    expected = dotenv_values(file)
    assert expected["DATABASE_URL"] == url
    assert {name: parsed.get(name) for name in expected} == expected
