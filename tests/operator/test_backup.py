"""`deeds backup` and `deeds restore`, with the service running and without."""

import os
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import parts.operator.backup
from deeds.errors import StartError
from tests.support.api import served, stop_line
from tests.support.commanding import error_of, invoke, output_of
from tests.support.databases import held_open
from tests.support.load import CLIENTS_COUNT, Load
from tests.support.readme import run_bash
from tests.support.serving import running_service
from tests.support.sources import read_text

PATH = Path("deeds.sqlite3")
BACKUPS = Path("backups")
COPY = BACKUPS / "copy.sqlite3"

VIOLATED = "Error: the copy is not used: the ledger violates these invariants:\n"
OLDER = "is not in the ledger: this is an older copy"
POSTGRESQL = (
    "Error: this command copies SQLite files; for PostgreSQL use pg_dump and"
    " pg_restore, or point-in-time recovery\n"
)

VIOLATE = "UPDATE items SET total = 6"
STATE = """
SELECT (SELECT count(*) FROM operations),
       (SELECT sum(amount) FROM outputs WHERE spent_by IS NULL)
"""


@pytest.fixture
def database_url(sqlite_url, tmp_path, monkeypatch):
    """That of PATH: the tests run beside it."""
    monkeypatch.chdir(tmp_path)
    BACKUPS.mkdir()
    return sqlite_url


@pytest.fixture
def older(settings):
    """A backup, after which two more operations were made, and its item."""
    with served(settings) as api:
        item = api.mint("+5.a")
        output_of(settings, "backup", COPY)
        api.swap(f"+5.{item}.a", f"+5.{item}.b")
        api.swap(f"+5.{item}.b", f"+5.{item}.c")
    return item


def state(path):
    """Return how many operations and live units a ledger has; it is only read."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(STATE).fetchone()


def test_a_service_in_use_is_backed_up_whole(gunicorn_service, settings):
    url = settings["DATABASE_URL"]
    service = gunicorn_service(DATABASE_URL=url, WEB_CONCURRENCY="2")
    load = Load([lambda: service.port], seed=1)

    with load.running():
        load.wait_for_answers(CLIENTS_COUNT * 3)
        before = load.fates.count("acknowledged")
        printed = output_of(settings, "backup", COPY)
        after = len(load.entries)

    load.assert_nothing_lost(url)
    operations, _ = state(COPY)
    assert before <= operations <= after
    assert printed.endswith(f"{COPY} holds the ledger up to operation {operations}.\n")


def test_a_backup_is_one_file_for_its_owner_alone_and_overwrites_none(older, settings):
    error = error_of(settings, "backup", COPY)

    assert error == f"Error: {COPY}: already exists\n"
    assert list(BACKUPS.iterdir()) == [COPY]
    assert COPY.stat().st_mode & 0o777 == 0o600
    assert state(COPY) == (1, 5)


@pytest.mark.slow
def test_the_nightly_script_deletes_old_backups_once_there_is_a_new_one(
    older, settings
):
    # As systemd's state directory of a dynamic user.
    directory = Path("link").absolute()
    directory.symlink_to(BACKUPS)
    old = "touch -d '16 days ago' $1/deeds-old.sqlite3\n"
    recent = "touch -d '13 days ago' $1/deeds-recent.sqlite3\n"
    script = f"set -- {directory} 14\n{old}{recent}" + read_text("deploy/backup.sh")

    with pytest.raises(AssertionError):
        run_bash(script, DATABASE_URL=f"sqlite:///{directory}/nothing")
    kept = {path.name for path in BACKUPS.iterdir()}
    run_bash(script, DATABASE_URL=settings["DATABASE_URL"])
    left = {path.name for path in BACKUPS.iterdir()}

    assert kept == {COPY.name, "deeds-old.sqlite3", "deeds-recent.sqlite3"}
    assert kept - left == {"deeds-old.sqlite3"}
    [made] = left - kept
    assert re.fullmatch(r"deeds-\d{4}-\d\d-\d\dT\d{4}Z.sqlite3", made)
    assert state(BACKUPS / made) == state(PATH)


def test_a_replaced_ledger_is_kept_and_can_be_put_back(older, settings, open_api):
    output_of(settings, "restore", COPY)
    [replaced] = Path().glob("deeds.sqlite3-replaced-*")
    kept = state(replaced)

    printed = output_of(settings, "restore", replaced)

    assert kept == (3, 5)
    assert "was committed but" not in printed
    assert open_api().swap(f"+5.{older}.c", f"+5.{older}.d").status_code == 200


@pytest.mark.parametrize("is_damaged", [False, True], ids=["sound", "damaged"])
def test_nothing_is_restored_while_another_process_has_the_ledger_open(
    older, settings, is_damaged
):
    with held_open(PATH):
        if is_damaged:
            PATH.write_bytes(os.urandom(20_000))
        before = PATH.read_bytes()

        error = error_of(settings, "restore", COPY)

    assert error == f"Error: {PATH.resolve()}: it is in use: stop the service first\n"
    assert PATH.read_bytes() == before


def test_a_service_that_starts_meanwhile_opens_the_restored_ledger(
    older, settings, open_app, monkeypatch, thread
):
    # As after a `kill -9`: the file has not seen the last second.
    Path(f"{PATH}-checkpoint").unlink()
    set_aside = parts.operator.backup._set_aside
    starting = []

    def start(ledger):
        starting.append(thread.submit(open_app, settings))
        with pytest.raises(TimeoutError):
            starting[0].result(timeout=0.1)
        return set_aside(ledger)

    monkeypatch.setattr(parts.operator.backup, "_set_aside", start)

    output_of(settings, "restore", COPY)

    with pytest.raises(StartError, match=OLDER):
        starting[0].result(timeout=30)


@pytest.fixture
def orphan(settings):
    """The log of a ledger that was backed up before its last operation.

    That one is in the log alone: as after a `kill -9`, the log was not folded.
    """
    log = Path(f"{PATH}-wal")
    with served(settings) as api, closing(sqlite3.connect(PATH)) as other:
        item = api.mint("+5.a")
        output_of(settings, "backup", COPY)
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        api.swap(f"+5.{item}.a", f"+5.{item}.b")
        content = log.read_bytes()
    log.write_bytes(content)
    return content


@pytest.mark.parametrize(
    "lose", [Path.unlink, lambda path: os.truncate(path, 0)], ids=["missing", "empty"]
)
def test_a_restored_backup_does_not_meet_the_log_of_a_lost_ledger(
    orphan, settings, lose, open_app
):
    """SQLite would delete it for a new ledger, and write it into the backup."""
    lose(PATH)

    line = stop_line(open_app, settings)
    migrated, audited = invoke(settings, "migrate"), invoke(settings, "audit")

    path = PATH.resolve()
    assert line == (
        f"DATABASE_URL: {path} is missing or empty, but {path}-wal holds the end of a"
        " ledger; put them back together, or run: python -m app restore FILE"
    )
    assert migrated.output == f"deeds: {line}\n"
    assert audited.output == f"deeds: DATABASE_URL: there is no ledger at {path}\n"
    assert Path(f"{PATH}-wal").read_bytes() == orphan

    printed = output_of(settings, "restore", COPY)

    assert OLDER in printed
    assert state(PATH) == (1, 5)
    [kept] = Path().glob("deeds.sqlite3-replaced-*-wal")
    assert kept.read_bytes() == orphan


def test_a_restore_names_its_target_and_begins_none_by_mistake(older, settings):
    """DATABASE_URL may be another's, and a disk may not be mounted."""
    there, new = PATH.absolute(), Path("new.sqlite3").absolute()
    elsewhere = settings | {"DATABASE_URL": f"sqlite:///{new}"}

    mistaken = error_of(elsewhere, "restore", COPY)
    unneeded = error_of(settings, "restore", "--new", COPY)

    assert mistaken == (
        f"Error: {new}: there is no ledger: set DATABASE_URL, mount its disk, or"
        " restore with --new\n"
    )
    assert unneeded == (f"Error: {there}: there is a ledger: restore without --new\n")
    assert not new.exists()
    assert state(PATH) == (3, 5)

    printed = output_of(elsewhere, "restore", "--new", COPY)

    assert f"Restored {COPY} to {new}, up to operation 1.\n" in printed
    assert state(new) == (1, 5)


def test_a_ledger_that_violates_an_invariant_is_neither_backed_up_nor_restored(
    older, settings
):
    broken = Path(shutil.copy(COPY, "broken"))
    COPY.unlink()
    for path in (PATH, broken):
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(VIOLATE)

    assert error_of(settings, "backup", COPY).startswith(VIOLATED)
    assert list(BACKUPS.iterdir()) == []

    assert error_of(settings, "restore", broken).startswith(VIOLATED)
    assert state(PATH) == (3, 5)


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("backup", "nowhere/copy"),
        ("restore", "empty"),
        ("restore", "garbage"),
    ],
)
def test_what_can_be_no_backup_ends_in_one_line(older, settings, command, file):
    Path("empty").touch()
    Path("garbage").write_bytes(b"no database" * 1000)

    error = error_of(settings, command, file)

    assert re.fullmatch("Error: .*\n", error)
    assert state(PATH) == (3, 5)
    assert list(Path().glob("deeds.sqlite3.*")) == []


def test_a_damaged_ledger_is_replaced_and_kept(older, settings):
    PATH.write_bytes(os.urandom(20_000))

    printed = output_of(settings, "restore", COPY)

    assert OLDER in printed
    assert "The ledger that was there is now" in printed
    assert state(PATH) == (1, 5)


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_for_postgresql_another_tool_is_named(command):
    error = error_of({"DATABASE_URL": "postgresql://localhost/deeds"}, command, "copy")

    assert error == POSTGRESQL


@pytest.mark.slow
def test_a_service_that_nobody_has_asked_for_anything_is_in_use(tmp_path):
    path, copy = tmp_path / "deeds.db", tmp_path / "copy.sqlite3"
    environ = {"DATABASE_URL": f"sqlite:///{path}"}
    with running_service(tmp_path):
        output_of(environ, "backup", copy)

        error = error_of(environ, "restore", copy)

    assert error == f"Error: {path}: it is in use: stop the service first\n"
    output_of(environ, "restore", copy)
