"""The revision of a database: which code serves it, and what an upgrade says and does."""

import re

import psycopg
import pytest
from sqlalchemy import make_url

from deeds.domain.errors import StartError
from storage.schema import HEAD_REVISION, may_serve, migrate, open_schema
from tests.support.migrating import (
    newer_revision,
    revisions,
    run_migrate_of,
    set_revision,
    write_newer_code,
)
from tests.support.starting import stopped_migrate

# Alembic keeps 32 characters of it.
REVISION = re.compile(r"[0-9]{4}(_from_[0-9]{4})?")


@pytest.fixture
def empty_engine(open_engine, new_url):
    """An engine on a database that holds nothing."""
    return open_engine(new_url())


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
def test_a_database_of_another_revision_stops_the_start_and_both_are_named(
    postgres_url, open_engine, revision, advice
):
    migrate(engine := open_engine(postgres_url))
    set_revision(engine, revision)

    with pytest.raises(StartError) as stopped:
        open_schema(engine)

    assert str(stopped.value) == (
        f"deeds cannot start: the database is at revision {revision} "
        f"and the code at {HEAD_REVISION}; {advice}"
    )


@pytest.mark.parametrize("revision", ["9999", "0000"])
def test_a_revision_ahead_or_unknown_stops_the_migration_in_one_line(empty_engine, revision):
    migrate(empty_engine)
    set_revision(empty_engine, revision)

    with pytest.raises(StartError) as stopped:
        migrate(empty_engine)

    assert revision in str(stopped.value)
    assert "\n" not in str(stopped.value)


@pytest.mark.parametrize(
    ("head", "served", "refused"),
    [
        ("0004", ["0004", "0005_from_0004", "0007_from_0003"], ["0005", "0003", None]),
        ("0004", [], ["0007_from_0005", "0003_from_0001", "0005_from_", "0005_from_0004 "]),
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


@pytest.mark.parametrize("defect", ["1 / 0", 'op.execute("SELECT no_such_column FROM items")'])
def test_the_defect_of_a_migration_keeps_its_traceback_and_changes_nothing(
    sqlite_url, tmp_path, open_engine, defect
):
    migrate(open_engine(sqlite_url))
    revision = newer_revision(permits_old=False)
    sources = tmp_path / "newer"
    sources.mkdir()
    write_newer_code(sources, revision, more=defect)

    ran = run_migrate_of(sources, sqlite_url)

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
        line = stopped_migrate(DATABASE_URL=url.render_as_string(hide_password=False))
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"DROP ROLE {role}")

    assert line.startswith(
        "DATABASE_URL: the database cannot be opened: permission denied for schema public"
    )
