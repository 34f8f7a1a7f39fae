"""What root makes beside a ledger is the directory owner's, who serves it.

And no link is followed.

Where another user runs the tests, that user takes the part of both.
"""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.support.api import environ_of, served
from tests.support.commanding import error_of, invoke, output_of

LEDGER = "deeds.sqlite3"
SETTINGS = {"DATABASE_URL": f"sqlite:///{LEDGER}"}

IS_ROOT = os.geteuid() == 0
US = os.geteuid(), os.getegid()
# Nobody of this machine: the owner of a directory needs no name.
OWNER = (54_321, 54_322) if IS_ROOT else US

# With the directory of the backup.
RESTORE = "restore {}/backup"
RESTORE_NEW = "restore --new {}/backup"
ACCEPT = "accept-rollback --yes"
MIGRATE = "migrate"


@pytest.fixture
def directory(monkeypatch):
    """The directory of a service that is another user's; commands run there."""
    # Not in pytest's own, which other users may not enter.
    path = Path(tempfile.mkdtemp(prefix="deeds-owner-"))
    os.chown(path, *OWNER)
    monkeypatch.chdir(path)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """A directory with a ledger and a backup, after which it was used."""
    path = tmp_path_factory.mktemp("used")
    settings = environ_of(f"sqlite:///{path / LEDGER}")
    with served(settings) as api:
        api.mint("+5.a")
        # Only root can read it.
        output_of(settings, "backup", path / "backup")
        api.mint("+5.a")
    return path


@pytest.fixture
def old(directory, used):
    """The used ledger and the files beside it, in the directory of the owner."""
    for path in used.glob(f"{LEDGER}*"):
        os.chown(shutil.copy(path, directory), *OWNER)
    return directory


def assert_the_owner_can_serve(directory, *suffixes):
    """Assert that the owner may write the files with these suffixes."""
    paths = [directory, *directory.rglob("*")]
    assert {(path.stat().st_uid, path.stat().st_gid) for path in paths} == {OWNER}
    files = {path.name: path for path in paths if path.is_file()}
    assert files.keys() >= {f"{LEDGER}{suffix}" for suffix in suffixes}
    assert {path.stat().st_mode & 0o600 for path in files.values()} == {0o600}


def test_the_tests_run_as_root_where_ci_does():
    assert IS_ROOT or not os.environ.get("CI")


@pytest.mark.parametrize("new", ["", "new/instance"], ids=["beside", "in new ones"])
def test_what_root_migrates_and_its_new_directories_are_the_owners(
    directory, new, monkeypatch
):
    path = directory / new / LEDGER
    monkeypatch.setattr("storage.sqlite.DEFAULT_LEDGER", path)

    output_of(environ_of(f"sqlite:///{path}"), MIGRATE)

    assert_the_owner_can_serve(directory, "", "-lock")
    directories = [path for path in directory.rglob("*") if path.is_dir()]
    assert {path.stat().st_mode & 0o777 for path in directories} <= {0o700}


def test_what_root_restores_is_the_owners_alone(directory, used):
    output_of(SETTINGS, *RESTORE_NEW.format(used).split())

    assert_the_owner_can_serve(directory, "", "-lock", "-checkpoint")
    assert (directory / LEDGER).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "commands", [[RESTORE], [RESTORE, ACCEPT]], ids=["restored", "accepted"]
)
def test_a_ledger_that_root_replaces_stays_the_owners(old, used, commands):
    (old / f"{LEDGER}-checkpoint").unlink()
    # As an earlier command left it.
    os.chown(old / f"{LEDGER}-lock", *US)

    for command in commands:
        output_of(SETTINGS, *command.format(used).split())

    assert_the_owner_can_serve(old, "", "-checkpoint")


@pytest.mark.parametrize(
    ("command", "suffix"),
    [
        (RESTORE, "-lock"),
        (RESTORE, "-checkpoint"),
        (MIGRATE, "-lock"),
        (ACCEPT, "-checkpoint"),
    ],
)
def test_no_symbolic_link_is_followed(old, used, tmp_path, command, suffix):
    victim = tmp_path / "shadow"
    victim.write_text("root's")
    link = old / f"{LEDGER}{suffix}"
    link.unlink()
    link.symlink_to(victim)

    ran = invoke(SETTINGS, *command.format(used).split())

    assert f"{LEDGER}{suffix}: " in ran.output
    assert (victim.stat().st_uid, victim.stat().st_gid) == US
    assert victim.read_text() == "root's"


def test_nothing_is_created_where_a_symbolic_link_leads(old, tmp_path):
    link = old / f"{LEDGER}-lock"
    link.unlink()
    link.symlink_to(tmp_path / "shadow")

    error_of(SETTINGS, MIGRATE)

    assert not (tmp_path / "shadow").exists()


@pytest.mark.parametrize("command", [RESTORE, MIGRATE])
def test_a_file_of_roots_that_was_linked_there_stays_roots(old, used, command):
    # On the disk of the directory, where it can have a second name.
    with tempfile.NamedTemporaryFile(prefix="deeds-shadow-") as linked:
        (old / f"{LEDGER}-lock").unlink()
        (old / f"{LEDGER}-lock").hardlink_to(linked.name)

        output_of(SETTINGS, *command.format(used).split())

        assert os.fstat(linked.fileno()).st_uid == os.geteuid()
