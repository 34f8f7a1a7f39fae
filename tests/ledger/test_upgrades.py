"""What a migration does: to a new database, an older one and one of newer code."""

import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest
from sqlalchemy import make_url

from deeds.domain.errors import StartError
from deeds.domain.model import Argon2Cost
from deeds.settings import Settings
from storage.schema import HEAD_REVISION, check_schema, may_serve, migrate, open_schema
from tests.support.commanding import run_deeds
from tests.support.ledger_view import LedgerView
from tests.support.migrating import (
    migrate_by,
    newer_revision,
    revisions,
    set_revision,
    write_newer_code,
)
from tests.support.requests import check, mint, stop, swap
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
def empty_engine(open_engine, empty_url):
    return open_engine(empty_url)


@pytest.fixture
def newer_code(tmp_path):
    """A function that writes the next release; its migration ends with a statement."""

    def write(more="pass", *, permits_old=False):
        sources = tmp_path / f"newer-{len(list(tmp_path.glob('newer-*')))}"
        sources.mkdir()
        revision = newer_revision(permits_old=permits_old)
        return write_newer_code(sources, revision, more)

    return write


def test_an_upgrade_keeps_every_row_and_code_that_it_permits_serves_on(
    ledger_url, open_app, open_engine, newer_code
):
    settings = Settings(ledger_url, Argon2Cost(8, 1, 1))
    client = open_app(settings).test_client()
    item = mint(client, "+5.a", "+3.b", key="one")
    swap(client, [f"+5.{item}.a"], [f"+5.{item}.c"], "two")
    stop(client)
    view = LedgerView(open_engine(ledger_url))
    before = view.rows()

    said = migrate_by(newer_code(permits_old=True), ledger_url)

    later = newer_revision(permits_old=True)
    assert said == f"upgraded the database from revision {HEAD_REVISION} to {later}\n"
    assert view.rows() == before
    client = open_app(settings).test_client()
    again = swap(client, [f"+5.{item}.a"], [f"+5.{item}.c"], "two")
    assert again.headers["Idempotency-Replayed"] == "true"
    assert swap(client, [f"+3.{item}.b"], [f"+3.{item}.d"]).status_code == 200
    states = check(client, *(f"+{n}.{item}.{s}" for n, s in ((5, "c"), (3, "b"))))
    assert states == ["unspent", "spent"]
    view.assert_sound()


def test_an_upgrade_that_is_cut_off_leaves_an_sqlite_ledger_as_it_was(
    sqlite_url, newer_code
):
    path = sqlite_url.removeprefix("sqlite:///")
    killing = newer_code("__import__('os').kill(__import__('os').getpid(), 9)")
    # Open before the upgrade, as that of code that serves on.
    with closing(sqlite3.connect(path)) as opened:
        before = list(opened.iterdump())

        killed = run_deeds("migrate", cwd=killing, DATABASE_URL=sqlite_url)

        assert (killed.returncode, list(opened.iterdump())) == (-9, before)
        migrate_by(newer_code(), sqlite_url)
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
    empty_engine, revision, advice
):
    migrate(empty_engine)
    set_revision(empty_engine, revision)

    # A start upgrades a ledger on SQLite by itself.
    with pytest.raises(StartError) as started:
        check_schema(empty_engine)
    with pytest.raises(StartError, match=rf"^[^\n]*{revision}[^\n]*$"):
        open_schema(empty_engine)
    with pytest.raises(StartError, match=rf"^[^\n]*{revision}[^\n]*$"):
        migrate(empty_engine)

    assert str(started.value) == (
        f"deeds cannot start: the database is at revision {revision} "
        f"and the code at {HEAD_REVISION}; {advice}"
    )


@pytest.mark.parametrize(
    ("head", "served", "refused"),
    [
        ("0004", ["0004", "0005_from_0004", "0007_from_0003"], ["0005", "0003", None]),
        (
            "0004",
            [],
            ["0007_from_0005", "0003_from_0001", "0005_from_", "0005_from_0004 "],
        ),
        ("0004_from_0002", ["0004_from_0002", "0005_from_0004"], ["0004"]),
    ],
)
def test_code_serves_its_own_revision_and_a_later_one_that_permits_it(
    monkeypatch, head, served, refused
):
    monkeypatch.setattr("storage.schema.HEAD_REVISION", head)

    assert [each for each in served + refused if may_serve(each)] == served


def test_a_later_revision_that_permits_this_code_is_left_as_it_is(empty_engine):
    migrate(empty_engine)
    later = f"9999_from_{HEAD_REVISION[:4]}"
    set_revision(empty_engine, later)

    assert migrate(empty_engine) == (later, later)
    open_schema(empty_engine)


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
    said = [(each.result().stdout, each.result().stderr) for each in running]

    assert (
        said
        == [(f"upgraded the database from revision none to {HEAD_REVISION}\n", "")] * 2
    )


def test_the_defect_of_a_migration_keeps_its_traceback_and_changes_nothing(
    sqlite_url, newer_code, open_engine
):
    sources = newer_code('op.execute("SELECT no_such_column FROM items")')

    ran = run_deeds("migrate", cwd=sources, DATABASE_URL=sqlite_url)

    assert ran.returncode == 1
    assert "Traceback" in ran.stderr
    assert f"{newer_revision(permits_old=False)}.py" in ran.stderr
    assert migrate(open_engine(sqlite_url)) == (HEAD_REVISION, HEAD_REVISION)


def test_a_missing_right_to_create_tables_stops_the_migration_in_one_line(postgres_url):
    role = f"reader_{make_url(postgres_url).database}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'reader'")
    url = make_url(postgres_url).set(username=role, password="reader")

    try:
        ran = run_deeds(
            "migrate", DATABASE_URL=url.render_as_string(hide_password=False)
        )
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"DROP ROLE {role}")

    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (1, "", 1)
    assert ran.stderr.startswith(
        "deeds cannot start: DATABASE_URL: the database cannot be opened: "
        "permission denied for schema public"
    )
