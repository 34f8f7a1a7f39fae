"""What Dockerfile, compose.yaml and deeds.service say: `make operations`.

Needs systemd-analyze.

Nothing here builds an image: the files are put where the Dockerfile copies them, its
packages are installed from the network, and its commands run with its environment, by a
user who may write the volume alone.
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
from pathlib import Path

import pytest
import yaml

from storage.engine import parse_database_url
from tests.support.proxies import free_port, is_open
from tests.support.racing import client_of_port
from tests.support.serving import REPOSITORY, Service, clean_environment, start_command
from tests.support.sources import read_text, read_variables
from tests.support.waiting import wait_until

WORKDIR = "/srv/deeds"
VOLUME = "/var/lib/deeds"

# root without this capability may write no more than the modes of files say.
AS_USER = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []


# The instructions of the Dockerfile: what each is, and the rest of it.
EVERY = re.findall(
    r"^([A-Z]+) +(.+)$", read_text("Dockerfile").replace("\\\n", " "), re.MULTILINE
)
_LAST = max(place for place, (word, _) in enumerate(EVERY) if word == "FROM")
BEFORE, INSTRUCTIONS = EVERY[:_LAST], EVERY[_LAST:]


def only(word):
    [rest] = [rest for each, rest in INSTRUCTIONS if each == word]
    return rest


class Image:
    """What the Dockerfile would make of an empty machine, in a directory."""

    def __init__(self, directory):
        self.code = directory / "code"
        self.volume = directory / "volume"
        self._log = directory / "log"
        path = f"{directory / 'venv' / 'bin'}:{os.environ['PATH']}"
        self.environment = {"PATH": path, "GUNICORN_CMD_ARGS": ""}
        self.stages = directory / "stages"
        self._build_page()
        self.code.mkdir()
        self.volume.mkdir(mode=0o700)
        self.run(sys.executable, "-m", "venv", directory / "venv")
        for word, rest in INSTRUCTIONS:
            if word == "COPY":
                self._copy(*shlex.split(rest))
            elif word == "RUN" and not rest.startswith("useradd"):
                self.run(*shlex.split(rest))
            elif word == "ENV":
                pairs = (each.split("=", 1) for each in shlex.split(rest))
                self.environment |= {name: self.place(value) for name, value in pairs}
        for path in [self.code, *self.code.rglob("*")]:
            path.chmod(path.stat().st_mode & ~0o222)

    def _build_page(self):
        """Do what the stage does that fetches what the page needs."""
        [workdir] = [rest for word, rest in BEFORE if word == "WORKDIR"]
        directory = self.stages / workdir.removeprefix("/")
        directory.mkdir(parents=True)
        for word, rest in BEFORE:
            if word == "COPY":
                for source in shlex.split(rest)[:-1]:
                    shutil.copy(REPOSITORY / source, directory)
            elif word == "RUN":
                subprocess.run(shlex.split(rest), cwd=directory, check=True)

    def _copy(self, *names):
        *sources, target = names
        if sources[0] == "--from=page":
            shutil.copytree(
                self.stages / sources[1].removeprefix("/"), self.code / target
            )
            return
        for source in sources:
            if (REPOSITORY / source).is_dir():
                caches = shutil.ignore_patterns("__pycache__", "node_modules")
                shutil.copytree(REPOSITORY / source, self.code / target, ignore=caches)
            else:
                shutil.copy(REPOSITORY / source, self.code / target)

    def place(self, text):
        """Return the text with the paths of the image where they are here."""
        return text.replace(WORKDIR, str(self.code)).replace(VOLUME, str(self.volume))

    def run(self, *command, **settings):
        """Run a command of the image; fail where it does."""
        environment = clean_environment(self.environment | settings)
        subprocess.run([*AS_USER, *command], cwd=self.code, env=environment, check=True)

    def is_healthy(self, port):
        """Return whether the health check of the image is content."""
        _, _, command = only("HEALTHCHECK").partition(" CMD ")
        try:
            self.run(*json.loads(command), PORT=str(port))
        except subprocess.CalledProcessError:
            return False
        return True

    @contextmanager
    def running(self, **settings):
        """Run the image's command until the block ends, as soon as it is healthy."""
        port = free_port()
        assert not self.is_healthy(port)
        command = [*AS_USER, *json.loads(only("CMD"))]
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
def image(tmp_path_factory):
    return Image(tmp_path_factory.mktemp("image"))


def test_base_and_packages_are_pinned_and_the_user_is_not_root():
    runs = " ".join(rest for word, rest in INSTRUCTIONS if word == "RUN")
    words = [word for word, _ in INSTRUCTIONS]

    assert re.fullmatch(r"python:3\.\d+-slim-\w+", only("FROM"))
    assert "--require-hashes --requirement requirements.txt" in runs
    assert "useradd --system --uid 10001 --no-create-home deeds " in runs
    assert only("USER") == "deeds"
    assert words.index("USER") < words.index("CMD")
    assert (only("WORKDIR"), only("VOLUME")) == (WORKDIR, VOLUME)


def test_the_command_serves_and_keeps_its_ledger_in_the_volume(image):
    with image.running() as service, client_of_port(service.port) as send:
        item = send("/v1/mint", {"outputs": ["+5.first"]})[1]["itemId"]
    with image.running() as service, client_of_port(service.port) as send:
        body = {"inputs": [f"+5.{item}.first"], "outputs": [f"+5.{item}.second"]}
        assert send("/v1/swap", body) == (200, {"success": True})

    assert {path.name for path in image.volume.iterdir()} >= {
        "deeds.sqlite3",
        "deeds.sqlite3-checkpoint",
    }


@pytest.fixture
def compose():
    """compose.yaml, with what a .env would hold."""
    text = read_text("deploy/compose.yaml")
    settings = {
        "POSTGRES_PASSWORD": "f" * 64,
        "DEEDS_PEPPER": "p" * 64,
        "SITE": "example.org",
    }
    assert set(re.findall(r"\$\{(\w+):\?\}", text)) == set(settings)
    return yaml.safe_load(
        re.sub(r"\$\{(\w+):\?\}", lambda found: settings[found[1]], text)
    )


def test_compose_sets_nothing_that_the_service_does_not_read(compose):
    environment = compose["services"]["app"]["environment"]

    assert set(environment) - read_variables() == set()
    url = parse_database_url(environment["DATABASE_URL"])
    database = compose["services"][url.host]["environment"]
    assert {"USER": url.username, "PASSWORD": url.password, "DB": url.database} == {
        name.removeprefix("POSTGRES_"): value for name, value in database.items()
    }
    assert environment["DEEDS_CHECKPOINT_FILE"].startswith(f"{VOLUME}/")


def test_compose_names_only_what_it_has(compose):
    services = compose["services"].values()
    mounted = {
        volume.partition(":")[0]
        for each in services
        for volume in each.get("volumes", ())
    }
    files = {name for name in mounted if name.startswith(".")}

    assert {name for each in services for name in each.get("depends_on", ())} < set(
        compose["services"]
    )
    assert mounted - files == set(compose["volumes"])
    assert all((REPOSITORY / "deploy" / name).exists() for name in files)
    assert all(":" in each["image"] for each in services if each["image"] != "deeds")
    assert compose["services"]["app"]["volumes"] == [f"checkpoint:{VOLUME}"]
    grace_s = int(compose["services"]["app"]["stop_grace_period"].removesuffix("s"))
    assert f"\ngraceful_timeout = {grace_s - 10}\n" in read_text("gunicorn.conf.py")


def test_what_compose_runs_serves_a_postgresql(compose, image, postgres):
    """Run both commands with its settings but the database's address."""
    environment = compose["services"]["app"]["environment"]
    settings = {name: image.place(value) for name, value in environment.items()}
    settings["DATABASE_URL"] = postgres.create_database()

    image.run(*compose["services"]["migrate"]["command"], **settings)
    with image.running(**settings) as service, client_of_port(service.port) as send:
        item = send("/v1/mint", {"outputs": ["+5.first"]})[1]["itemId"]
        assert service.get_status(f"/v1/item/{item}") == 200
        assert " data-code-reader" in service.get_text("/claim")

    assert (image.volume / Path(settings["DEEDS_CHECKPOINT_FILE"]).name).exists()
    postgres.drop_database(settings["DATABASE_URL"])


def analyze(*arguments):
    return subprocess.run(
        ["systemd-analyze", *arguments], capture_output=True, text=True, check=False
    )


def test_systemd_finds_nothing_wrong_with_the_unit_which_exposes_little(tmp_path):
    text = read_text("deploy/deeds.service")
    gunicorn = "/srv/deeds/app/.venv/bin/gunicorn"
    assert gunicorn in text
    unit = tmp_path / "deeds.service"
    # `verify` looks for the program.
    unit.write_text(
        text.replace(gunicorn, str(Path(sys.executable).parent / "gunicorn"))
    )

    verified = analyze("verify", unit)
    judged = analyze("security", "--offline=true", "--no-pager", unit)

    assert (verified.returncode, verified.stdout, verified.stderr) == (0, "", "")
    # Of 10, where 0 is the safest: what systemd calls OK ends at 4.9.
    [exposure] = re.findall(
        r"Overall exposure level for deeds.service: ([0-9.]+)", judged.stdout
    )
    assert float(exposure) <= 1.2
