"""What a migration does: to a new database, an older one and one of newer code."""

import sqlite3
from contextlib import closing

import pytest
from psycopg.conninfo import conninfo_to_dict

import app
from storage.schema import CORE, Schema, Version
from tests.support.api import environ_of, good, replayed, served, stop_line
from tests.support.commanding import invoke, output_of, run_deeds
from tests.support.databases import sqlite_path
from tests.support.ledger_view import LedgerView
from tests.support.migrating import (
    NEXT,
    migrate_by,
    set_version,
    upgrade_line,
    without_place,
    write_newer_code,
)

VERSIONS = "SELECT part, version, serves_from FROM schema_version ORDER BY part"


def schemas():
    """Return the tables of the core and of every part, in all of their versions."""
    return [CORE, *(part.schema for part in app._load(app.PARTS) if part.schema)]


def stopped(settings, command):
    """Run a command that has to be refused, and return what it says."""
    ran = invoke(settings, command)
    assert ran.exit_code == 1
    # The runner prints there what would end the process.
    return ran.stdout


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request, tmp_path):
    """The URL of a database that holds nothing."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:///{tmp_path}/new.sqlite3"


def test_a_new_database_gets_all_tables_once(empty_url):
    first, second = (output_of(environ_of(empty_url), "migrate") for _ in range(2))

    made = [
        upgrade_line("none", each.newest, each.versions[-1].serves_from, each.part)
        for each in schemas()
    ]
    assert without_place(first) == "".join(made)
    assert without_place(second) == "the tables need no upgrade\n"


def add_column(transaction):
    transaction.execute("ALTER TABLE outputs ADD COLUMN rank INTEGER DEFAULT 7")


def test_an_upgrade_keeps_every_row_and_code_it_permits_serves_on(
    ledger_url, monkeypatch
):
    newer = Schema("core", (*CORE.versions, Version(add_column, CORE.newest)))
    settings, view = environ_of(ledger_url), LedgerView(ledger_url)
    with served(settings) as api:
        item = api.mint("+5.a", "+3.b")
        api.swap(f"+5.{item}.a", f"+5.{item}.c", "two")
    before = view.rows()

    with monkeypatch.context() as patch:
        patch.setattr("app.CORE", newer)
        behind = stopped(settings, "audit")
        said = output_of(settings, "migrate")

    assert behind.endswith(
        f": the tables of core have version {CORE.newest} and the code {NEXT}; run:"
        " python -m app migrate\n"
    )
    assert without_place(said) == upgrade_line(CORE.newest, NEXT, CORE.newest)
    kept = before | {"outputs": [(*row, 7) for row in before["outputs"]]}
    assert view.rows() == kept
    versions = view.read(VERSIONS)
    said = output_of(settings, "migrate")
    assert without_place(said) == "the tables need no upgrade\n"
    assert view.read(VERSIONS) == versions
    with served(settings) as api:
        replayed(api.swap(f"+5.{item}.a", f"+5.{item}.c", "two"))
        good(api.swap(f"+3.{item}.b", f"+3.{item}.d"))
    output_of(settings, "audit")


def test_offers_of_version_1_get_the_index_of_their_outputs(ledger_url):
    settings, view = environ_of(ledger_url), LedgerView(ledger_url)
    view.execute("DROP INDEX offer_outputs_item_id_digest")
    view.execute("UPDATE schema_version SET version = 1 WHERE part = 'offers'")

    said = output_of(settings, "migrate")

    assert without_place(said) == upgrade_line(1, 2, 1, "offers")
    # It compares the tables with those of a new ledger.
    output_of(settings, "audit")


@pytest.mark.slow
def test_an_upgrade_that_is_cut_off_leaves_an_sqlite_ledger_as_it_was(
    sqlite_url, tmp_path
):
    kill = "__import__('os').kill(__import__('os').getpid(), 9)"
    killing = write_newer_code(tmp_path / "killing", permits_old=False, more=kill)
    newer = write_newer_code(tmp_path / "newer", permits_old=False)
    # Open before the upgrade, as that of code that serves on.
    with closing(sqlite3.connect(sqlite_path(sqlite_url))) as opened:
        before = list(opened.iterdump())

        killed = run_deeds("migrate", cwd=killing, DATABASE_URL=sqlite_url)

        assert (killed.returncode, list(opened.iterdump())) == (-9, before)
        migrate_by(newer, sqlite_url)
        assert "CREATE TABLE notes" in "".join(opened.iterdump())
        assert opened.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_no_version_permits_code_that_an_earlier_one_shut_out():
    """Code that may serve a version knows all that came before it, or need not."""
    for schema in schemas():
        oldest_served = [version.serves_from for version in schema.versions]

        assert oldest_served == sorted(oldest_served)


def test_a_version_that_shuts_this_code_out_stops_start_and_commands(
    sqlite_url, open_app
):
    set_version(sqlite_url, NEXT, NEXT)
    settings = environ_of(sqlite_url)

    line = stop_line(open_app, settings)

    assert line == (
        f"the tables of core have version {NEXT}, which code of version"
        f" {CORE.newest} must not serve; run newer code"
    )
    for command in ("migrate", "audit"):
        assert stopped(settings, command) == f"deeds: {line}\n"


def test_a_ledger_from_before_the_first_release_stops_in_one_line(sqlite_url, open_app):
    view, settings = LedgerView(sqlite_url), environ_of(sqlite_url)
    view.execute("DROP TABLE schema_version")
    view.execute("CREATE TABLE alembic_version (version_num TEXT)")

    line = stop_line(open_app, settings)

    assert line == (
        "DATABASE_URL: the ledger was made by code before the first release, which"
        " cannot be upgraded"
    )
    assert stopped(settings, "audit") == f"deeds: {line}\n"


def test_a_start_on_an_empty_postgresql_says_what_to_run(postgres_url, open_app):
    line = stop_line(open_app, environ_of(postgres_url))

    options = conninfo_to_dict(postgres_url)
    assert line == (
        f"{options['host']}/{options['dbname']}: the tables of core have version none"
        f" and the code {CORE.newest}; run: python -m app migrate"
    )
