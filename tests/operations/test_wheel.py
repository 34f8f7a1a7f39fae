"""The wheel in an environment of its own, used outside the repository."""

import re
import shutil
import sys
from importlib import metadata

import pytest

from deeds.blueprints.v1 import VERSION
from tests.support.commanding import printed_by
from tests.support.installing import (
    SERVICE_FILES,
    copy_sources,
    make_environment,
    name_in,
)
from tests.support.needs import READER, require
from tests.support.serving import (
    clean_environment,
    running_service,
    start_command,
    wait_for_service,
)

pytestmark = pytest.mark.slow

SOURCES = ("pyproject.toml", "setup.cfg", "requirements.in", "LICENSE")
SOURCES += SERVICE_FILES
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
# Files of another project in the directory in which the command runs.
FOREIGN = ("app.py", "gunicorn.conf.py", "deeds.py", "parts.py", "secrets.py")
DEFAULT = """
import os
os.geteuid = lambda: {user}
from deeds.settings import COMMAND, DEFAULT_LEDGER
print(COMMAND, DEFAULT_LEDGER)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    require("npm: make test fetches what reads codes")
    directory = copy_sources(tmp_path_factory.mktemp("sources"), *SOURCES)
    shutil.copytree(READER.parent, directory / "parts/pages/node_modules")
    build = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", "dist", "."]
    printed_by(*PIP, *build, cwd=directory)
    [wheel] = (directory / "dist").iterdir()
    return wheel


@pytest.fixture(scope="module")
def programs(wheel, tmp_path_factory):
    """The `bin` of an environment with the wheel and the packages that it requires."""
    [built] = metadata.distributions(path=[str(wheel)])
    names = [name_in(requirement) for requirement in built.requires]
    programs = make_environment(tmp_path_factory.mktemp("installed"), names)
    install = ["install", "--no-index", "--no-deps", wheel]
    printed_by(*PIP, "--python", programs / "python", *install)
    return programs


@pytest.fixture
def deeds(programs, tmp_path):
    """A function that runs the command in another project's directory."""
    for name in FOREIGN:
        (tmp_path / name).write_text("raise SystemExit('another project')\n")
    ledger = f"sqlite:///{tmp_path}/ledger.sqlite3"
    environment = clean_environment({"DATABASE_URL": ledger})

    def run(*words):
        command = [programs / "deeds", *words]
        return printed_by(*command, cwd=tmp_path, env=environment)

    return run


@pytest.fixture
def service(deeds, programs, tmp_path):
    command = [str(programs / "deeds"), "serve", "--port", "0"]
    ledger = f"sqlite:///{tmp_path}/ledger.sqlite3"
    settings = {"DATABASE_URL": ledger, "GUNICORN_CMD_ARGS": ""}
    log = tmp_path / "log"
    with start_command(command, log, settings, tmp_path) as process:
        yield wait_for_service(process, log)


def test_it_has_the_pages_and_the_commands(deeds, service, tmp_path):
    with service.open_api() as api:
        item_id = api.mint("+5.a")
        api.swap([f"+5.{item_id}.a"], [f"+5.{item_id}.b"])
        paths = ["/openapi.json", "/docs", "/problems", "/till", "/wallet"]
        statuses = {path: api.get(path).status_code for path in paths}
        page = api.http.get("/mint", headers={"Accept-Language": "de"}).text
        files = re.findall(r'"(/web/[^"]+)"', page)
        base = files[0].rsplit("/", 2)[0]
        files += [f"{base}/vendor/qr/decode.js", f"{base}/languages/de.js"]
        files += [f"{base}/vendor/unhomoglyph/data.json"]
        statuses |= {path: api.get(path).status_code for path in files}
    backed_up = deeds("backup", tmp_path / "copy.sqlite3")

    assert set(statuses.values()) == {200}, statuses
    assert '<html lang="de"' in page
    assert "no_qr_reader" not in service.log_text()
    assert "Every invariant holds." in backed_up
    assert "holds the ledger up to operation 2." in backed_up
    assert deeds("--version") == f"deeds {VERSION}\n"


def test_its_default_ledger_and_the_name_of_its_command(programs, tmp_path):
    python, environment = programs / "python", clean_environment({"HOME": "/home/ann"})

    printed = [
        printed_by(python, "-c", DEFAULT.format(user=user), cwd="/", env=environment)
        for user in (1000, 0)
    ]
    assert printed == [
        "deeds /home/ann/.local/share/deeds/deeds.sqlite3\n",
        "deeds /var/lib/deeds/deeds.sqlite3\n",
    ]


def test_a_start_without_the_reader_of_qr_codes_says_so(tmp_path):
    sources = copy_sources(tmp_path / "sources", *SERVICE_FILES)

    with running_service(tmp_path, sources=sources) as service:
        [line] = re.findall('.*"no_qr_reader".*', service.log_text())

    assert "npm ci --ignore-scripts --prefix parts/pages" in line
