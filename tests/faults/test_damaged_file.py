"""An SQLite file that is damaged or locked: no start, or 503 for what needs it."""

import os
import shutil
import sqlite3
import tempfile
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest

from app import prepare
from deeds.errors import StartError
from storage import sqlite
from tests.support.api import (
    UNAVAILABLE,
    environ_of,
    good,
    refusal,
    served,
    stop_line,
)
from tests.support.databases import on_sqlite, sqlite_path
from tests.support.hooks import hooked

# SQLite's default.
PAGE_BYTES = 4096

pytestmark = on_sqlite


@pytest.fixture
def path(database_url):
    return Path(sqlite_path(database_url))


@pytest.fixture
def item_id(settings, path):
    """An item in a file with garbage in a page that nothing reads at a start."""
    with served(settings) as api:
        item_id = api.mint("+5.a")
    damage(path, "outputs")
    return item_id


def damage(path, table):
    """Put garbage into a page of a table."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", [table]
        )
        [page] = found.fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * PAGE_BYTES)
        file.write(b"\xff" * PAGE_BYTES)


def is_damaged(path):
    """Return whether the check at the start finds something wrong."""
    database = sqlite.SqliteDatabase(path, lambda: 0)
    try:
        database.check_start(thorough=True)
    except StartError:
        return True
    finally:
        database.close()
    return False


def test_a_lock_of_another_program_is_a_503_for_writers_alone(
    path, open_api, ledger, monkeypatch
):
    monkeypatch.setattr("storage.sqlite_writer.BUSY_TIMEOUT_S", 0.05)
    api = open_api()
    item_id = api.mint("+5.a")

    with (
        closing(sqlite3.connect(path, isolation_level=None)) as other,
        ledger.unchanged(),
    ):
        other.execute("BEGIN IMMEDIATE")
        minted = api.send_mint("+5.a")
        swapped = api.swap(f"+5.{item_id}.a", f"+5.{item_id}.b")
        states = api.check(f"+5.{item_id}.a")
        read = api.get(f"/v1/item/{item_id}")

    assert refusal(minted) == refusal(swapped) == UNAVAILABLE
    assert (states, read.status_code) == (["unspent"], 200)
    assert good(api.swap(f"+5.{item_id}.a", f"+5.{item_id}.b"))


def test_a_file_that_was_moved_or_replaced_is_not_written_any_more(
    path, open_api, tmp_path
):
    """What would be answered as done would be in a file that nobody finds."""
    api = open_api()
    item_id = api.mint("+5.a")
    swap = partial(api.swap, f"+5.{item_id}.a", f"+5.{item_id}.b")
    api.check(f"+5.{item_id}.a")

    path.rename(tmp_path / "elsewhere")
    moved = swap()
    shutil.copy(tmp_path / "elsewhere", path)
    replaced, unready = swap(), api.get("/readyz")
    (tmp_path / "elsewhere").rename(path)
    back = swap()

    for refused in (moved, replaced, unready):
        assert refusal(refused) == UNAVAILABLE
        assert refused.json()["detail"] == (
            "the file of the ledger was moved or deleted"
        )
    assert good(back) == {"success": True}


def test_a_file_that_may_not_be_written_is_not_ready(path, open_api):
    api = open_api()
    item_id = api.mint("+5.a")
    read_only = "PRAGMA query_only = ON"

    with hooked("after begin", lambda connection, *_: connection.execute(read_only)):
        swapped = api.swap(f"+5.{item_id}.a", f"+5.{item_id}.b")
        unready = api.get("/readyz")

    assert refusal(swapped) == refusal(unready) == UNAVAILABLE
    assert unready.json()["detail"] == "the ledger is read-only"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user")
def test_a_file_of_another_user_stops_the_start_in_one_line(path, database_url):
    """As a backup that root has copied to the place of the ledger."""
    with served(environ_of(database_url)) as api:
        api.mint("+5.a")
    directory = Path(tempfile.mkdtemp(prefix="deeds-owner-"))
    copy = Path(shutil.copy(path, directory / "deeds.db"))
    copy.chmod(0o644)
    os.chown(directory, 54_321, 54_322)

    with as_user(54_321):
        line = stop_line(served_at, environ_of(f"sqlite:///{copy}"))

    shutil.rmtree(directory)
    assert line == (
        f"DATABASE_URL: user 54321 may not write {copy}, which belongs to user 0; run"
        f" as root: chown 54321 {copy}; chmod 600 {copy}"
    )


def served_at(environ):
    with served(environ):
        pass


@contextmanager
def as_user(user):
    os.seteuid(user)
    yield
    os.seteuid(0)


def test_a_damaged_page_is_a_503_for_what_needs_it(open_api, item_id):
    api = open_api()

    checked = api.send_check(f"+5.{item_id}.a")
    swapped = api.swap(f"+5.{item_id}.a", f"+5.{item_id}.b")
    read = api.get(f"/v1/item/{item_id}")

    assert refusal(checked) == refusal(swapped) == UNAVAILABLE
    assert read.status_code == 200


def test_garbage_in_any_page_is_found_at_the_start(path):
    whole = path.read_bytes()
    places = range(0, len(whole), PAGE_BYTES)
    missed = []

    for place in places:
        after = whole[place + PAGE_BYTES :]
        path.write_bytes(whole[:place] + os.urandom(PAGE_BYTES) + after)
        if not is_damaged(path):
            missed.append(place)

    assert len(places) > 10
    assert missed == []


def test_a_file_cut_short_is_found_at_the_start(path):
    whole = path.read_bytes()
    assert not is_damaged(path)

    path.write_bytes(whole[: len(whole) // 2])

    assert is_damaged(path)


@pytest.mark.usefixtures("item_id")
@pytest.mark.parametrize("table", ["outputs", "operations"])
def test_a_damaged_file_stops_the_start_and_is_left_alone(
    path, database_url, monkeypatch, table
):
    damage(path, table)
    before = path.read_bytes()
    monkeypatch.setenv("DATABASE_URL", database_url)

    with pytest.raises(StartError, match="DATABASE_URL: the SQLite file is damaged"):
        prepare()

    assert path.read_bytes() == before


@pytest.mark.usefixtures("item_id")
def test_what_would_take_too_long_is_left_to_the_audit(path, monkeypatch):
    assert is_damaged(path)

    monkeypatch.setattr(sqlite, "CHECKED_BYTES_MAX", path.stat().st_size - 1)

    assert not is_damaged(path)
