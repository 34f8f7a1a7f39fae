"""Another user swaps links in its directory while root works there.

Nothing outside of the directory is created, changed or re-owned.
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

from tests.support.api import environ_of, served
from tests.support.commanding import invoke, output_of
from tests.support.waiting import wait_until

LEDGER = "deeds.sqlite3"
TRIES = 200

# Nobody of this machine. Another user than root who runs the tests takes the part of
# both, and there is no attack.
IS_ROOT = os.geteuid() == 0
OWNER = (54_321, 54_322) if IS_ROOT else (os.geteuid(), os.getegid())

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


@pytest.fixture
def directory():
    """A directory of the other user's."""
    path = Path(tempfile.mkdtemp(prefix="deeds-race-"))
    os.chown(path, *OWNER)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    """A directory of root's with a ledger and a backup of it."""
    path = tmp_path_factory.mktemp("ledger")
    settings = environ_of(f"sqlite:///{path / LEDGER}")
    with served(settings) as api:
        api.mint("+5.a")
    output_of(settings, "backup", path / "backup")
    return path


@contextmanager
def attacked(directory, victim, notes):
    """Let the other user swap links in the directory within the block."""
    if not IS_ROOT:
        yield
        return
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
    ("place", "words"),
    [
        ("{root}", "backup {owner}/copy"),
        ("{owner}", "restore {root}/backup"),
        ("{owner}", "migrate"),
    ],
)
def test_links_that_another_user_swaps_lead_root_nowhere(
    directory, victim, ledger, tmp_path_factory, *, place, words
):
    for path in ledger.glob(f"{LEDGER}*"):
        if place == "{owner}":
            os.chown(shutil.copy(path, directory), *OWNER)
    (directory / "bait").touch()
    places = {"root": ledger, "owner": directory}
    settings = {"DATABASE_URL": f"sqlite:///{place.format(**places)}/{LEDGER}"}
    before = look(victim)

    with attacked(directory, victim, tmp_path_factory.mktemp("notes") / "notes"):
        for number in range(TRIES):
            command, *file = words.format(**places).split()
            name = [f"{each}-{number}" for each in file if command == "backup"]
            invoke(settings, command, *(name or file))
            assert look(victim) == before, number

    owners = {path.stat().st_uid for path in ledger.iterdir()}
    assert owners == {os.geteuid()}
