"""A start and an audit compare the tables with those that this code creates."""

import secrets

import pytest

from app import prepare
from tests.operator.changed_tables import (
    DROP_KEY_INDEX,
    ON_POSTGRESQL,
    ON_SQLITE,
)
from tests.support.api import environ_of, stop_line
from tests.support.commanding import invoke, output_of
from tests.support.databases import changed_url, connected
from tests.support.ledger_view import LedgerView
from tests.support.migrating import NEXT, migrate_by, set_version, write_newer_code

TIMES = "CREATE INDEX times ON operations"
SAID = "DATABASE_URL: the tables are not those of this code: "

CHANGED = [
    pytest.param(database, statements, said, id=f"{database}, {name}")
    for database, changes in (("sqlite", ON_SQLITE), ("postgresql", ON_POSTGRESQL))
    for name, (statements, said) in changes.items()
]

OF_OTHERS = (
    "CREATE TABLE theirs (id INTEGER PRIMARY KEY, name TEXT CHECK (name <> ''))",
    "CREATE UNIQUE INDEX names ON theirs (name)",
)


def change(url, *statements):
    with connected(url) as connection:
        for statement in statements:
            connection.execute(statement)


def finding_of(url):
    """Return what an audit says of tables, which is all that it then says."""
    ran = invoke(environ_of(url), "audit")
    assert (ran.exit_code, ran.stdout) == (1, "")
    [line] = ran.stderr.splitlines()[1:]
    name, said = line.split(": ", 1)
    assert name == "  the tables are those of this code"
    return said


@pytest.fixture
def start(monkeypatch):
    """A function that prepares the start of a service on a database."""

    def start_it(url):
        for name, value in environ_of(url).items():
            monkeypatch.setenv(name, value)
        prepare()

    return start_it


@pytest.fixture
def refusal_of(start):
    """A function that returns what a start says of tables that it refuses."""

    def refuse(url):
        line = stop_line(start, url)
        assert line.startswith(SAID)
        return line.removeprefix(SAID)

    return refuse


@pytest.fixture
def remarks_on(start, caplog):
    """A function that returns what a start says of tables that it goes on with."""

    def remark(url):
        start(url)
        said = [each for each in caplog.records if each.event == "tables"]
        assert {each.levelname for each in said} <= {"WARNING"}
        return [each.getMessage() for each in said]

    return remark


def test_nothing_is_said_of_the_tables_that_this_code_created(ledger_url, remarks_on):
    assert remarks_on(ledger_url) == []


@pytest.mark.parametrize(
    ("ledger_url", "statements", "said"), CHANGED, indirect=["ledger_url"]
)
def test_tables_that_were_changed_stop_the_start_and_are_found(
    ledger_url, statements, said, refusal_of
):
    change(ledger_url, *statements)

    assert refusal_of(ledger_url) == said
    assert finding_of(ledger_url) == said


def test_a_view_in_the_place_of_a_table_stops_the_start_and_is_found(
    ledger_url, refusal_of
):
    change(
        ledger_url,
        "ALTER TABLE offer_outputs RENAME TO elsewhere",
        "CREATE VIEW offer_outputs AS SELECT * FROM elsewhere",
    )

    said = refusal_of(ledger_url)

    assert said.startswith(("there is no table offer_outputs", "offer_outputs lacks "))
    assert finding_of(ledger_url) == said


@pytest.mark.parametrize("ledger_url", ["postgresql"], indirect=True)
def test_a_foreign_key_that_is_not_enforced_is_found(ledger_url, refusal_of):
    change(ledger_url, "ALTER TABLE items DISABLE TRIGGER ALL")

    said = refusal_of(ledger_url).split("; ")

    assert {each.partition('"')[0] for each in said} == {
        "items has disabled: CREATE CONSTRAINT TRIGGER "
    }


def test_an_index_more_is_only_named(ledger_url, remarks_on):
    change(ledger_url, f"{TIMES} (created_at_ms)", *OF_OTHERS)

    [line] = remarks_on(ledger_url)
    audited = output_of(environ_of(ledger_url), "audit")

    assert line in {
        f"operations has {TIMES} (created_at_ms)",
        f"operations has {TIMES} USING btree (created_at_ms)",
    }
    assert audited.endswith(f"\nNote: {line}\nEvery invariant holds.\n")


def test_tables_of_others_are_not_looked_at(ledger_url, remarks_on):
    change(ledger_url, *OF_OTHERS)

    assert remarks_on(ledger_url) == []


def test_the_tables_of_a_part_that_is_away_are_not_looked_at(
    ledger_url, remarks_on, monkeypatch
):
    change(ledger_url, "ALTER TABLE offer_outputs ADD COLUMN place INTEGER")
    monkeypatch.setattr("app.PARTS", ["rollback", "operator"])

    assert remarks_on(ledger_url) == []


@pytest.mark.slow
def test_a_later_version_that_permits_this_code_is_not_looked_at(
    ledger_url, remarks_on, tmp_path
):
    migrate_by(write_newer_code(tmp_path / "newer", permits_old=True), ledger_url)
    change(ledger_url, DROP_KEY_INDEX)

    assert remarks_on(ledger_url) == []


def test_beside_a_later_version_those_of_this_code_are_looked_at(
    ledger_url, refusal_of
):
    set_version(ledger_url, NEXT, NEXT - 1)
    change(ledger_url, DROP_KEY_INDEX, "DROP TABLE offer_outputs")

    assert refusal_of(ledger_url) == "there is no table offer_outputs"


@pytest.mark.parametrize("ledger_url", ["postgresql"], indirect=True)
def test_nothing_is_left_behind(ledger_url, remarks_on):
    tables = "SELECT oid, relname FROM pg_class ORDER BY oid"
    before = LedgerView(ledger_url).read(tables)

    remarks_on(ledger_url)

    assert LedgerView(ledger_url).read(tables) == before


NOT_COMPARED = "the tables were not compared: "


@pytest.mark.parametrize("ledger_url", ["postgresql"], indirect=True)
def test_a_read_only_server_is_started_on_without_a_comparison(ledger_url, remarks_on):
    with connected(ledger_url) as connection:
        name = connection.info.dbname
        connection.execute(
            f'ALTER DATABASE "{name}" SET default_transaction_read_only = on'
        )

    assert remarks_on(ledger_url) == [
        f"{NOT_COMPARED}cannot execute CREATE TABLE in a read-only transaction"
    ]


@pytest.mark.parametrize("ledger_url", ["postgresql"], indirect=True)
def test_a_role_without_temporary_tables_starts_without_a_comparison(
    ledger_url, remarks_on
):
    role = f"deeds_test_{secrets.token_hex(6)}"
    with connected(ledger_url) as connection:
        name = connection.info.dbname
        connection.execute(
            f"CREATE ROLE {role} LOGIN;"
            f" REVOKE TEMPORARY ON DATABASE {name} FROM PUBLIC;"
            f" GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role};"
            f" GRANT SELECT ON SEQUENCE operations_id_seq TO {role}"
        )
        try:
            lines = remarks_on(changed_url(ledger_url, user=role))
        finally:
            connection.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")

    assert lines == [
        (
            f"{NOT_COMPARED}permission denied to create temporary tables in database"
            f' "{name}"'
        )
    ]
