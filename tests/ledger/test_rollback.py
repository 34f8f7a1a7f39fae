"""An older copy of the ledger, or a new one in place of a lost one, is not served by
accident.

On PostgreSQL: tests/faults/test_failover.py.
"""

import os
import re
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from deeds.domain.errors import StartError
from storage.checkpoint import Checkpoint
from tests.support.commanding import invoke
from tests.support.hooks import hooked
from tests.support.requests import check, mint, stop, swap

ADVICE = "; restore the right database, or run: flask --app app deeds accept-rollback"


@pytest.fixture
def ledger_url(sqlite_url):
    return sqlite_url


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deeds.sqlite3"


def refused(serve, url):
    """Return why the service does not start on a database."""
    with pytest.raises(StartError) as stopped:
        serve(url)
    line = str(stopped.value)
    assert line.endswith(ADVICE), line
    return line


def lacks(operation_id, newest_id):
    """Return what is said of a ledger that ends at an operation and lacks another."""
    return re.compile(
        f"deeds cannot start: operation {operation_id} of [-0-9]{{10}}T[:0-9]{{8}}Z"
        " was committed but is not in the ledger, which ends at operation"
        f" {newest_id}: this is an older copy or another ledger, and secrets spent"
        " since are live again"
    )


def hand_on(client, item, secrets):
    for before, after in pairwise(secrets):
        assert (
            swap(client, [f"+5.{item}.{before}"], [f"+5.{item}.{after}"]).status_code
            == 200
        )
    stop(client)


@pytest.fixture
def rolled_back(serve, ledger_url, keep_copy):
    """The URL of a copy without the last two of three operations, its item, and the
    URL of the newest ledger.
    """
    client = serve(ledger_url)
    item = mint(client, "+5.a")
    stop(client)
    older, _ = keep_copy()
    hand_on(serve(ledger_url), item, "abc")
    return older, item, ledger_url


def test_an_older_copy_is_not_served_and_the_newest_ledger_is(rolled_back, serve):
    older, item, newest = rolled_back

    assert lacks(3, 1).match(refused(serve, older))
    assert check(serve(newest), f"+5.{item}.a", f"+5.{item}.c") == ["spent", "unspent"]


def test_a_copy_that_went_on_past_the_checkpoint_is_not_served(
    rolled_back, serve, guarded, checkpoint, tmp_path
):
    older, item, _ = rolled_back
    kept = checkpoint.path.read_bytes()
    checkpoint.path.unlink()
    hand_on(serve(older), item, "avwxyz")
    checkpoint.path.write_bytes(kept)
    copy = shutil.copy(older.removeprefix("sqlite:///"), tmp_path / "copy")

    assert lacks(3, 6).match(refused(serve, older))
    ran = invoke(replace(guarded, database_url=older), "restore", str(copy))

    assert (ran.exit_code, checkpoint.path.read_bytes()) == (0, kept)
    refused(serve, older)


def test_a_start_raises_a_checkpoint_that_is_gone_or_fell_behind(
    rolled_back, serve, checkpoint, caplog
):
    """After a `kill -9`, or a power failure that took the file's last seconds."""
    older, _, newest = rolled_back
    kept = checkpoint.read()
    checkpoint.path.unlink()

    stop(serve(older))
    behind = checkpoint.read()
    stop(serve(newest))

    assert behind < checkpoint.read() == kept
    assert [each.getMessage()[:28] for each in caplog.records] == [
        "there was no checkpoint file"
    ]


def test_a_checkpoint_raised_meanwhile_is_compared_too(rolled_back, serve, checkpoint):
    lost = Checkpoint(99, 1)

    def raise_it(_connection, _cursor, statement, *_):
        if "ORDER BY id DESC" in statement:
            checkpoint.set(lost)

    with hooked("before_cursor_execute", raise_it):
        assert lacks(99, 3).match(refused(serve, rolled_back[2]))

    assert checkpoint.read() == lost


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("missing/checkpoint", "No such file or directory"),
        ("damaged", "it is damaged; if the ledger is the newest, remove it"),
    ],
)
def test_a_checkpoint_file_that_cannot_be_used_stops_the_start(
    open_app, guarded, tmp_path, name, said
):
    path = tmp_path / name
    (tmp_path / "damaged").write_bytes(b"torn")

    with pytest.raises(StartError) as stopped:
        open_app(replace(guarded, checkpoint_file=str(path)))

    assert (
        str(stopped.value)
        == f"deeds cannot start: cannot use the checkpoint file {path}: {said}"
    )


def test_an_operator_who_accepts_is_told_what_it_means_and_can_serve(
    rolled_back, serve, guarded, checkpoint
):
    older, item, _ = rolled_back

    ran = invoke(
        replace(guarded, database_url=older), "accept-rollback", said="accept\n"
    )

    assert (ran.exit_code, ran.stderr) == (0, "")
    assert lacks(3, 1).match(ran.stdout)
    assert ran.stdout.endswith("accepted: the ledger continues after operation 1\n")
    hand_on(serve(older), item, "ad")
    assert checkpoint.read().operation_id > 1


def test_nothing_is_accepted_without_the_word_or_on_the_newest_ledger(
    rolled_back, guarded, checkpoint
):
    older, *_ = rolled_back
    before = checkpoint.path.read_bytes()

    for said in "", "\n", "yes\n", "ACCEPT\n":
        ran = invoke(replace(guarded, database_url=older), "accept-rollback", said=said)
        assert ran.exit_code == 1
        assert checkpoint.path.read_bytes() == before

    ran = invoke(guarded, "accept-rollback", "--yes")
    nothing = "the ledger is not behind its checkpoint: there is nothing to accept\n"
    assert (ran.exit_code, ran.stdout) == (0, nothing)
    assert checkpoint.path.read_bytes() == before


@pytest.fixture
def used(serve, guarded, path):
    """The item of a ledger that was backed up after its first of two operations.

    The second one is in its log alone: as after a `kill -9`, the log was not folded.
    """
    client = serve()
    item = mint(client, "+5.a")
    assert invoke(guarded, "backup", f"{path}-backup").exit_code == 0
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"])
        kept = {
            name: Path(name).read_bytes() for name in (f"{path}-wal", f"{path}-shm")
        }
        stop(client)
    for name, content in kept.items():
        Path(name).write_bytes(content)
    return item


def empty(path):
    os.truncate(path, 0)


LOSSES = pytest.mark.parametrize("lose", [Path.unlink, empty])


def content(path):
    """Return what there is of a ledger, but for the files that are locked."""
    return {
        each.name: each.read_bytes()
        for each in path.parent.glob(f"{path.name}*")
        if not each.name.endswith("-lock")
    }


@LOSSES
def test_a_new_ledger_in_place_of_a_lost_one_has_to_be_accepted(
    used, serve, guarded, path, lose
):
    Path(f"{path}-wal").unlink()
    lose(path)

    assert lacks(2, 0).match(refused(serve, guarded.database_url))

    assert invoke(guarded, "accept-rollback", "--yes").exit_code == 0
    assert mint(serve(), "+5.a").startswith("deed_")


@LOSSES
def test_a_restored_backup_does_not_meet_the_log_of_a_lost_ledger(
    used, serve, guarded, path, lose
):
    """SQLite would delete it for a new ledger, and write it into the backup."""
    lose(path)
    before = content(path)

    with pytest.raises(StartError) as stopped:
        serve()
    migrated, audited = invoke(guarded, "migrate"), invoke(guarded, "audit")

    line = (
        f"deeds cannot start: DATABASE_URL: {path} is missing or empty, but"
        f" {path}-wal holds the end of a ledger; put them back together, or run: flask"
        " --app app deeds restore FILE"
    )
    assert (str(stopped.value), migrated.output) == (line, f"{line}\n")
    assert (
        audited.output
        == f"deeds cannot start: DATABASE_URL: there is no ledger at {path}\n"
    )
    assert content(path) == before

    restored = invoke(guarded, "restore", f"{path}-backup")

    assert (restored.exit_code, restored.stderr) == (0, "")
    assert "which ends at operation 1: this is an older copy" in restored.stdout
    [kept] = path.parent.glob("deeds.sqlite3-replaced-*-wal")
    assert kept.read_bytes() == before[f"{path.name}-wal"]
    assert invoke(guarded, "accept-rollback", "--yes").exit_code == 0
    assert check(serve(), f"+5.{used}.a", f"+5.{used}.b") == ["unspent", "unknown"]
