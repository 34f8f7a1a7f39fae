"""What an upgrade does.

The ledger of every released schema is kept whole, and served.
"""

import json
import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest
from sqlalchemy import MetaData, inspect, make_url, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from deeds.domain.errors import StartError
from deeds.settings import Settings
from storage.schema import HEAD_REVISION, check_schema, may_serve, migrate, open_schema
from tests.support.commanding import invoke, run_deeds, run_python
from tests.support.ledger_view import LedgerView
from tests.support.migrating import (
    newer_revision,
    revisions,
    set_revision,
    words,
    write_newer_code,
)
from tests.support.released_ledgers import (
    DATABASES,
    EPOCHS,
    file_of,
    load,
    read_requests,
    released_revisions,
)
from tests.support.requests import check, post, swap
from tests.support.waiting import wait_until

# Alembic keeps 32 characters of it.
REVISION = re.compile(r"[0-9]{4}(_from_[0-9]{4})?")
WAITING = "SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted"
RAW = re.compile(r"\+(\d+)\.(deed_[0-9a-z]{26})\.(.*)")

ADD_OPERATION = (
    "INSERT INTO operations (kind, inputs_count, outputs_count, created_at_ms)"
    " VALUES ('{}', 0, 1, 0)"
)
# Ends a migration once the constraint is another and before the tables are there.
CUT_OFF = """
import os, sys
from sqlalchemy import MetaData
from storage.engine import make_engine, parse_database_url
from storage.schema import migrate
MetaData.create_all = lambda *_, **__: {}
migrate(make_engine(parse_database_url("{}")))
"""


@pytest.fixture(params=released_revisions())
def revision(request):
    return request.param


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request, tmp_path):
    """The URL of a database that holds nothing."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:///{tmp_path}/old.sqlite3"


@pytest.fixture
def old_url(revision, empty_url):
    """The URL of a database with the ledger of that revision."""
    load(revision, empty_url)
    return empty_url


def rows(engine, columns):
    """Return the rows of all tables, as far as the columns go that are asked for."""
    tables = MetaData()
    tables.reflect(engine)
    with engine.connect() as connection:
        return {
            name: sorted(
                connection.execute(
                    select(*(tables.tables[name].c[each] for each in names))
                ).all(),
                key=repr,
            )
            for name, names in columns.items()
        }


def columns(engine):
    found = inspect(engine)
    return {
        name: [column["name"] for column in found.get_columns(name)]
        for name in found.get_table_names()
        if name != "alembic_version"
    }


def test_there_is_a_ledger_of_every_revision_for_each_database():
    """Where one is missing: `python -m tests.support.released_ledgers`."""
    wanted = {
        file_of(revision, database, kind)
        for revision in revisions()
        for database in DATABASES
        for kind in ("sql", "json")
    }

    assert [path.name for path in sorted(wanted) if not path.exists()] == []


def test_migrate_keeps_every_row_of_a_ledger_that_holds_all_that_it_could_lose(
    old_url, revision, open_engine, sqlite_url, reused_postgres_url
):
    engine = open_engine(old_url)
    on_sqlite = engine.dialect.name == "sqlite"
    new_engine = open_engine(sqlite_url if on_sqlite else reused_postgres_url)
    had = columns(engine)
    before = rows(engine, had)

    ran = invoke(Settings(old_url), "migrate")

    assert (ran.exit_code, ran.stderr) == (0, "")
    assert (
        f"revision {HEAD_REVISION}" in ran.stdout or f"to {HEAD_REVISION}" in ran.stdout
    )
    assert rows(engine, had) == before
    assert columns(engine) == columns(new_engine)
    assert words(engine) == words(new_engine)
    found = LedgerView(engine).rows()
    kinds = {(row[1], row[2] is None) for row in found["operations"]}
    states = {row[-1] is None for row in found["outputs"]}
    texts = {row[2] is None for row in found["items"]}
    expected = ["mint", "swap"] + ["offer"] * (revision > "0001")
    assert kinds == {(kind, keyless) for kind in expected for keyless in (True, False)}
    assert states == texts == {True, False}
    assert len({(row[1], row[5]) for row in found["hash_schemes"]}) == 6
    assert max(row[1] for row in found["items"]) == 2**53 - 1


def test_an_upgraded_ledger_answers_as_it_did_before_and_every_live_secret_buys_its_units_once(
    old_url, revision, open_app, open_engine
):
    view = LedgerView(open_engine(old_url))
    asked = read_requests(revision, view.engine.dialect.name)
    spent = sorted({raw for each in asked for raw in each.inputs})
    live = [raw for each in asked for raw in each.outputs if raw not in spent]
    keyed = [each for each in asked if each.key is not None]
    mints = [each for each in asked if each.path == "/v1/mint"]
    offers = [each.answer for each in asked if each.path == "/v1/offers"]

    # A start upgrades a ledger on SQLite by itself.
    if view.engine.dialect.name == "postgresql":
        invoke(Settings(old_url), "migrate")
    client = open_app(Settings(old_url, **EPOCHS[-1])).test_client()
    view.assert_sound()
    states = check(client, *live, *spent)
    replays = [post(client, each.path, each.body, each.key) for each in keyed]
    items = [
        client.get(f"/v1/item/{each.answer['itemId']}").get_json() for each in mints
    ]
    read = [client.get(f"/v1/offers/{each['offerId']}").get_json() for each in offers]

    assert states == ["unspent"] * len(live) + ["spent"] * len(spent)
    assert [answer.get_json() for answer in replays] == [each.answer for each in keyed]
    assert {answer.headers["Idempotency-Replayed"] for answer in replays} == {"true"}
    assert read == offers
    assert [(item["id"], item["total"]) for item in items] == [
        (
            each.answer["itemId"],
            sum(output["amount"] for output in each.answer["outputs"]),
        )
        for each in mints
    ]
    assert [item["metadata"] and json.loads(item["metadata"]) for item in items] == [
        each.body["metadata"] for each in mints
    ]

    new = [RAW.sub(rf"+\1.\2.claimed {number}", raw) for number, raw in enumerate(live)]
    claimed = [
        swap(client, [old], [fresh]) for old, fresh in zip(live, new, strict=True)
    ]
    again = [swap(client, [old], [f"{old[:-1]}!"]) for old in [*live, *spent]]

    assert [answer.status_code for answer in claimed] == [200] * len(live)
    assert [answer.status_code for answer in again] == [400] * len(live + spent)
    assert check(client, *live, *new) == ["spent"] * len(live) + ["unspent"] * len(new)
    view.assert_sound()
    assert len(view.operations()) == len(asked) + len(live)


@pytest.mark.parametrize("ending", ["os.kill(os.getpid(), 9)", "sys.exit(1)"])
def test_an_upgrade_that_is_cut_off_leaves_an_sqlite_ledger_as_it_was_and_the_next_one_ends_it(
    tmp_path, open_engine, ending
):
    url = f"sqlite:///{tmp_path}/old.sqlite3"
    load("0001", url)
    engine = open_engine(url)
    # Open before the upgrade, as those of code that serves on.
    with closing(sqlite3.connect(engine.url.database, isolation_level=None)) as opened:
        before = list(opened.iterdump())

        assert run_python("-c", CUT_OFF.format(ending, url)).returncode in {-9, 1}

        assert list(opened.iterdump()) == before
        with pytest.raises(sqlite3.IntegrityError, match="ck_operations_kind"):
            opened.execute(ADD_OPERATION.format("offer"))

        assert migrate(engine) == ("0001", HEAD_REVISION)

        with pytest.raises(sqlite3.IntegrityError, match="ck_operations_kind"):
            opened.execute(ADD_OPERATION.format("gift"))
        opened.execute(ADD_OPERATION.format("offer"))
        # A start goes on with the connection that it upgraded by.
        with engine.connect() as upgraded, upgraded.begin():
            upgraded.execute(text(ADD_OPERATION.format("offer")))
            with pytest.raises(IntegrityError, match="ck_operations_kind"):
                upgraded.execute(text(ADD_OPERATION.format("swap")))
            with pytest.raises(DBAPIError, match="may not be modified"):
                upgraded.execute(text("DELETE FROM sqlite_schema"))
        assert opened.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert opened.execute("PRAGMA foreign_key_check").fetchall() == []


@pytest.fixture
def empty_engine(open_engine, empty_url):
    return open_engine(empty_url)


def test_revisions_are_numbered_and_none_permits_code_that_an_earlier_one_shut_out():
    """Code that may serve a revision must know all that came before it, or not need to."""
    oldest_served = [each.partition("_from_")[2] or each for each in revisions()]

    assert revisions() == sorted(revisions())
    assert revisions()[-1] == HEAD_REVISION
    assert [each for each in revisions() if not REVISION.fullmatch(each)] == []
    assert oldest_served == sorted(oldest_served)


@pytest.mark.parametrize(
    ("revision", "advice"),
    [("9999", "run newer code"), ("0000", "run: flask --app app deeds migrate")],
)
def test_a_revision_ahead_or_unknown_stops_the_start_and_the_migration_in_one_line(
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


@pytest.mark.parametrize(
    "defect", ["1 / 0", 'op.execute("SELECT no_such_column FROM items")']
)
def test_the_defect_of_a_migration_keeps_its_traceback_and_changes_nothing(
    sqlite_url, tmp_path, open_engine, defect
):
    migrate(open_engine(sqlite_url))
    revision = newer_revision(permits_old=False)
    sources = tmp_path / "newer"
    sources.mkdir()
    write_newer_code(sources, revision, more=defect)

    ran = run_deeds("migrate", cwd=sources, DATABASE_URL=sqlite_url)

    assert ran.returncode == 1
    assert "Traceback" in ran.stderr
    assert f"{revision}.py" in ran.stderr
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
