"""Root works beside a ledger with the rights of the directory's owner, who serves it.

What root makes there is the owner's, and no link is followed, not even one that the
owner puts there meanwhile.
"""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.support.api import environ_of, served, stop_line
from tests.support.commanding import invoke, output_of
from tests.support.needs import ROOT, require
from tests.support.waiting import wait_until

LEDGER = "deeds.sqlite3"
SETTINGS = {"DATABASE_URL": f"sqlite:///{LEDGER}"}

# Nobody of this machine: the owner of a directory needs no name.
OWNER, OTHER = (54_321, 54_322), (54_331, 54_332)

# With the directory of the backup.
RESTORE = "restore {}/backup"
ACCEPT = "accept-rollback --yes"

TRIES = 100

# Puts a link in the place of each directory at once, and of a file now and then, and a
# moment later what was there before. Tells of each by a byte.
ATTACK = """
import os, sys

victim, uid, gid = sys.argv[1:]
os.setgroups([])
os.setgid(int(gid))
os.setuid(int(uid))


def swap(name, target, looks):
    try:
        os.rename(name, f"aside {name}")
        os.symlink(target, name)
        os.write(1, b".")
        for _ in range(looks):
            os.stat(".")
        os.unlink(name)
        os.rename(f"aside {name}", name)
    except OSError:
        pass


turn = 0
while True:
    turn += 1
    for entry in os.scandir():
        if entry.name.startswith("aside") or entry.is_symlink():
            continue
        if entry.is_dir():
            swap(entry.name, victim, 2000)
        elif turn % 5 == 0:
            is_ledger = entry.name.endswith("sqlite3")
            swap(entry.name, f"{victim}/{'ledger' if is_ledger else 'shadow'}", 50)
"""


@pytest.fixture
def directory(monkeypatch):
    """The directory of a service that is another user's; commands run there."""
    require(ROOT)
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
    settings = environ_of(url_of(path))
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


def url_of(directory):
    return f"sqlite:///{directory / LEDGER}"


def assert_the_owner_can_serve(directory, *suffixes):
    """Assert that the owner may write the files with these suffixes."""
    paths = [directory, *directory.rglob("*")]
    assert {(path.stat().st_uid, path.stat().st_gid) for path in paths} == {OWNER}
    files = {path.name: path for path in paths if path.is_file()}
    assert files.keys() >= {f"{LEDGER}{suffix}" for suffix in suffixes}
    assert {path.stat().st_mode & 0o600 for path in files.values()} == {0o600}


def test_what_root_migrates_and_its_new_directories_are_the_owners(
    directory, monkeypatch
):
    path = directory / "new" / "instance" / LEDGER
    monkeypatch.setattr("storage.sqlite.DEFAULT_LEDGER", path)

    output_of(environ_of(f"sqlite:///{path}"), "migrate")

    assert_the_owner_can_serve(directory, "", "-lock")
    modes = [each.stat().st_mode & 0o777 for each in path.parents[:2]]
    assert modes == [0o700, 0o700]


def test_a_ledger_that_root_replaces_stays_the_owners(old, used):
    (old / f"{LEDGER}-checkpoint").unlink()

    for command in (RESTORE, ACCEPT):
        output_of(SETTINGS, *command.format(used).split())

    assert_the_owner_can_serve(old, "", "-checkpoint")


@pytest.mark.parametrize(
    ("command", "suffix"), [("migrate", "-lock"), (ACCEPT, "-checkpoint")]
)
def test_no_symbolic_link_is_followed(old, tmp_path, command, suffix):
    victim = tmp_path / "shadow"
    victim.write_text("root's")
    link = old / f"{LEDGER}{suffix}"
    link.unlink()
    link.symlink_to(victim)

    ran = invoke(SETTINGS, *command.split())

    assert f"{LEDGER}{suffix}: " in ran.output
    assert victim.stat().st_uid == 0
    assert victim.read_text() == "root's"


def test_a_file_of_roots_that_was_linked_there_stays_roots(old):
    # On the disk of the directory, where it can have a second name.
    with tempfile.NamedTemporaryFile(prefix="deeds-shadow-") as linked:
        (old / f"{LEDGER}-lock").unlink()
        (old / f"{LEDGER}-lock").hardlink_to(linked.name)

        invoke(SETTINGS, "migrate")

        status = os.fstat(linked.fileno())
        assert (status.st_uid, status.st_size) == (0, 0)


def test_a_ledger_that_is_a_link_leads_to_none_of_roots(directory, used):
    before = (used / LEDGER).read_bytes(), sorted(used.iterdir())
    (directory / LEDGER).symlink_to(used / LEDGER)

    ran = invoke(SETTINGS, "migrate")

    assert ran.exit_code == 1
    assert ((used / LEDGER).read_bytes(), sorted(used.iterdir())) == before


def test_what_root_backs_up_and_restores_is_of_the_owners_of_the_directories(
    directory, other_directory, used
):
    copy = other_directory / "copy"

    output_of(environ_of(url_of(used)), "backup", copy)
    output_of(SETTINGS, "restore", "--new", copy)

    assert (copy.stat().st_uid, copy.stat().st_gid) == OTHER
    modes = [each.stat().st_mode & 0o777 for each in (copy, directory / LEDGER)]
    assert modes == [0o600, 0o600]
    assert_the_owner_can_serve(directory, "", "-lock", "-checkpoint")


def test_a_directory_that_another_user_leads_to_has_the_rights_of_that_user(
    old, tmp_path
):
    """The directory is root's, and the link to it is another user's."""
    tmp_path.chmod(0o700)
    link = old / "backups"
    link.symlink_to(tmp_path)
    os.lchown(link, *OWNER)

    ran = invoke(SETTINGS, "backup", link / "copy")

    assert ran.exit_code == 1
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_its_owner_cannot_reach_is_refused(tmp_path):
    require(ROOT)
    # Below one that only root can enter.
    closed = tmp_path / "closed"
    closed.mkdir()
    os.chown(closed, *OWNER)

    ran = invoke(environ_of(url_of(closed)), "migrate")

    refusal = f"deeds: {closed} cannot be reached by its owner, user {OWNER[0]}"
    assert ran.output.startswith(refusal)


def test_a_checkpoint_beside_no_ledger_is_the_owners_too(directory, used):
    checkpoint = {"DEEDS_CHECKPOINT_FILE": str(directory / "checkpoint")}

    output_of(environ_of(url_of(used)) | checkpoint, "accept-rollback")

    files = sorted(each.name for each in directory.iterdir())
    assert files == ["checkpoint", "checkpoint-lock"]
    assert_the_owner_can_serve(directory)


def test_root_serves_with_no_file_in_a_directory_of_another(directory, used, open_app):
    """A ledger there, or with another ledger the checkpoint file."""
    checkpoint = {"DEEDS_CHECKPOINT_FILE": str(directory / "checkpoint")}

    for settings in (SETTINGS, environ_of(url_of(used)) | checkpoint):
        assert stop_line(open_app, settings) == (
            f"{directory} belongs to user {OWNER[0]}, who could lead root to other"
            " files: run the service as that user"
        )
        assert list(directory.iterdir()) == []


@pytest.fixture
def victim(tmp_path):
    """A directory that only root can enter, with a text and a database."""
    (tmp_path / "shadow").write_text("root's")
    with closing(sqlite3.connect(tmp_path / "ledger")) as connection:
        connection.execute("CREATE TABLE theirs (id INTEGER)")
    return tmp_path


def look(directory):
    """Return all that is in a directory, and whose it is."""
    return {
        path: (status.st_uid, status.st_gid, status.st_mode, path.read_bytes())
        for path in directory.iterdir()
        if (status := path.stat())
    }


@contextmanager
def attacked(directory, victim, notes):
    """Let the other user swap links in the directory within the block."""
    with notes.open("wb") as told:
        attacker = subprocess.Popen(
            [sys.executable, "-c", ATTACK, str(victim), *map(str, OWNER)],
            cwd=directory,
            stdout=told,
        )
        try:
            wait_until(lambda: notes.stat().st_size > 0)
            yield
        finally:
            attacker.kill()
            attacker.wait()


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", ["backup copy-{number}", "restore {root}/backup", "migrate"]
)
def test_links_that_the_owner_swaps_meanwhile_lead_root_nowhere(
    old, victim, used, tmp_path_factory, words
):
    (old / "bait").touch()
    before = look(victim)

    with attacked(old, victim, tmp_path_factory.mktemp("notes") / "notes"):
        for number in range(TRIES):
            invoke(SETTINGS, *words.format(root=used, number=number).split())
            assert look(victim) == before, number

    assert {path.stat().st_uid for path in used.iterdir()} == {0}
