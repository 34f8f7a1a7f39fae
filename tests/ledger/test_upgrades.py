"""What a migration does: to a new database, an older one and one of newer code."""

import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest
from sqlalchemy import make_url

from storage.schema import HEAD_REVISION, check_schema, may_serve, migrate, open_schema
from tests.support.api import environ_of, good, replayed, served, stop_line
from tests.support.commanding import run_deeds
from tests.support.ledger_view import LedgerView
from tests.support.migrating import (
    migrate_by,
    newer_revision,
    revisions,
    set_revision,
    write_newer_code,
)
from tests.support.waiting import wait_until

# Alembic keeps 32 characters of it.
REVISION = re.compile(r"[0-9]{4}(_from_[0-9]{4})?")
WAITING = "SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted"


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request, tmp_path):
    """The URL of a database that holds nothing."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:///{tmp_path}/old.sqlite3"


@pytest.fixture
def empty_engine(empty_url, open_engine):
    """An engine on it."""
    return open_engine(empty_url)


def test_an_upgrade_keeps_every_row_and_code_it_permits_serves_on(ledger_url, tmp_path):
    newer = write_newer_code(tmp_path, newer_revision(permits_old=True))
    settings = environ_of(ledger_url)
    with served(settings) as api:
        item = api.mint("+5.a", "+3.b")
        api.swap(f"+5.{item}.a", f"+5.{item}.c", "two")
    view = LedgerView(ledger_url)

    before = view.rows()
    said = migrate_by(newer, ledger_url)
    after = view.rows()

    later = newer_revision(permits_old=True)
    assert said == f"upgraded the database from revision {HEAD_REVISION} to {later}\n"
    for table, rows in before.items():
        # The newer columns come last.
        kept = [new[: len(old)] for old, new in zip(rows, after[table], strict=True)]
        assert kept == rows
    with served(settings) as api:
        replayed(api.swap(f"+5.{item}.a", f"+5.{item}.c", "two"))
        good(api.swap(f"+3.{item}.b", f"+3.{item}.d"))
        assert api.check(f"+5.{item}.c", f"+3.{item}.b") == ["unspent", "spent"]
    view.assert_sound()


@pytest.mark.slow
def test_an_upgrade_that_is_cut_off_leaves_an_sqlite_ledger_as_it_was(
    sqlite_url, tmp_path
):
    revision = newer_revision(permits_old=False)
    kill = "__import__('os').kill(__import__('os').getpid(), 9)"
    killing = write_newer_code(tmp_path / "killing", revision, kill)
    path = sqlite_url.removeprefix("sqlite:///")
    # Open before the upgrade, as that of code that serves on.
    with closing(sqlite3.connect(path)) as opened:
        before = list(opened.iterdump())

        killed = run_deeds("migrate", cwd=killing, DATABASE_URL=sqlite_url)

        assert (killed.returncode, list(opened.iterdump())) == (-9, before)
        migrate_by(write_newer_code(tmp_path / "newer", revision), sqlite_url)
        assert "CREATE TABLE notes" in "".join(opened.iterdump())
        assert opened.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_no_revision_permits_code_that_an_earlier_one_shut_out():
    """Code that may serve a revision knows all that came before it, or need not."""
    oldest_served = [each.partition("_from_")[2] or each for each in revisions()]

    assert revisions() == sorted(revisions())
    assert revisions()[-1] == HEAD_REVISION
    assert [each for each in revisions() if not REVISION.fullmatch(each)] == []
    assert oldest_served == sorted(oldest_served)


@pytest.mark.parametrize(
    ("revision", "advice"),
    [("9999", "run newer code"), ("0000", "run: flask --app app deeds migrate")],
)
def test_a_revision_ahead_or_unknown_stops_start_and_migration(
    empty_url, empty_engine, revision, advice
):
    migrate(empty_engine)
    set_revision(empty_url, revision)

    # A start upgrades a ledger on SQLite by itself.
    assert revision in stop_line(open_schema, empty_engine)
    assert revision in stop_line(migrate, empty_engine)
    assert stop_line(check_schema, empty_engine) == (
        f"the database is at revision {revision} "
        f"and the code at {HEAD_REVISION}; {advice}"
    )


@pytest.mark.parametrize(
    ("head", "served", "refused"),
    [
        ("0004", ["0004", "0005_from_0004", "0007_from_0003"], ["0005", "0003", None]),
        ("0004", [], ["0007_from_0005", "0003_from_0001"]),
        ("0004", [], ["0005_from_", "0005_from_0004 "]),
        ("0004_from_0002", ["0004_from_0002", "0005_from_0004"], ["0004"]),
    ],
    ids=["plain", "others' permissions", "malformed", "a head that permits"],
)
def test_code_serves_its_own_revision_and_a_later_one_that_permits_it(
    monkeypatch, head, served, refused
):
    monkeypatch.setattr("storage.schema.HEAD_REVISION", head)

    assert [each for each in served + refused if may_serve(each)] == served


def test_a_later_revision_that_permits_this_code_is_left_as_it_is(
    empty_url, empty_engine
):
    migrate(empty_engine)
    later = f"9999_from_{HEAD_REVISION[:4]}"
    set_revision(empty_url, later)

    assert migrate(empty_engine) == (later, later)
    open_schema(empty_engine)


@pytest.mark.slow
def test_migrations_at_once_make_one_ledger(postgres_url):
    """A transaction of ours has made their first table, and ends once each of them
    waits for it.
    """
    with ThreadPoolExecutor(2) as pool, psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE alembic_version ()")
        running = [
            pool.submit(run_deeds, "migrate", DATABASE_URL=postgres_url)
            for _ in range(2)
        ]
        wait_until(lambda: connection.execute(WAITING).fetchone() == (2,))
        connection.rollback()
    ran = [each.result() for each in running]

    upgraded = f"upgraded the database from revision none to {HEAD_REVISION}\n"
    assert [(each.stdout, each.stderr) for each in ran] == [(upgraded, "")] * 2


def test_a_missing_right_to_create_tables_stops_the_migration_in_one_line(
    postgres_url, open_engine
):
    # A role that each server has, and that may create nothing.
    reader = {"options": "-c role=pg_monitor"}
    url = make_url(postgres_url).update_query_dict(reader)

    engine = open_engine(url.render_as_string(hide_password=False))

    assert stop_line(migrate, engine).startswith(
        "DATABASE_URL: the database cannot be opened: "
        "permission denied for schema public"
    )
