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
def url(directory):
    return f"sqlite:///{directory}/deeds.sqlite3"


@pytest.fixture
def serve(tmp_path):
    """A function that mints and swaps as the owner of the directory does."""
    settings = {
        "SCRATCH": f"sqlite:///{tmp_path}/scratch.sqlite3",
        "OWNER": str(OWNER),
        "GROUP": str(GROUP),
        "DEEDS_ARGON2": "m=8,t=1,p=1",
        "DEEDS_LOG_LEVEL": "error",
    }

    def run_as_owner(url):
        ran = run_python(SERVE, URL=url, **settings)
        assert ran.returncode == 0, ran.stderr

    return run_as_owner


def run(*arguments, url):
    ran = run_deeds(*arguments, DATABASE_URL=url)
    assert ran.returncode == 0, ran


def owners(directory):
    """Return the owners of all that is in a directory, by name, and of itself."""
    found = [directory, *directory.rglob("*")]
    return {path.name: (path.lstat().st_uid, path.lstat().st_gid) for path in found}


def all_owned(directory, *names):
    """Return whether these files are there, and all of the owner."""
    found = owners(directory)
    return set(found.values()) == {(OWNER, GROUP)} and found.keys() >= set(names)


def test_the_tests_run_as_root_where_ci_does():
    assert IS_ROOT or not os.environ.get("CI")


@pytest.mark.parametrize("above", ["", "new/instance/"])
def test_what_root_migrates_and_its_new_directories_the_service_can_open(directory, above, serve):
    url = f"sqlite:///{directory}/{above}deeds.sqlite3"

    run("migrate", url=url)

    beside = [f"deeds.sqlite3{suffix}" for suffix in ("", "-lock", "-next-lock")]
    assert all_owned(directory, *beside)
    assert {path.stat().st_mode & 0o777 for path in directory.iterdir() if path.is_dir()} <= {0o700}
    serve(url)


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """A directory with a ledger and a backup, after which it was used."""
    path = tmp_path_factory.mktemp("used")
    settings = Settings(f"sqlite:///{path / 'deeds.sqlite3'}", Argon2Cost(8, 1, 1))
    app = create_app(settings)
    mint(app.test_client(), "+5.a")
    # Only root can read it.
    assert invoke(settings, "backup", str(path / "backup")).exit_code == 0
    mint(app.test_client(), "+5.a")
    app.extensions["deeds"].close()
    return path


@pytest.fixture
def old(directory, used):
    """Its ledger and the files beside it, in the directory of the owner."""
    for name in ("deeds.sqlite3", "deeds.sqlite3-lock", "deeds.sqlite3-mark"):
        shutil.copy(used / name, directory / name)
        if IS_ROOT:
            os.chown(directory / name, OWNER, GROUP)
    return directory


def test_what_root_restores_replaces_and_accepts_the_service_can_open(directory, url, used, serve):
    run("restore", str(used / "backup"), url=url)
    suffixes = ("", "-lock", "-next-lock", "-mark", "-mark-lock")
    names = [f"deeds.sqlite3{suffix}" for suffix in suffixes]
    assert all_owned(directory, *names)
    assert (directory / "deeds.sqlite3").stat().st_mode & 0o777 == 0o600
    serve(url)
    (directory / "deeds.sqlite3-mark").unlink()
    if IS_ROOT:  # As an earlier command left it.
        os.chown(directory / "deeds.sqlite3-lock", 0, 0)

    run("restore", str(used / "backup"), url=url)
    assert all_owned(directory, *names)
    run("accept-rollback", "--yes", url=url)

    assert all_owned(directory, *names)
    serve(url)


def run_on(old, used, command):
    """Run a command that takes the lock or the mark."""
    arguments = {"restore": [str(used / "backup")], "accept-rollback": ["--yes"], "migrate": []}
    return run_deeds(command, *arguments[command], DATABASE_URL=f"sqlite:///{old}/deeds.sqlite3")


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
def test_no_symbolic_link_is_followed(old, used, tmp_path, command, suffix, content):
    victim = tmp_path / "shadow"
    if content is not None:
        victim.write_text(content)
    before = owners(tmp_path)
    path = old / f"deeds.sqlite3{suffix}"
    path.unlink()
    path.symlink_to(victim)

    ran = run_on(old, used, command)

    assert (ran.returncode, ran.stderr.count("\n")) == (1, 1)
    assert owners(tmp_path) == before
    assert content is None or victim.read_text() == content


@pytest.mark.parametrize("command", ["restore", "migrate"])
def test_a_file_of_roots_that_was_linked_there_stays_roots(old, used, command):
    # On the disk of the directory, where it can have a second name.
    with tempfile.NamedTemporaryFile(prefix="deeds-shadow-") as linked:
        (old / "deeds.sqlite3-lock").unlink()
        (old / "deeds.sqlite3-lock").hardlink_to(linked.name)
        before = os.fstat(linked.fileno()).st_uid

        assert run_on(old, used, command).returncode == 0

        assert os.fstat(linked.fileno()).st_uid == before
