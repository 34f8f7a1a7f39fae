"""The schema: what migrations make is what the statements expect, on both databases."""

import re
import tempfile
from contextlib import ExitStack

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from deeds.domain.errors import StartError
from storage.engine import make_engine, parse_database_url
from storage.schema import HEAD_REVISION, may_serve, migrate, open_schema
from storage.tables import metadata
from tests.support.migrating import script, set_revision, upgrade_to, words

# Alembic keeps 32 characters of it.
REVISION = re.compile(r"[0-9]{4}(_from_[0-9]{4})?")


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


@pytest.mark.parametrize(
    ("revision", "may"),
    [
        ("0004", True),
        ("0005", False),
        ("0003", False),
        (None, False),
        ("0005_from_0004", True),
        ("0007_from_0003", True),
        ("0007_from_0005", False),
        ("0003_from_0001", False),
        ("0005_from_", False),
        ("0005_from_0004 ", False),
    ],
)
def test_code_serves_its_own_revision_and_a_later_one_that_permits_it(monkeypatch, revision, may):
    monkeypatch.setattr("storage.schema.HEAD_REVISION", "0004")

    assert may_serve(revision) is may


def test_a_revision_with_a_permission_of_its_own_is_served_where_it_is_the_newest(monkeypatch):
    monkeypatch.setattr("storage.schema.HEAD_REVISION", "0004_from_0002")

    assert [may_serve(each) for each in ("0004_from_0002", "0005_from_0004", "0004")] == [
        True,
        True,
        False,
    ]


def test_a_later_revision_that_permits_this_code_is_left_as_it_is(empty_engine):
    migrate(empty_engine)
    later = f"9999_from_{HEAD_REVISION[:4]}"
    set_revision(empty_engine, later)

    assert migrate(empty_engine) == (later, later)
    open_schema(empty_engine)


def test_no_revision_permits_code_that_an_earlier_one_shut_out():
    """Whoever may serve a revision must know all that came before it, or not need to."""
    _, directory = script()
    revisions = [each.revision for each in directory.walk_revisions()][::-1]

    oldest = [each.partition("_from_")[2] or each for each in revisions]

    assert [each for each in revisions if not REVISION.fullmatch(each)] == []
    assert oldest == sorted(oldest)
