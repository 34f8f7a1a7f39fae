"""SQLite is locked, full, read-only or damaged: 503, and nothing half-written."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import storage.engine
from storage.engine import parse_database_url
from storage.sqlite_writer import lock_path
from tests.support.holding import holding_locks
from tests.support.hooks import hooked
from tests.support.requests import check, mint, post, refusal, swap
from tests.support.waiting import wait_until

UNAVAILABLE = (503, "ledger_unavailable", None)
LARGE_MINT = {"outputs": [f"+1.{number}" for number in range(256)]}


@pytest.fixture
def database_url(sqlite_url):
    return sqlite_url


@pytest.fixture
def path(sqlite_url):
    return parse_database_url(sqlite_url).database


@pytest.fixture
def other(path):
    """A connection of somebody else."""
    connection = sqlite3.connect(path, isolation_level=None)
    yield connection
    connection.close()


@pytest.fixture
def impatient_client(settings, open_app, monkeypatch):
    """A client of a service that waits 50 ms for a lock."""
    monkeypatch.setattr(storage.engine, "SQLITE_BUSY_TIMEOUT_MS", 50)
    return open_app(settings).test_client()


def pragma(text):
    """Return a hook that executes a PRAGMA on every connection before it is used."""

    def execute(connection):
        connection.connection.driver_connection.execute(f"PRAGMA {text}")

    return execute


def test_a_lock_of_somebody_else_is_a_503_for_writers_and_nothing_for_readers(
    impatient_client, ledger, other
):
    client = impatient_client
    item = mint(client, "+5.a")
    before = ledger.rows()

    other.execute("BEGIN IMMEDIATE")
    minted = post(client, "/v1/mint", {"outputs": ["+5.a"]})
    swapped = swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"])
    states = check(client, f"+5.{item}.a")
    read = client.get(f"/v1/item/{item}")
    other.execute("ROLLBACK")

    assert refusal(minted) == refusal(swapped) == UNAVAILABLE
    assert int(swapped.headers["Retry-After"]) >= 1
    assert (states, read.status_code) == (["unspent"], 200)
    assert ledger.rows() == before
    assert swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"]).status_code == 200


def test_a_full_disk_is_a_503_and_leaves_nothing_behind(client, ledger, other):
    item = mint(client, "+5.a")
    before = ledger.rows()
    [pages_count] = other.execute("PRAGMA page_count").fetchone()

    with hooked("begin", pragma(f"max_page_count = {pages_count}")):
        refused = post(client, "/v1/mint", LARGE_MINT)
        assert refusal(refused) == UNAVAILABLE
        assert ledger.rows() == before
        assert check(client, f"+5.{item}.a") == ["unspent"]
    with hooked("begin", pragma("max_page_count = 1073741823")):
        assert post(client, "/v1/mint", LARGE_MINT).status_code == 200
        assert swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"]).status_code == 200


def test_a_read_only_database_is_a_503_for_writers_and_nothing_for_readers(client, ledger):
    item = mint(client, "+5.a")
    before = ledger.rows()

    with hooked("begin", pragma("query_only = ON")):
        minted = post(client, "/v1/mint", {"outputs": ["+5.a"]})
        swapped = swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"])
        states = check(client, f"+5.{item}.a")
        read = client.get(f"/v1/item/{item}")

    assert refusal(minted) == refusal(swapped) == UNAVAILABLE
    assert (states, read.status_code) == (["unspent"], 200)
    assert ledger.rows() == before
    with hooked("begin", pragma("query_only = OFF")):
        assert swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"]).status_code == 200


def test_a_damaged_page_is_a_503_for_what_needs_it(settings, open_app, path, other):
    client = open_app(settings).test_client()
    item = mint(client, "+5.a")
    client.application.extensions["deeds"].close()
    other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    [page] = other.execute("SELECT rootpage FROM sqlite_master WHERE name = 'outputs'").fetchone()
    [page_bytes] = other.execute("PRAGMA page_size").fetchone()
    with Path(path).open("r+b") as file:
        file.seek((page - 1) * page_bytes)
        file.write(b"\xff" * page_bytes)
    client = open_app(settings).test_client()

    checked = post(client, "/v1/check", {"outputs": [f"+5.{item}.a"]})
    swapped = swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"])

    assert refusal(checked) == refusal(swapped) == UNAVAILABLE
    assert client.get(f"/v1/item/{item}").status_code == 200


def test_a_commit_that_fails_leaves_no_transaction_open(client, ledger, other):
    """A deferred constraint makes SQLite refuse the COMMIT and keep the transaction."""

    def break_constraint(connection):
        if connection.get_execution_options().get(storage.engine.WRITES):
            driver = connection.connection.driver_connection
            driver.execute("PRAGMA defer_foreign_keys = ON")
            driver.execute(
                "INSERT INTO item_schemes (item_id, scheme_id) VALUES ('deed_absent', 1)"
            )

    item = mint(client, "+5.a")
    before = ledger.rows()

    with hooked("commit", break_constraint):
        refused = swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"])
    other.execute("BEGIN IMMEDIATE")
    other.execute("ROLLBACK")

    assert refusal(refused) == UNAVAILABLE
    assert ledger.rows() == before
    assert check(client, f"+5.{item}.a", f"+5.{item}.b") == ["unspent", "unknown"]
    assert swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"]).status_code == 200


def test_a_process_that_stands_still_in_its_turn_is_a_503(impatient_client, ledger, sqlite_url):
    client = impatient_client
    item = mint(client, "+5.a")
    before = ledger.rows()

    with (
        ThreadPoolExecutor(max_workers=1) as pool,
        holding_locks(lock_path(parse_database_url(sqlite_url))),
    ):
        refused = pool.submit(swap, client, [f"+5.{item}.a"], [f"+5.{item}.b"])
        wait_until(refused.done)

    assert refusal(refused.result()) == UNAVAILABLE
    assert ledger.rows() == before
    assert swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"]).status_code == 200
