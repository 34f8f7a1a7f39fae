"""An older copy of the ledger, or a new one in place of a lost one, is not served by
accident.

On PostgreSQL: tests/faults/test_failover.py.
"""

import os
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from storage.checkpoint import Checkpoint
from tests.support.api import good, served, stop_line
from tests.support.commanding import invoke
from tests.support.leftovers import hooked

ADVICE = "; restore the right database, or run: flask --app app deeds accept-rollback"


@pytest.fixture
def database_url(sqlite_url):
    return sqlite_url


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deeds.sqlite3"


def lacks(operation_id, newest_id):
    """Return what is said of a ledger that ends at an operation and lacks another."""
    return re.compile(
        f"operation {operation_id} of [-0-9]{{10}}T[:0-9]{{8}}Z"
        " was committed but is not in the ledger, which ends at operation"
        f" {newest_id}: this is an older copy or another ledger, and secrets spent"
        f" since are live again{re.escape(ADVICE)}"
    )


@pytest.fixture
def older(guarded, path):
    """Settings with a copy that has only the first of three operations of a ledger."""
    with served(guarded) as api:
        item = api.mint("+5.a")
    copy = shutil.copy(path, f"{path}-older")
    with served(guarded) as api:
        good(api.swap(f"+5.{item}.a", f"+5.{item}.b"))
        good(api.swap(f"+5.{item}.b", f"+5.{item}.c"))
    return guarded | {"DATABASE_URL": f"sqlite:///{copy}"}


def test_an_older_copy_is_not_served_and_the_newest_ledger_is(older, guarded, open_app):
    assert lacks(3, 1).fullmatch(stop_line(open_app, older))
    with served(guarded) as api:
        assert api.get("/readyz").status_code == 200


def test_a_copy_that_went_on_past_the_checkpoint_is_not_served(
    older, checkpoint, open_app
):
    kept = checkpoint.path.read_bytes()
    checkpoint.path.unlink()
    with served(older) as api:
        for _ in range(5):
            api.mint("+1.a")
    checkpoint.path.write_bytes(kept)

    assert lacks(3, 6).fullmatch(stop_line(open_app, older))
    assert checkpoint.path.read_bytes() == kept


def test_a_start_raises_a_checkpoint_that_is_gone_or_fell_behind(
    older, guarded, checkpoint, caplog
):
    """After a `kill -9`, or a power failure that took the file's last seconds."""
    kept = checkpoint.read()
    checkpoint.path.unlink()

    with served(older):
        behind = checkpoint.read()
    with served(guarded):
        pass

    assert behind < checkpoint.read() == kept
    [line] = caplog.records
    assert line.getMessage().startswith("there was no checkpoint file")


def test_a_checkpoint_raised_meanwhile_is_compared_too(guarded, checkpoint, open_app):
    lost = Checkpoint(99, 1)

    def raise_it(_connection, _cursor, statement, *_):
        if "ORDER BY id DESC" in statement:
            checkpoint.set(lost)

    with hooked("before_cursor_execute", raise_it):
        assert lacks(99, 0).fullmatch(stop_line(open_app, guarded))

    assert checkpoint.read() == lost


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("missing/checkpoint", "No such file or directory"),
        ("damaged", "it is damaged; if the ledger is the newest, remove it"),
    ],
)
def test_a_checkpoint_file_that_cannot_be_used_stops_the_start(
    guarded, tmp_path, name, said, open_app
):
    path = tmp_path / name
    (tmp_path / "damaged").write_bytes(b"torn")

    line = stop_line(open_app, guarded | {"DEEDS_CHECKPOINT_FILE": str(path)})

    assert line == f"cannot use the checkpoint file {path}: {said}"


def test_an_operator_who_accepts_is_told_what_it_means_and_can_serve(older, checkpoint):
    ran = invoke(older, "accept-rollback", said="accept\n")

    assert (ran.exit_code, ran.stderr) == (0, "")
    assert lacks(3, 1).match(ran.stdout)
    assert ran.stdout.endswith("accepted: the ledger continues after operation 1\n")
    with served(older) as api:
        api.mint("+1.a")
    assert checkpoint.read().operation_id == 2


@pytest.mark.parametrize(
    "said",
    ["", "\n", "yes\n", "ACCEPT\n"],
    ids=["nothing", "a line", "yes", "upper case"],
)
def test_nothing_is_accepted_without_the_word(older, checkpoint, said):
    before = checkpoint.path.read_bytes()

    ran = invoke(older, "accept-rollback", said=said)

    assert ran.exit_code == 1
    assert checkpoint.path.read_bytes() == before


def test_on_the_newest_ledger_there_is_nothing_to_accept(older, guarded, checkpoint):
    before = checkpoint.path.read_bytes()

    ran = invoke(guarded, "accept-rollback", "--yes")

    nothing = "the ledger is not behind its checkpoint: there is nothing to accept\n"
    assert (ran.exit_code, ran.stdout) == (0, nothing)
    assert checkpoint.path.read_bytes() == before


@pytest.fixture
def item(guarded, path):
    """The item of a ledger that was backed up after its first of two operations.

    The second one is in its log alone: as after a `kill -9`, the log was not folded.
    """
    log, shared_memory = Path(f"{path}-wal"), Path(f"{path}-shm")
    with served(guarded) as api, closing(sqlite3.connect(path)) as other:
        item = api.mint("+5.a")
        assert invoke(guarded, "backup", f"{path}-backup").exit_code == 0
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        api.swap(f"+5.{item}.a", f"+5.{item}.b")
        kept = log.read_bytes(), shared_memory.read_bytes()
    log.write_bytes(kept[0])
    shared_memory.write_bytes(kept[1])
    return item


LOSSES = pytest.mark.parametrize(
    "lose", [Path.unlink, lambda path: os.truncate(path, 0)], ids=["missing", "empty"]
)


def content(path):
    """Return what there is of a ledger, but for the files that are locked."""
    files = path.parent.glob(f"{path.name}*")
    return {each.name: each.read_bytes() for each in files if "-lock" not in each.name}


@LOSSES
def test_a_new_ledger_in_place_of_a_lost_one_has_to_be_accepted(
    item, guarded, path, lose, open_app
):
    Path(f"{path}-wal").unlink()
    lose(path)

    assert lacks(2, 0).fullmatch(stop_line(open_app, guarded))
    assert invoke(guarded, "accept-rollback", "--yes").exit_code == 0
    with served(guarded) as api:
        api.mint("+5.a")


@LOSSES
def test_a_restored_backup_does_not_meet_the_log_of_a_lost_ledger(
    item, guarded, path, lose, open_app
):
    """SQLite would delete it for a new ledger, and write it into the backup."""
    lose(path)
    before = content(path)

    line = stop_line(open_app, guarded)
    migrated, audited = invoke(guarded, "migrate"), invoke(guarded, "audit")

    assert line == (
        f"DATABASE_URL: {path} is missing or empty, but"
        f" {path}-wal holds the end of a ledger; put them back together, or run: flask"
        " --app app deeds restore FILE"
    )
    assert migrated.output == f"deeds: {line}\n"
    missing = f"deeds: DATABASE_URL: there is no ledger at {path}\n"
    assert audited.output == missing
    assert content(path) == before

    restored = invoke(guarded, "restore", f"{path}-backup")

    assert (restored.exit_code, restored.stderr) == (0, "")
    assert "which ends at operation 1: this is an older copy" in restored.stdout
    [kept] = path.parent.glob("deeds.sqlite3-replaced-*-wal")
    assert kept.read_bytes() == before[f"{path.name}-wal"]
    assert invoke(guarded, "accept-rollback", "--yes").exit_code == 0
    with served(guarded) as api:
        states = api.check(f"+5.{item}.a", f"+5.{item}.b")
    assert states == ["unspent", "unknown"]
