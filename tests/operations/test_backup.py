"""`deeds backup` and `deeds restore`, with the service running and without."""

import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

import storage.backup
from deeds.domain.errors import StartError
from deeds.settings import Settings
from tests.faults.load import CLIENTS_COUNT, Load, assert_nothing_lost
from tests.support.commanding import invoke
from tests.support.requests import mint, swap
from tests.support.serving import running_service

VIOLATED = "Error: the copy is not used: the ledger violates these invariants:"
IN_USE = ": it is in use: stop the service first\n"
OLDER = "ends at operation 1: this is an older copy"
POSTGRESQL = (
    "Error: this command copies SQLite files; for PostgreSQL use pg_dump and"
    " pg_restore, or "
    "point-in-time recovery\n"
)


@pytest.fixture
def database_url(sqlite_url):
    return sqlite_url


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deeds.sqlite3"


@pytest.fixture
def copy(tmp_path):
    """Where a backup goes."""
    (tmp_path / "backups").mkdir()
    return tmp_path / "backups" / "copy.sqlite3"


def run(command, file, url):
    return invoke(Settings(url), command, str(file))


def state(path):
    """Return how many operations and live units a ledger has; it is only read."""
    with closing(sqlite3.connect(path)) as connection:
        [operations] = connection.execute("SELECT count(*) FROM operations").fetchone()
        live = "SELECT sum(amount) FROM outputs WHERE spent_by IS NULL"
        return operations, connection.execute(live).fetchone()[0]


def test_a_service_in_use_is_backed_up_whole_and_not_replaced(
    sqlite_url, copy, tmp_path
):
    with running_service(
        tmp_path, DATABASE_URL=sqlite_url, WEB_CONCURRENCY="2"
    ) as service:
        load = Load([lambda: service.port], seed=1)
        with load.running():
            load.wait_for_answers(CLIENTS_COUNT * 3)
            before = load.acknowledged_count()
            ran = run("backup", copy, sqlite_url)
            after = len(load.entries())
            restored = run("restore", copy, sqlite_url)
        assert_nothing_lost(load, lambda: service.port, sqlite_url)

    assert (ran.exit_code, ran.stderr) == (0, "")
    assert restored.exit_code == 1
    assert restored.stderr.endswith(IN_USE)
    operations, _ = state(copy)
    assert before <= operations <= after
    assert ran.stdout.endswith(
        f"{copy} holds the ledger up to operation {operations}.\n"
    )
    assert invoke(Settings(f"sqlite:///{copy}"), "audit").exit_code == 0


def test_a_backup_is_one_file_for_its_owner_alone_and_overwrites_nothing(
    client, sqlite_url, copy
):
    mint(client, "+5.a")

    run("backup", copy, sqlite_url)
    mint(client, "+1.b")
    ran = run("backup", copy, sqlite_url)

    assert (ran.exit_code, ran.stderr) == (1, f"Error: {copy}: already exists\n")
    assert [each.name for each in copy.parent.iterdir()] == [copy.name]
    assert copy.stat().st_mode & 0o777 == 0o600
    assert state(copy) == (1, 5)


def violate_an_invariant(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE items SET total = 6")


@pytest.fixture
def older(client, sqlite_url, copy):
    """A backup, after which two more operations were made, and its item."""
    item = mint(client, "+5.a")
    run("backup", copy, sqlite_url)
    swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"])
    swap(client, [f"+5.{item}.b"], [f"+5.{item}.c"])
    client.application.extensions["deeds"].close()
    return item


def test_an_older_backup_must_be_accepted_and_can_be_put_back(
    older, sqlite_url, path, copy, open_app, settings
):
    # As after a `kill -9`: the file has not seen the last second.
    Path(f"{path}-checkpoint").unlink()

    ran = run("restore", copy, sqlite_url)

    assert (ran.exit_code, OLDER in ran.stdout) == (0, True)
    with pytest.raises(StartError, match=OLDER):
        open_app(settings)
    [replaced] = path.parent.glob("deeds.sqlite3-replaced-*")
    assert state(replaced) == (3, 5)

    ran = run("restore", replaced, sqlite_url)

    assert (ran.exit_code, ran.stderr) == (0, "")
    assert "cannot start" not in ran.stdout
    client = open_app(settings).test_client()
    assert swap(client, [f"+5.{older}.c"], [f"+5.{older}.d"]).status_code == 200


# Reads once and keeps the file open.
READ = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT count(*) FROM items").fetchone()
print("open", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("is_damaged", [False, True])
def test_nothing_is_restored_while_another_process_has_the_ledger_open(
    older, sqlite_url, path, copy, is_damaged
):
    with subprocess.Popen(
        [sys.executable, "-c", READ, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as reader:
        assert reader.stdout.readline() == "open\n"
        if is_damaged:
            damage(path)
        before = path.read_bytes()

        ran = run("restore", copy, sqlite_url)

        assert (ran.exit_code, ran.stderr) == (1, f"Error: {path}{IN_USE}")
        assert path.read_bytes() == before
        reader.kill()


def test_a_service_that_starts_meanwhile_opens_the_restored_ledger(
    older, sqlite_url, copy, open_app, settings, monkeypatch
):
    with ThreadPoolExecutor(1) as pool:
        starting = []

        def start(ledger):
            starting.append(pool.submit(open_app, settings))
            with pytest.raises(TimeoutError):
                starting[0].result(timeout=0.5)
            return set_aside(ledger)

        set_aside = storage.backup._set_aside
        monkeypatch.setattr(storage.backup, "_set_aside", start)

        ran = run("restore", copy, sqlite_url)

        assert ran.exit_code == 0
        with pytest.raises(StartError, match=OLDER):
            starting[0].result(timeout=10)


def test_a_broken_ledger_is_neither_backed_up_nor_restored(
    older, sqlite_url, path, copy
):
    violate_an_invariant(copy)
    restored = run("restore", copy, sqlite_url)
    state_after = state(path)
    violate_an_invariant(path)
    backed_up = run("backup", copy.with_name("another"), sqlite_url)

    for ran in (restored, backed_up):
        assert (ran.exit_code, ran.stderr.startswith(f"{VIOLATED}\n")) == (1, True)
    assert state_after == (3, 5)
    assert [each.name for each in copy.parent.iterdir()] == [copy.name]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("backup", "nowhere/copy"),
        ("backup", "backups"),
        ("restore", "nowhere"),
        ("restore", "empty"),
        ("restore", "garbage"),
    ],
)
def test_what_can_be_no_backup_ends_in_one_line(
    older, sqlite_url, path, tmp_path, command, name
):
    (tmp_path / "empty").touch()
    (tmp_path / "garbage").write_bytes(b"no database" * 1000)

    ran = run(command, tmp_path / name, sqlite_url)

    assert (ran.exit_code, ran.stderr.count("\n")) == (1, 1)
    assert ran.stderr.startswith("Error: ")
    assert state(path) == (3, 5)
    assert not list(path.parent.glob("deeds.sqlite3.*"))


def damage(path):
    with path.open("r+b") as file:
        file.write(os.urandom(20_000))


@pytest.mark.parametrize("lose", [damage, Path.unlink])
def test_a_damaged_or_lost_ledger_can_be_replaced(older, sqlite_url, path, copy, lose):
    lose(path)

    ran = run("restore", copy, sqlite_url)

    assert ran.exit_code == 0
    assert OLDER in ran.stdout
    assert ("The ledger that was there is now" in ran.stdout) == (lose is damage)
    assert state(path) == (1, 5)


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_for_postgresql_another_tool_is_named(copy, command):
    ran = run(command, copy, "postgresql://localhost/deeds")

    assert (ran.exit_code, ran.stdout, ran.stderr) == (1, "", POSTGRESQL)
