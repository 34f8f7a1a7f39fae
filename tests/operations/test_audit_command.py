"""`flask --app app deeds audit`, as an operator runs it."""

import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import text

from deeds.settings import Settings
from storage.engine import WRITES, make_engine, parse_database_url
from tests.support.commanding import invoke
from tests.support.requests import mint, swap
from tests.support.starting import run_deeds


@pytest.fixture
def item(client):
    item = mint(client, "+5.a", "+3.b")
    swap(client, [f"+5.{item}.a"], [f"+5.{item}.c"])
    return item


def execute(url, statement):
    engine = make_engine(parse_database_url(url))
    with engine.execution_options(**{WRITES: True}).begin() as connection:
        connection.execute(text(statement))
    engine.dispose()


def test_a_sound_ledger_is_told_with_its_counts(item, database_url, ledger):
    ran = invoke(Settings(database_url), "audit")

    assert (ran.exit_code, ran.stderr) == (0, "")
    assert [line.split() for line in ran.stdout.splitlines()] == [
        ["items", "1"],
        ["mints", "1"],
        ["swaps", "1"],
        ["live", "outputs", "2"],
        ["spent", "outputs", "1"],
        ["Every", "invariant", "holds."],
    ]


def test_a_broken_one_ends_with_exit_code_1_and_the_places(item, database_url):
    execute(database_url, "UPDATE items SET total = 9")

    ran = invoke(Settings(database_url), "audit")

    first, *places = ran.stderr.splitlines()
    assert ran.exit_code == 1
    assert first == "Error: the ledger violates these invariants:"
    assert places[0] == f"  the live outputs of an item sum to its total: {item}"
    assert "holds" not in ran.stdout


def test_no_ledger_is_no_sound_ledger_and_none_is_made(tmp_path):
    path = tmp_path / "deeds.db"

    ran = run_deeds("audit", DATABASE_URL=f"sqlite:///{path}")

    assert ran.returncode == 1
    assert ran.stderr == f"deeds cannot start: DATABASE_URL: there is no ledger at {path}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_damaged_file_ends_in_one_line(client, sqlite_url, tmp_path):
    mint(client, *(f"+1.{number}" for number in range(256)))
    client.application.extensions["deeds"].close()
    path = tmp_path / "deeds.sqlite3"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    data = bytearray(path.read_bytes())
    for page in range(4096 * 8, len(data) - 100, 4096):
        data[page : page + 100] = b"\xff" * 100
    path.write_bytes(data)

    ran = invoke(Settings(sqlite_url), "audit")

    assert ran.exit_code == 1
    assert "malformed" in ran.stderr or "the database itself is not damaged" in ran.stderr
    assert "Traceback" not in ran.stderr
