"""What root makes beside a ledger is the directory owner's, who serves it; and no link is followed.

Where another user runs the tests, that user takes the part of both.
"""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from app import create_app
from deeds.domain.model import Argon2Cost
from deeds.settings import Settings
from tests.support.commanding import invoke
from tests.support.requests import mint
from tests.support.starting import run_deeds, run_python

LEDGER = "deeds.sqlite3"

IS_ROOT = os.geteuid() == 0
# Nobody of this machine: the owner of a directory needs no name.
OWNER, GROUP = (54_321, 54_322) if IS_ROOT else (os.geteuid(), os.getegid())

# Serves a ledger as another user. First one of its own, so that all is imported by then: Python and
# the sources may be where only root can read them.
SERVE = """
import functools, os, sys, app
from tests.support.requests import mint, swap

app.read_static_files = functools.cache(app.read_static_files)

def serve(url):
    os.environ["DATABASE_URL"] = url
    service = app.create_app()
    client = service.test_client()
    item = mint(client, "+5.a")
    assert swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"]).status_code == 200
    service.extensions["deeds"].close()

serve(os.environ["SCRATCH"])
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(int(os.environ["GROUP"]))
    os.setuid(int(os.environ["OWNER"]))
serve(os.environ["URL"])
"""


@pytest.fixture
def directory():
    """The directory of a service that is another user's."""
    # Not in pytest's own, which other users may not enter.
    path = Path(tempfile.mkdtemp(prefix="deeds-owner-"))
    if IS_ROOT:
        os.chown(path, OWNER, GROUP)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def serve(tmp_path, directory):
    """A function that mints and swaps as the owner of the directory does."""
    settings = {
        "SCRATCH": f"sqlite:///{tmp_path}/scratch.sqlite3",
        "OWNER": str(OWNER),
        "GROUP": str(GROUP),
        "DEEDS_ARGON2": "m=8,t=1,p=1",
        "DEEDS_LOG_LEVEL": "error",
    }

    def run_as_owner(name=LEDGER):
        ran = run_python(SERVE, URL=f"sqlite:///{directory}/{name}", **settings)
        assert ran.returncode == 0, ran.stderr

    return run_as_owner


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """A directory with a ledger and a backup, after which it was used."""
    path = tmp_path_factory.mktemp("used")
    settings = Settings(f"sqlite:///{path / LEDGER}", Argon2Cost(8, 1, 1))
    app = create_app(settings)
    mint(app.test_client(), "+5.a")
    # Only root can read it.
    assert invoke(settings, "backup", str(path / "backup")).exit_code == 0
    mint(app.test_client(), "+5.a")
    app.extensions["deeds"].close()
    return path


@pytest.fixture
def run(directory, used):
    """A function that runs a command on a ledger in the directory, and returns how that ended."""
    arguments = {"restore": [str(used / "backup")], "accept-rollback": ["--yes"], "migrate": []}

    def run_one(command, name=LEDGER):
        url = f"sqlite:///{directory}/{name}"
        ran = run_deeds(command, *arguments[command], DATABASE_URL=url)
        assert ran.returncode == 0 or ran.stderr.count("\n") == 1
        return ran.returncode

    return run_one


@pytest.fixture
def old(directory, used):
    """The used ledger and the files beside it, in the directory of the owner."""
    for name in (LEDGER, f"{LEDGER}-lock", f"{LEDGER}-mark"):
        shutil.copy(used / name, directory / name)
        if IS_ROOT:
            os.chown(directory / name, OWNER, GROUP)
    return directory


def owners(directory):
    """Return the owners of all that is in a directory, by name, and of itself."""
    found = [directory, *directory.rglob("*")]
    return {path.name: (path.lstat().st_uid, path.lstat().st_gid) for path in found}


def all_owned(directory, *suffixes):
    """Return whether the files with these suffixes are there, and all files of the owner."""
    found = owners(directory)
    names = {f"{LEDGER}{suffix}" for suffix in suffixes}
    return set(found.values()) == {(OWNER, GROUP)} and found.keys() >= names


def test_the_tests_run_as_root_where_ci_does():
    assert IS_ROOT or not os.environ.get("CI")


@pytest.mark.parametrize("name", [LEDGER, f"new/instance/{LEDGER}"])
def test_what_root_migrates_and_its_new_directories_the_service_can_open(
    directory, run, serve, name
):
    assert run("migrate", name) == 0

    assert all_owned(directory, "", "-lock", "-next-lock")
    assert {path.stat().st_mode & 0o777 for path in directory.iterdir() if path.is_dir()} <= {0o700}
    serve(name)


def test_what_root_restores_replaces_and_accepts_the_service_can_open(directory, run, serve):
    made = ("", "-lock", "-next-lock", "-mark")
    assert run("restore") == 0
    assert all_owned(directory, *made)
    assert (directory / LEDGER).stat().st_mode & 0o777 == 0o600
    serve()
    (directory / f"{LEDGER}-mark").unlink()
    if IS_ROOT:  # As an earlier command left it.
        os.chown(directory / f"{LEDGER}-lock", 0, 0)

    assert run("restore") == 0
    assert all_owned(directory, *made)
    assert run("accept-rollback") == 0

    assert all_owned(directory, *made)
    serve()


@pytest.mark.parametrize(
    ("command", "suffix", "content"),
    [
        ("restore", "-lock", "root's"),
        ("restore", "-mark", "root's"),
        ("migrate", "-lock", "root's"),
        ("migrate", "-lock", None),
        ("accept-rollback", "-mark", "root's"),
    ],
)
def test_no_symbolic_link_is_followed(old, run, tmp_path, command, suffix, content):
    victim = tmp_path / "shadow"
    if content is not None:
        victim.write_text(content)
    before = owners(tmp_path)
    path = old / f"{LEDGER}{suffix}"
    path.unlink()
    path.symlink_to(victim)

    assert run(command) == 1

    assert owners(tmp_path) == before
    assert content is None or victim.read_text() == content


@pytest.mark.parametrize("command", ["restore", "migrate"])
def test_a_file_of_roots_that_was_linked_there_stays_roots(old, run, command):
    # On the disk of the directory, where it can have a second name.
    with tempfile.NamedTemporaryFile(prefix="deeds-shadow-") as linked:
        (old / f"{LEDGER}-lock").unlink()
        (old / f"{LEDGER}-lock").hardlink_to(linked.name)
        before = os.fstat(linked.fileno()).st_uid

        assert run(command) == 0

        assert os.fstat(linked.fileno()).st_uid == before
