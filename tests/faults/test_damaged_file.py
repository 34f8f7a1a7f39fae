"""An SQLite file that is moved or damaged: 503 for requests that need it, no start."""

import os
import shutil
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from app import prepare
from deeds.errors import StartError
from storage import sqlite
from tests.support.api import SUCCESS, UNAVAILABLE, good, refusal, served
from tests.support.databases import on_sqlite, sqlite_path

# SQLite's default page size.
PAGE_BYTES = 4096

pytestmark = on_sqlite


@pytest.fixture
def path(database_url):
    return Path(sqlite_path(database_url))


@pytest.fixture
def item_id(settings, path):
    """An item in a file with garbage in the first page of the table of outputs."""
    with served(settings) as api:
        item_id = api.mint("+5.a")
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'outputs'"
        [(page,)] = connection.execute(query)
    with path.open("r+b") as file:
        file.seek((page - 1) * PAGE_BYTES)
        file.write(b"\xff" * PAGE_BYTES)
    return item_id


def test_a_file_that_was_moved_or_replaced_is_not_written_any_more(
    path, open_api, tmp_path
):
    """Otherwise acknowledged operations would be in a file that nobody finds."""
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
    assert good(back) == SUCCESS


def test_a_damaged_page_is_a_503_for_requests_that_need_it(open_api, item_id):
    api = open_api()

    checked = api.send_check(f"+5.{item_id}.a")
    swapped = api.swap(f"+5.{item_id}.a", f"+5.{item_id}.b")
    read = api.get(f"/v1/item/{item_id}")

    assert refusal(checked) == refusal(swapped) == UNAVAILABLE
    assert read.status_code == 200


def test_garbage_in_any_page_stops_the_start_and_is_left_alone(
    path, database_url, monkeypatch
):
    monkeypatch.setenv("DATABASE_URL", database_url)
    whole = path.read_bytes()
    places = range(0, len(whole), PAGE_BYTES)
    missed = []

    for place in places:
        after = whole[place + PAGE_BYTES :]
        damaged = whole[:place] + os.urandom(PAGE_BYTES) + after
        path.write_bytes(damaged)
        try:
            prepare()
        except StartError:
            assert path.read_bytes() == damaged
        else:
            missed.append(place)

    assert len(places) > 10
    assert missed == []


@pytest.mark.usefixtures("item_id")
def test_a_check_that_takes_too_long_is_left_to_the_audit(
    path, database_url, monkeypatch
):
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setattr(sqlite, "CHECKED_BYTES_MAX", path.stat().st_size - 1)

    prepare()
