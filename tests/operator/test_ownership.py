"""Root works beside a ledger with the rights of the directory's owner, who serves it.

What root makes there is the owner's, and no link is followed.

Where another user runs the tests, that user takes the part of both.
"""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.support.api import environ_of, served, stop_line
from tests.support.commanding import error_of, invoke, output_of

LEDGER = "deeds.sqlite3"
SETTINGS = {"DATABASE_URL": f"sqlite:///{LEDGER}"}

IS_ROOT = os.geteuid() == 0
US = os.geteuid(), os.getegid()
# Nobody of this machine: the owner of a directory needs no name.
OWNER = (54_321, 54_322) if IS_ROOT else US
OTHER = (54_331, 54_332) if IS_ROOT else US

# With the directory of the backup.
RESTORE = "restore {}/backup"
RESTORE_NEW = "restore --new {}/backup"
ACCEPT_WORD = "accept-rollback"
ACCEPT = f"{ACCEPT_WORD} --yes"
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


@pytest.fixture
def other_directory():
    """The directory of a third user."""
    with tempfile.TemporaryDirectory(prefix="deeds-other-") as path:
        os.chown(path, *OTHER)
        yield Path(path)


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

        invoke(SETTINGS, *command.format(used).split())

        status = os.fstat(linked.fileno())
        assert (status.st_uid, status.st_size) == (os.geteuid(), 0)


@pytest.mark.parametrize("command", [MIGRATE, "audit", ACCEPT])
def test_a_ledger_that_is_a_link_leads_to_none_of_roots(directory, used, command):
    before = (used / LEDGER).read_bytes(), sorted(used.iterdir())
    (directory / LEDGER).symlink_to(used / LEDGER)

    ran = invoke(SETTINGS, *command.split())

    assert ran.exit_code == IS_ROOT
    assert ((used / LEDGER).read_bytes(), sorted(used.iterdir())) == before


def test_a_ledger_is_backed_up_into_a_directory_of_a_third_user(
    old, other_directory, used
):
    output_of(SETTINGS, "backup", other_directory / "copy")
    (old / LEDGER).unlink()
    output_of(SETTINGS, "restore", "--new", other_directory / "copy")

    status = (other_directory / "copy").stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (*OTHER, 0o600)
    assert_the_owner_can_serve(old, "", "-lock", "-checkpoint")


def test_a_directory_that_another_user_leads_to_has_the_rights_of_that_user(
    old, used, tmp_path
):
    """The directory is root's, and the link to it is another user's."""
    tmp_path.chmod(0o700)
    link = old / "backups"
    link.symlink_to(tmp_path)
    os.lchown(link, *OWNER)

    ran = invoke(SETTINGS, "backup", link / "copy")

    if IS_ROOT:
        assert ran.exit_code == 1
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [MIGRATE, "backup /no/such/file", RESTORE])
def test_root_has_its_rights_again_after_a_command(old, used, command):
    before = os.getresuid(), os.getresgid(), os.getgroups()

    invoke(SETTINGS, *command.format(used).split())

    assert (os.getresuid(), os.getresgid(), os.getgroups()) == before


def test_a_directory_that_its_owner_cannot_reach_is_refused(used, tmp_path):
    # Below one that only root can enter.
    closed = tmp_path / "closed"
    closed.mkdir()
    os.chown(closed, *OWNER)

    ran = invoke(environ_of(f"sqlite:///{closed / LEDGER}"), MIGRATE)

    refusal = f"deeds: {closed} cannot be reached by its owner, user {OWNER[0]}"
    assert ran.output.startswith(refusal if IS_ROOT else "upgraded")


@pytest.mark.parametrize("ledger_url", ["postgresql"], indirect=True)
def test_a_checkpoint_beside_no_ledger_is_the_owners_too(directory, ledger_url):
    path = directory / "checkpoint"
    with served(environ_of(ledger_url)) as api:
        api.mint("+5.a")

    output_of(environ_of(ledger_url, DEEDS_CHECKPOINT_FILE=str(path)), ACCEPT_WORD)

    files = sorted(each.name for each in directory.iterdir())
    assert files == ["checkpoint", "checkpoint-lock"]
    assert_the_owner_can_serve(directory)


@pytest.mark.parametrize("ledger_url", ["sqlite", "postgresql"], indirect=True)
def test_root_serves_with_no_file_in_a_directory_of_another(
    directory, ledger_url, open_app
):
    """A ledger there, or with another ledger the checkpoint file."""
    checkpoint = {"DEEDS_CHECKPOINT_FILE": str(directory / "checkpoint")}

    for settings in (SETTINGS, environ_of(ledger_url) | checkpoint):
        if not IS_ROOT:
            open_app(settings)
            continue
        assert stop_line(open_app, settings) == (
            f"{directory} belongs to user {OWNER[0]}, who could lead root to other"
            " files: run the service as that user"
        )
        assert list(directory.iterdir()) == []
