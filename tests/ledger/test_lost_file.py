"""The file of an SQLite ledger has gone or is empty: no new ledger is made in its place."""

import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from deeds.domain.errors import StartError
from tests.support.commanding import invoke
from tests.support.requests import check, mint, swap

BEGINS = "deeds cannot start: DATABASE_URL: "


@pytest.fixture
def database_url(sqlite_url):
    return sqlite_url


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deeds.sqlite3"


@pytest.fixture
def copy(tmp_path):
    return tmp_path / "elsewhere" / "copy.sqlite3"


@pytest.fixture
def used(open_app, settings, path, copy):
    """The item of a ledger that was backed up after its first operation and has had a second one,
    which is in its log alone: as after a `kill -9`, the log was not folded."""
    client = open_app(settings).test_client()
    item = mint(client, "+5.a")
    copy.parent.mkdir()
    assert invoke(settings, "backup", str(copy)).exit_code == 0
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"])
        kept = {suffix: beside(path, suffix).read_bytes() for suffix in ("-wal", "-shm")}
        client.application.extensions["deeds"].close()
    for suffix, content in kept.items():
        beside(path, suffix).write_bytes(content)
    return item


def beside(path, suffix):
    return Path(f"{path}{suffix}")


def gone(path):
    path.unlink()


def empty(path):
    os.truncate(path, 0)


LOSSES = pytest.mark.parametrize("lose", [gone, empty])


def content(path):
    """Return what there is of a ledger, but for the file that is locked."""
    return {
        each.name: each.read_bytes()
        for each in path.parent.glob(f"{path.name}*")
        if not each.name.endswith("-lock")
    }


@LOSSES
@pytest.mark.parametrize("left", [["-mark"], ["-wal"], ["-mark", "-wal"]], ids="+".join)
def test_no_ledger_begins_where_one_was_lost_and_what_is_left_of_it_is_kept(
    used, open_app, settings, path, lose, left
):
    for suffix in {"-mark", "-wal"} - set(left):
        beside(path, suffix).unlink()
    lose(path)
    before = content(path)

    with pytest.raises(StartError) as stopped:
        open_app(settings)
    migrated = invoke(settings, "migrate")

    named = " and ".join(f"{path}{suffix}" for suffix in left)
    line = (
        f"{BEGINS}{path} is {lose.__name__}, but it held a ledger, as {named} shows; put it "
        "back with the files beside it, or run: flask --app app deeds restore FILE (to begin a "
        f"new ledger, in which nobody owns anything, remove {named})"
    )
    assert (str(stopped.value), migrated.output) == (line, f"{line}\n")
    assert content(path) == before


@pytest.mark.parametrize("mark", ["elsewhere", "damaged"])
def test_a_mark_elsewhere_or_a_damaged_one_tells_of_a_lost_ledger_too(
    open_app, settings, path, tmp_path, mark
):
    settings = replace(settings, mark_file=str(tmp_path / mark))
    client = open_app(settings).test_client()
    mint(client, "+5.a")
    client.application.extensions["deeds"].close()
    if mark == "damaged":
        (tmp_path / mark).write_bytes(b"torn")
    gone(path)

    with pytest.raises(StartError) as stopped:
        open_app(settings)

    shown = f"{BEGINS}{path} is gone, but it held a ledger, as {tmp_path / mark} shows"
    assert str(stopped.value).startswith(shown)


@LOSSES
def test_a_ledger_that_was_never_used_begins_anew(open_app, settings, path, lose):
    open_app(settings).extensions["deeds"].close()
    lose(path)

    assert mint(open_app(settings).test_client(), "+5.a").startswith("deed_")


def test_what_was_lost_and_is_put_back_is_served_with_its_last_operation(
    used, open_app, settings, path, tmp_path
):
    path.rename(tmp_path / "lost")
    with pytest.raises(StartError):
        open_app(settings)

    (tmp_path / "lost").rename(path)

    client = open_app(settings).test_client()
    assert check(client, f"+5.{used}.a", f"+5.{used}.b") == ["spent", "unspent"]


@LOSSES
def test_a_restored_backup_does_not_meet_the_log_of_the_lost_ledger(
    used, open_app, settings, path, copy, lose
):
    """SQLite would write the log into it: a ledger that never was."""
    log = beside(path, "-wal").read_bytes()
    lose(path)

    restored = invoke(settings, "restore", str(copy))
    [kept] = path.parent.glob("deeds.sqlite3-replaced-*-wal")

    assert (restored.exit_code, restored.stderr) == (0, "")
    assert "The service will not start: the ledger ends at operation 1, but" in restored.stdout
    assert kept.read_bytes() == log
    assert invoke(settings, "accept-rollback", "--yes").exit_code == 0
    client = open_app(settings).test_client()
    assert check(client, f"+5.{used}.a", f"+5.{used}.b") == ["unspent", "unknown"]


@LOSSES
def test_commands_leave_what_is_left_of_a_lost_ledger_alone(used, settings, path, lose):
    lose(path)
    before = content(path)

    for command in ["audit"], ["stats"], ["schemes"], ["backup", "copy"], ["accept-rollback"]:
        ran = invoke(settings, *command)
        assert (ran.exit_code, ran.output) == (1, f"{BEGINS}there is no ledger at {path}\n")

    assert content(path) == before
