"""The schema: what migrations make is what the statements expect, on both databases."""

import tempfile
from contextlib import ExitStack

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import text

from deeds.errors import StartError
from storage.engine import WRITES, make_engine, parse_database_url
from storage.schema import HEAD_REVISION, migrate, open_schema
from storage.tables import metadata
from tests.migrating import script, upgrade_to, words


@pytest.fixture(params=["sqlite", "postgresql"])
def open_empty(request, tmp_path):
    """A function that opens an engine on a new database that holds nothing."""
    with ExitStack() as closing:

        def open_one():
            if request.param == "sqlite":
                url = f"sqlite:///{tempfile.mkdtemp(dir=tmp_path)}/deeds.db"
            else:
                postgres = request.getfixturevalue("postgres")
                url = postgres.create_database()
                closing.callback(postgres.drop_database, url)
            engine = make_engine(parse_database_url(url))
            closing.callback(engine.dispose)
            return engine

        yield open_one


@pytest.fixture
def empty_engine(open_empty):
    """An engine on a database that holds nothing."""
    return open_empty()


def set_revision(engine, revision):
    with engine.execution_options(**{WRITES: True}).begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :it"), {"it": revision})


def test_the_code_knows_the_newest_revision():
    _, directory = script()

    assert directory.get_heads() == [HEAD_REVISION]


def test_revisions_are_numbered_in_their_order():
    _, directory = script()

    newest_first = [each.revision for each in directory.walk_revisions()]

    assert newest_first == sorted(newest_first, reverse=True)


def test_an_empty_database_gets_the_newest_revision_once(empty_engine):
    assert migrate(empty_engine) == (None, HEAD_REVISION)
    assert migrate(empty_engine) == (HEAD_REVISION, HEAD_REVISION)
    open_schema(empty_engine)


def test_a_database_of_the_first_revision_is_upgraded(empty_engine):
    _, directory = script()
    [first] = directory.get_bases()
    upgrade_to(empty_engine, first)

    assert migrate(empty_engine) == (first, HEAD_REVISION)

    with empty_engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_alembic_finds_no_difference_between_the_tables_and_a_migrated_database(empty_engine):
    migrate(empty_engine)

    with empty_engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_server_default": True})
        assert compare_metadata(context, metadata) == []


def test_migrations_make_the_very_constraints_that_the_tables_name(open_empty):
    """Alembic compares no CHECK constraints, and those carry the ledger's invariants."""
    migrated, created = open_empty(), open_empty()
    migrate(migrated)
    metadata.create_all(created)

    assert words(migrated) == words(created)
    assert len(words(created)) > len(metadata.tables)


@pytest.mark.parametrize(
    ("revision", "advice"),
    [
        ("9999", "run newer code"),
        ("0000", "run: flask --app app deeds migrate"),
    ],
)
def test_a_database_of_another_revision_stops_the_start_and_both_are_named(
    postgres_url, revision, advice
):
    engine = make_engine(parse_database_url(postgres_url))
    migrate(engine)
    set_revision(engine, revision)

    with pytest.raises(StartError) as stopped:
        open_schema(engine)
    engine.dispose()

    assert str(stopped.value) == (
        f"deeds cannot start: the database is at revision {revision} "
        f"and the code at {HEAD_REVISION}; {advice}"
    )


def test_an_empty_postgresql_stops_the_start_and_says_what_to_run(postgres_url):
    engine = make_engine(parse_database_url(postgres_url))

    with pytest.raises(StartError) as stopped:
        open_schema(engine)
    engine.dispose()

    assert str(stopped.value) == (
        f"deeds cannot start: the database is at revision none and the code at {HEAD_REVISION}; "
        "run: flask --app app deeds migrate"
    )


def test_a_database_ahead_of_the_code_is_left_as_it_is(empty_engine):
    migrate(empty_engine)
    set_revision(empty_engine, "9999")

    with pytest.raises(StartError, match="at revision 9999 and the code at"):
        migrate(empty_engine)
    with pytest.raises(StartError, match="run newer code"):
        open_schema(empty_engine)


def test_a_revision_that_nobody_knows_stops_the_migration_in_one_line(empty_engine):
    migrate(empty_engine)
    set_revision(empty_engine, "0000")

    with pytest.raises(StartError) as stopped:
        migrate(empty_engine)

    assert "0000" in str(stopped.value)
    assert "\n" not in str(stopped.value)
