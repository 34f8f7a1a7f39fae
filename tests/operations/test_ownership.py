"""What root makes beside a ledger is the directory owner's, who serves it.

And no link is followed.

Where another user runs the tests, that user takes the part of both.
"""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from app import create_app
from deeds.domain.errors import StartError
from deeds.domain.model import Argon2Cost
from deeds.settings import Settings
from tests.support.commanding import invoke
from tests.support.requests import mint

LEDGER = "deeds.sqlite3"

IS_ROOT = os.geteuid() == 0
# Nobody of this machine: the owner of a directory needs no name.
OWNER, GROUP = (54_321, 54_322) if IS_ROOT else (os.geteuid(), os.getegid())


@pytest.fixture
def directory():
    """The directory of a service that is another user's."""
    # Not in pytest's own, which other users may not enter.
    path = Path(tempfile.mkdtemp(prefix="deeds-owner-"))
    if IS_ROOT:
        os.chown(path, OWNER, GROUP)
    yield path
    shutil.rmtree(path)


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
    """A function that runs a command on a ledger in the directory."""
    arguments = {
        "restore": [str(used / "backup")],
        "accept-rollback": ["--yes"],
        "migrate": [],
    }

    def run_one(command, name=LEDGER):
        ran = invoke(
            Settings(f"sqlite:///{directory}/{name}"), command, *arguments[command]
        )
        assert ran.exit_code == 0 or isinstance(ran.exception, StartError | SystemExit)
        return ran.exit_code

    return run_one


@pytest.fixture
def old(directory, used):
    """The used ledger and the files beside it, in the directory of the owner."""
    for name in (LEDGER, f"{LEDGER}-lock", f"{LEDGER}-checkpoint"):
        shutil.copy(used / name, directory / name)
        if IS_ROOT:
            os.chown(directory / name, OWNER, GROUP)
    return directory


def owners(directory):
    """Return the owners of all that is in a directory, by name, and of itself."""
    found = [directory, *directory.rglob("*")]
    return {path.name: (path.lstat().st_uid, path.lstat().st_gid) for path in found}


def assert_the_owner_can_serve(directory, *suffixes):
    """Assert that the owner may write the files with these suffixes."""
    assert set(owners(directory).values()) == {(OWNER, GROUP)}
    files = {path.name: path for path in directory.rglob("*") if path.is_file()}
    assert files.keys() >= {f"{LEDGER}{suffix}" for suffix in suffixes}
    assert {path.stat().st_mode & 0o600 for path in files.values()} == {0o600}


def test_the_tests_run_as_root_where_ci_does():
    assert IS_ROOT or not os.environ.get("CI")


@pytest.mark.parametrize("name", [LEDGER, f"new/instance/{LEDGER}"])
def test_what_root_migrates_and_its_new_directories_are_the_owners(
    directory, run, name
):
    assert run("migrate", name) == 0

    assert_the_owner_can_serve(directory, "", "-lock", "-next-lock")
    assert {
        path.stat().st_mode & 0o777 for path in directory.iterdir() if path.is_dir()
    } <= {0o700}


def test_what_root_restores_is_the_owners_alone(directory, run):
    assert run("restore") == 0

    assert_the_owner_can_serve(directory, "", "-lock", "-next-lock", "-checkpoint")
    assert (directory / LEDGER).stat().st_mode & 0o777 == 0o600


def test_a_ledger_that_root_replaces_and_accepts_stays_the_owners(old, run):
    (old / f"{LEDGER}-checkpoint").unlink()
    if IS_ROOT:  # As an earlier command left it.
        os.chown(old / f"{LEDGER}-lock", 0, 0)

    assert run("restore") == 0
    assert_the_owner_can_serve(old, "", "-checkpoint")
    assert run("accept-rollback") == 0

    assert_the_owner_can_serve(old, "", "-checkpoint")


@pytest.mark.parametrize(
    ("command", "suffix", "content"),
    [
        ("restore", "-lock", "root's"),
        ("restore", "-checkpoint", "root's"),
        ("migrate", "-lock", "root's"),
        ("migrate", "-lock", None),
        ("accept-rollback", "-checkpoint", "root's"),
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
