"""A start and an audit compare the tables with those that this code creates."""

import secrets

import pytest

from app import prepare
from tests.support.api import environ_of, stop_line
from tests.support.commanding import invoke, output_of
from tests.support.databases import changed_url, connected
from tests.support.ledger_view import LedgerView
from tests.support.migrating import NEXT, migrate_by, set_version, write_newer_code

SAID = "DATABASE_URL: the tables are not those of this code: "

KEY_INDEX = "CREATE UNIQUE INDEX operations_idempotency_key_hash ON operations"
TIMES = "CREATE INDEX times ON operations"
TRIGGER = "CREATE TRIGGER halve AFTER INSERT ON outputs"
AMOUNT = "amount BIGINT NOT NULL CHECK (amount BETWEEN 1 AND {})"
OUTPUT_KEY = "KEY (item_id, digest) REFERENCES outputs (item_id, digest)"
PLACE = "ALTER TABLE outputs ADD COLUMN place INTEGER DEFAULT 0"
SALT_CHECK = "items_salt_check CHECK (length(salt) = 16)"
DROP_KEY_INDEX = "DROP INDEX operations_idempotency_key_hash"
DROP_SALT_CHECK = "ALTER TABLE items DROP CONSTRAINT items_salt_check"


REWRITE = "UPDATE sqlite_master SET sql = replace(sql, '{}', '{}') WHERE name = '{}'"


def rewritten(table, old, new):
    """Return what changes a table in SQLite in ways that it has no ALTER for."""
    rewrite = (
        "UPDATE sqlite_master SET sql = replace(sql, '{}', '{}') WHERE name = '{}'"
    )
    return ("PRAGMA writable_schema = ON", rewrite.format(old, new, table))


# What is changed, and what is said of it.
ON_SQLITE = {
    "an index is missing": (
        (DROP_KEY_INDEX,),
        (
            f"operations lacks {KEY_INDEX} (idempotency_key_hash)"
            " WHERE idempotency_key_hash IS NOT NULL"
        ),
    ),
    "a check is missing": (
        rewritten("items", "CHECK (length(salt) = 16)", ""),
        (
            "items lacks salt BLOB NOT NULL CHECK (length(salt) = 16),"
            " items has salt BLOB NOT NULL"
        ),
    ),
    "a check is another": (
        rewritten("outputs", str(2**53 - 1), "9"),
        f"outputs lacks {AMOUNT.format(2**53 - 1)}, outputs has {AMOUNT.format(9)}",
    ),
    "a foreign key is missing": (
        rewritten("offer_inputs", f"FOREIGN {OUTPUT_KEY}", "CHECK (amount > 0)"),
        f"offer_inputs lacks FOREIGN {OUTPUT_KEY}, offer_inputs has CHECK (amount > 0)",
    ),
    "a column is of another type": (
        rewritten("items", "metadata TEXT", "metadata BLOB"),
        "items lacks metadata TEXT, items has metadata BLOB",
    ),
    "a column more": ((PLACE,), "outputs has place INTEGER DEFAULT 0"),
    "a table is missing": (
        ("DROP TABLE offer_outputs",),
        "there is no table offer_outputs",
    ),
    "a trigger more": (
        (f"{TRIGGER} BEGIN SELECT 1, 2; END",),
        f"outputs has {TRIGGER} BEGIN SELECT 1, 2; END",
    ),
    "a unique index more": (
        ("CREATE UNIQUE INDEX one ON outputs (amount)",),
        "outputs has CREATE UNIQUE INDEX one ON outputs (amount)",
    ),
}
ON_POSTGRESQL = {
    "an index is missing": (
        (DROP_KEY_INDEX,),
        (
            f"operations lacks {KEY_INDEX} USING btree (idempotency_key_hash)"
            " WHERE idempotency_key_hash IS NOT NULL"
        ),
    ),
    "a check is missing": ((DROP_SALT_CHECK,), f"items lacks {SALT_CHECK}"),
    "a check is another": (
        (DROP_SALT_CHECK, f"ALTER TABLE items ADD CONSTRAINT {SALT_CHECK} NOT VALID"),
        f"items lacks {SALT_CHECK}, items has {SALT_CHECK} NOT VALID",
    ),
    "a foreign key is missing": (
        ("ALTER TABLE offers DROP CONSTRAINT offers_created_by_fkey",),
        (
            "offers lacks offers_created_by_fkey"
            " FOREIGN KEY (created_by) REFERENCES operations(id)"
        ),
    ),
    "a check more": (
        ("ALTER TABLE outputs ADD CONSTRAINT few CHECK (amount < 9)",),
        "outputs has few CHECK (amount < 9)",
    ),
    "a column is of another type": (
        ("ALTER TABLE items ALTER metadata TYPE varchar(9)",),
        "items lacks metadata text, items has metadata character varying(9)",
    ),
    "a column may be empty": (
        ("ALTER TABLE operations ALTER kind DROP NOT NULL",),
        "operations lacks kind text NOT NULL, operations has kind text",
    ),
    "a column without its default": (
        ("ALTER TABLE operations ALTER id DROP DEFAULT",),
        (
            "operations lacks id bigint NOT NULL DEFAULT"
            " nextval('operations_id_seq'::regclass), operations has id bigint NOT NULL"
        ),
    ),
    "a column more": ((PLACE,), "outputs has place integer DEFAULT 0"),
    "a table is missing": (
        ("DROP TABLE offer_outputs",),
        "there is no table offer_outputs",
    ),
    "a table that a crash empties": (
        ("ALTER TABLE offer_outputs SET UNLOGGED",),
        "offer_outputs has UNLOGGED",
    ),
    "a trigger more": (
        (
            (
                "CREATE FUNCTION halve() RETURNS trigger LANGUAGE plpgsql"
                " AS 'BEGIN RETURN NULL; END'"
            ),
            f"{TRIGGER} FOR EACH ROW EXECUTE FUNCTION halve()",
        ),
        f"outputs has {TRIGGER} FOR EACH ROW EXECUTE FUNCTION halve()",
    ),
    "a rule": (
        ("CREATE RULE nothing AS ON INSERT TO outputs DO INSTEAD NOTHING",),
        "outputs has CREATE RULE nothing AS ON INSERT TO outputs DO INSTEAD NOTHING;",
    ),
    "a unique index more": (
        ("CREATE UNIQUE INDEX one ON outputs (amount)",),
        "outputs has CREATE UNIQUE INDEX one ON outputs USING btree (amount)",
    ),
}
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


@pytest.mark.parametrize("ledger_url", ["postgresql"], indirect=True)
def test_a_foreign_key_that_is_not_enforced_is_found(ledger_url, refusal_of):
    change(ledger_url, "ALTER TABLE items DISABLE TRIGGER ALL")

    said = refusal_of(ledger_url).split("; ")

    assert {each.partition('"')[0] for each in said} == {
        "items has disabled: CREATE CONSTRAINT TRIGGER "
    }


def test_an_audit_finds_what_stops_the_start(ledger_url, refusal_of):
    change(ledger_url, "DROP TABLE offer_outputs")

    ran = invoke(environ_of(ledger_url), "audit")

    assert (ran.exit_code, ran.stdout) == (1, "")
    assert ran.stderr.splitlines()[1:] == [
        f"  the tables are those of this code: {refusal_of(ledger_url)}"
    ]


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
