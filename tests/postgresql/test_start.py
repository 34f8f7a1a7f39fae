"""What is seen to before the service starts, and which databases are refused."""

import secrets
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from deeds.errors import StartError
from parts.postgresql import transaction
from storage import schema
from storage.repository import add_operation
from tests.support.api import environ_of, stop_line
from tests.support.databases import changed_url, connected

PASSWORD = "mark-7c1f9e"
PROCESSES_COUNT = 4


def refusal_of(database):
    """Return the line with which a start is refused."""
    with pytest.raises(StartError) as refused:
        database.check_start()
    assert PASSWORD not in refused.value.reason
    assert "\n" not in refused.value.reason
    return refused.value.reason


def test_tables_are_created_once_by_processes_that_do_it_at_once(
    postgres_url, open_database
):
    barrier = Barrier(PROCESSES_COUNT)

    def migrate(database):
        barrier.wait(20)
        return schema.migrate(database, [schema.CORE])

    databases = [open_database(postgres_url) for _ in range(PROCESSES_COUNT)]
    with ThreadPoolExecutor(PROCESSES_COUNT) as pool:
        changes = list(pool.map(migrate, databases))

    assert sorted(map(len, changes)) == [0, 0, 0, 1]


def test_tables_of_another_schema_are_not_ours(own_url, open_database):
    with connected(own_url) as other:
        other.execute("CREATE SCHEMA ours; CREATE TABLE ours.one (id bigint)")

    ours = open_database(changed_url(own_url, options="-csearch_path=ours,public"))

    assert ours.table_names() == {"one"}


def test_a_work_that_fails_creates_nothing(postgres_url, open_database):
    database = open_database(postgres_url)

    def work(transaction):
        transaction.execute("CREATE TABLE one (id INTEGER PRIMARY KEY)")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        database.create(work)

    assert database.table_names() == set()


def test_a_change_of_tables_has_the_time_it_needs(set_default, database, monkeypatch):
    set_default("statement_timeout", "100ms")
    short = transaction.BEGIN.replace("'9s'", "'100ms'")
    monkeypatch.setattr("parts.postgresql.database.BEGIN", short)
    monkeypatch.setattr("parts.postgresql.connections.SET_UP_SECONDS_MAX", 0.5)

    database.create(lambda transaction: transaction.execute("SELECT pg_sleep(0.6)"))


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"host": "127.0.0.1", "port": "1"}, "refused"),
        ({"database": "no_such"}, '"no_such" does not exist'),
        ({"options": "-c statement_timeout=long"}, '"statement_timeout": "long"'),
        ({"connect_timeout": "soon"}, "bad value for connect_timeout: 'soon'"),
    ],
)
def test_what_cannot_be_opened_stops_the_start_in_one_line(
    postgres, open_database, changes, cause
):
    url = changed_url(postgres.admin_url, password=PASSWORD, **changes)

    line = refusal_of(open_database(url))

    assert line.startswith("DATABASE_URL: the database cannot be opened: ")
    assert cause in line


def test_a_missing_right_to_create_tables_stops_the_start(own_url, open_database):
    role = f"deeds_test_{secrets.token_hex(6)}"
    with connected(own_url) as other:
        other.execute(f"CREATE ROLE {role} LOGIN")
        database = open_database(changed_url(own_url, user=role))
        with pytest.raises(StartError) as refused:
            database.create(lambda opened: opened.execute("CREATE TABLE one (id int)"))
        other.execute(f"DROP ROLE {role}")

    assert refused.value.reason == (
        "DATABASE_URL: the database cannot be opened: permission denied for schema"
        " public"
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        # As after a restore of the rows alone: each id would be taken.
        ("RESTART", "the next id of an operation is 1, and there is 1 already"),
        ("CACHE 20", "each session caches 20 ids of operations, which must ascend"),
    ],
)
def test_ids_that_would_not_ascend_stop_the_start_and_the_advice_helps(
    own_url, open_database, change, said
):
    database = open_database(own_url)
    database.write(lambda opened, _: add_operation(opened, "mint", None), None)
    with connected(own_url) as other:
        other.execute(f"ALTER SEQUENCE operations_id_seq {change}")
        line, _, advice = refusal_of(database).partition("; run: ")
        other.execute(advice)

    assert line == f"DATABASE_URL: {said}"
    database.check_start()


def test_where_all_statements_are_prepared_the_ledger_is_compared_and_read(
    own_url, open_database
):
    database = open_database(f"{own_url}&prepare_threshold=0")
    tables = "CREATE TABLE one (id INTEGER)"

    assert database.run_in_scratch(lambda opened: [opened.execute(tables)])
    with database.snapshot() as read:
        assert read("SELECT count(*) FROM items") == [(0,)]
    assert database.write(lambda opened, _: add_operation(opened, "mint", None), None)


def test_a_database_that_cannot_hold_all_text_is_refused(
    postgres, open_database, other
):
    """Metadata may be any Unicode text: some mints would be answered 500 there."""
    name = f"narrow_{secrets.token_hex(6)}"
    other.execute(
        f"CREATE DATABASE {name} ENCODING SQL_ASCII TEMPLATE template0 LOCALE 'C'"
    )

    line = refusal_of(open_database(changed_url(postgres.admin_url, database=name)))

    other.execute(f"DROP DATABASE {name} WITH (FORCE)")
    assert line == (
        "DATABASE_URL: the database cannot be opened: its encoding is SQL_ASCII; it"
        " must be UTF8"
    )


@pytest.mark.parametrize(
    "version",
    [
        "CockroachDB CCL v25.4.5 (x86_64-pc-linux-gnu, built 2026/01/05 16:00:00)",
        "PostgreSQL 15.2-YB-2025.2.2.2-b0 on x86_64-pc-linux-gnu, 64-bit",
        "PostgreSQL 12.12 (Greenplum Database 7.1.0 build commit:e7c2b1f) on x86_64",
    ],
    ids=["CockroachDB", "YugabyteDB", "Greenplum"],
)
def test_a_database_that_is_not_postgresql_is_refused(own_url, open_database, version):
    with connected(own_url) as other:
        other.execute(
            "CREATE FUNCTION public.version() RETURNS text LANGUAGE sql"
            f" AS $$ SELECT '{version}' $$"
        )
    # A session then finds this function before PostgreSQL's own.
    ours_first = changed_url(own_url, options="-csearch_path=public,pg_catalog")

    line = refusal_of(open_database(ours_first))

    assert line == (
        "DATABASE_URL: the database cannot be opened: the ledger needs PostgreSQL"
        f" itself, and this is {version}"
    )


def test_a_first_start_where_nothing_can_be_written_stops_in_one_line(
    own_url, open_app
):
    """It would record the hash policy of the settings."""
    read_only = changed_url(own_url, options="-c default_transaction_read_only=on")

    line = stop_line(open_app, environ_of(read_only))

    assert line == "DATABASE_URL: the database is read-only"
