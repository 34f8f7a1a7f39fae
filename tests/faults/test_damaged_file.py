"""An SQLite file that is damaged or locked: no start, or 503 for what needs it."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import storage.engine
from app import prepare
from deeds.domain.errors import StartError
from deeds.domain.raw_output import make_strong_secret
from storage import sqlite_file
from storage.engine import make_engine, parse_database_url
from storage.sqlite_file import check_file
from tests.support.requests import check as check_states
from tests.support.requests import mint, post, refusal, swap

UNAVAILABLE = (503, "ledger_unavailable", None)


@pytest.fixture
def database_url(sqlite_url):
    return sqlite_url


@pytest.fixture
def path(sqlite_url):
    return parse_database_url(sqlite_url).database


@pytest.fixture
def other(path):
    """A connection of another program."""
    connection = sqlite3.connect(path, isolation_level=None)
    yield connection
    connection.close()


def test_a_lock_of_somebody_else_is_a_503_for_writers_alone(
    settings, open_app, ledger, other, monkeypatch
):
    monkeypatch.setattr(storage.engine, "BUSY_TIMEOUT_S", 0.05)
    client = open_app(settings).test_client()
    item = mint(client, "+5.a")
    before = ledger.rows()

    other.execute("BEGIN IMMEDIATE")
    minted = post(client, "/v1/mint", {"outputs": ["+5.a"]})
    swapped = swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"])
    states = check_states(client, f"+5.{item}.a")
    read = client.get(f"/v1/item/{item}")
    other.execute("ROLLBACK")

    assert refusal(minted) == refusal(swapped) == UNAVAILABLE
    assert int(swapped.headers["Retry-After"]) >= 1
    assert (states, read.status_code) == (["unspent"], 200)
    assert ledger.rows() == before
    assert swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"]).status_code == 200


def test_a_damaged_page_is_a_503_for_what_needs_it(settings, open_app, path, other):
    client = open_app(settings).test_client()
    item = mint(client, "+5.a")
    client.application.extensions["deeds"].close()
    other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    [page] = other.execute(
        "SELECT rootpage FROM sqlite_master WHERE name = 'outputs'"
    ).fetchone()
    [page_bytes] = other.execute("PRAGMA page_size").fetchone()
    with Path(path).open("r+b") as file:
        file.seek((page - 1) * page_bytes)
        file.write(b"\xff" * page_bytes)
    client = open_app(settings).test_client()

    checked = post(client, "/v1/check", {"outputs": [f"+5.{item}.a"]})
    swapped = swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"])

    assert refusal(checked) == refusal(swapped) == UNAVAILABLE
    assert client.get(f"/v1/item/{item}").status_code == 200


@pytest.fixture
def damaged_path(settings, open_app, path):
    """An SQLite file with a ledger in it, for a test to damage."""
    app = open_app(settings)
    mint(app.test_client(), *(f"+1.{make_strong_secret()}" for _ in range(50)))
    app.extensions["deeds"].close()
    return Path(path)


def check(path):
    """Return what the check of the start finds wrong, or None."""
    engine = make_engine(parse_database_url(f"sqlite:///{path}"))
    try:
        check_file(engine)
    except StartError as error:
        return str(error)
    finally:
        engine.dispose()
    return None


def test_garbage_in_any_page_or_a_file_cut_short_is_found(damaged_path):
    with closing(sqlite3.connect(damaged_path)) as connection:
        [size] = connection.execute("PRAGMA page_size").fetchone()
    whole = damaged_path.read_bytes()
    assert (len(whole) > 10 * size, check(damaged_path)) == (True, None)

    for start in range(0, len(whole), size):
        damaged_path.write_bytes(
            whole[:start] + os.urandom(size) + whole[start + size :]
        )
        assert check(damaged_path), start

    damaged_path.write_bytes(whole[: len(whole) // 2])
    assert check(damaged_path)


def test_a_damaged_file_stops_the_start_and_is_left_alone(damaged_path, monkeypatch):
    with closing(sqlite3.connect(damaged_path)) as connection:
        [size] = connection.execute("PRAGMA page_size").fetchone()
        outputs = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'outputs'"
        )
        [page] = outputs.fetchone()
    whole = damaged_path.read_bytes()
    # A page that nothing reads before the check.
    before = whole[: (page - 1) * size] + os.urandom(size) + whole[page * size :]
    damaged_path.write_bytes(before)
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{damaged_path}")

    with pytest.raises(StartError, match="DATABASE_URL: the SQLite file is damaged"):
        prepare()

    assert damaged_path.read_bytes() == before
    # What would take too long is left to the audit.
    monkeypatch.setattr(sqlite_file, "CHECKED_BYTES_MAX", len(before) - 1)
    assert check(damaged_path) is None
