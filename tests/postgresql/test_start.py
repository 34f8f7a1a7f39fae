"""What is seen to before the service starts, and which databases are refused."""

import re
import secrets
import socket
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from deeds.errors import LedgerUnavailableError, StartError
from deeds.model import Output
from parts.postgresql import transaction
from storage import schema
from storage.repository import Repository, add_operation
from tests.postgresql.records import POLICY, mint_of, states
from tests.support.databases import changed_url, connected

PASSWORD = "mark-7c1f9e"
PROCESSES_COUNT = 4
CORE = {"hash_policies", "items", "operations", "outputs", "schema_version"}
OTHER = "CockroachDB CCL v25.4.5 (x86_64-pc-linux-gnu, built 2026/01/05 16:00:00)"
STARTS = pytest.mark.parametrize(
    "start",
    [
        lambda database: database.create(lambda _: None),
        lambda database: database.table_names(),
        lambda database: database.check_start(),
    ],
    ids=["create", "table_names", "check_start"],
)


def refusal_of(start, database):
    """Return the line with which a start is refused."""
    with pytest.raises(StartError) as refused:
        start(database)
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
    assert databases[0].table_names() == CORE


def test_the_tables_keep_what_the_core_says_of_them(postgres_url, open_database):
    database = open_database(postgres_url)
    before = database.table_names()
    schema.migrate(database, [schema.CORE])
    database.check_start()
    repository = Repository(database)

    digest = Output("deed_1", secrets.token_bytes(32), 2**53 - 1)
    repository.open_policies(POLICY)
    repository.mint(mint_of(digest))

    assert before == set()
    assert states(repository, digest) == ["unspent"]


def test_tables_of_another_schema_are_not_ours(postgres_url, open_database):
    database = open_database(postgres_url)
    schema.migrate(database, [schema.CORE])
    with connected(postgres_url) as other:
        other.execute("CREATE SCHEMA ours; CREATE TABLE ours.one (id bigint)")

    ours = open_database(changed_url(postgres_url, options="-csearch_path=ours,public"))

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
    set_default("statement_timeout", "500ms")
    short = transaction.BEGIN.replace("'9s'", "'500ms'")
    monkeypatch.setattr("parts.postgresql.database.BEGIN", short)
    monkeypatch.setattr("parts.postgresql.connections.SET_UP_SECONDS_MAX", 1.0)

    database.create(lambda transaction: transaction.execute("SELECT pg_sleep(1.2)"))


@STARTS
def test_an_absent_server_stops_the_start_in_one_line(open_database, start):
    # Bound but not listening: no other process can take it.
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        url = f"postgresql://deeds:{PASSWORD}@127.0.0.1:{port}/deeds"
        line = refusal_of(start, open_database(url))

    assert line.startswith("DATABASE_URL: the database cannot be opened: ")
    assert "refused" in line


@STARTS
@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({"sslmode": "maybe"}, 'invalid sslmode value: "maybe"'),
        ({"connect_timeout": "soon"}, "bad value for connect_timeout: 'soon'"),
        ({"port": "1,2,3"}, "port numbers"),
        ({"options": "-c statement_timeout=long"}, '"statement_timeout": "long"'),
        ({"hostaddr": "here"}, 'could not parse network address "here"'),
        ({"require_auth": "much"}, 'invalid require_auth value: "much"'),
        ({"service": "none"}, 'definition of service "none" not found'),
    ],
    ids=lambda each: "" if isinstance(each, str) else next(iter(each)),
)
def test_an_option_that_cannot_be_used_stops_the_start_in_one_line(
    postgres, open_database, start, options, cause
):
    url = changed_url(postgres.admin_url, **options)

    assert cause in refusal_of(start, open_database(url))


@STARTS
def test_an_absent_database_stops_the_start_in_one_line(postgres, open_database, start):
    url = changed_url(postgres.admin_url, database="no_such")
    url = url.replace("@", f":{PASSWORD}@", 1)

    line = refusal_of(start, open_database(url))

    assert re.search('^DATABASE_URL: .*"no_such" does not exist', line)


def test_a_missing_right_to_create_tables_stops_the_start(own_url, open_database):
    role = f"deeds_test_{secrets.token_hex(6)}"
    with connected(own_url) as other:
        other.execute(f"CREATE ROLE {role} LOGIN")
        try:
            database = open_database(changed_url(own_url, user=role))
            line = refusal_of(
                lambda _: database.create(
                    lambda transaction: transaction.execute("CREATE TABLE one (id int)")
                ),
                database,
            )
        finally:
            other.execute(f"DROP ROLE {role}")

    assert line == (
        "DATABASE_URL: the database cannot be opened: permission denied for schema"
        " public"
    )


def write_operation(opened, _record):
    return add_operation(opened, "mint", None)


def test_a_sequence_that_is_behind_stops_the_start_and_the_advice_helps(
    own_url, open_database
):
    """As after a restore of the rows alone: each id would be taken."""
    database = open_database(own_url)
    written = database.write(
        lambda opened, _: add_operation(opened, "mint", None), None
    )
    with connected(own_url) as other:
        other.execute("ALTER SEQUENCE operations_id_seq RESTART")
        line = refusal_of(lambda subject: subject.check_start(), database)
        advice = line.partition("; run: ")[2]
        other.execute(advice)

    assert line.startswith(
        f"DATABASE_URL: the next id of an operation is 1, and there is {written.id}"
    )
    database.check_start()


def test_where_all_statements_are_prepared_the_ledger_is_compared_and_read(
    own_url, open_database
):
    database = open_database(f"{own_url}&prepare_threshold=0")
    tables = "CREATE TABLE one (id INTEGER)"

    assert database.run_in_scratch(lambda opened: [opened.execute(tables)])
    with database.snapshot() as read:
        assert read("SELECT count(*) FROM items") == [(0,)]
    assert database.write(write_operation, None)


def test_sessions_that_cache_ids_stop_the_start_and_the_advice_helps(
    own_url, open_database
):
    database = open_database(own_url)
    with connected(own_url) as other:
        other.execute("ALTER SEQUENCE operations_id_seq CACHE 20")
        line = refusal_of(lambda each: each.check_start(), database)
        said, _, advice = line.partition("; run: ")
        other.execute(advice)

    assert said == (
        "DATABASE_URL: each session caches 20 ids of operations, which must ascend"
    )
    database.check_start()


@STARTS
@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_cannot_hold_all_text_is_refused(
    postgres, open_database, other, encoding, start
):
    """Metadata may be any Unicode text: some mints would be answered 500 there."""
    name = f"narrow_{secrets.token_hex(6)}"
    other.execute(
        f"CREATE DATABASE {name} ENCODING {encoding} TEMPLATE template0 LOCALE 'C'"
    )
    database = open_database(changed_url(postgres.admin_url, database=name))

    line = refusal_of(start, database)

    other.execute(f"DROP DATABASE {name} WITH (FORCE)")
    assert line == (
        "DATABASE_URL: the database cannot be opened: its encoding is"
        f" {encoding}; it must be UTF8"
    )


def test_the_url_cannot_change_how_text_is_sent(database_url, open_database):
    """libpq takes an encoding from the URL that could not say every name."""
    database = open_database(changed_url(database_url, client_encoding="latin1"))

    assert database.read("SELECT ?::text", ("\U0001f3e1",)) == [("\U0001f3e1",)]


@pytest.fixture
def become(own_url):
    """A function that lets new sessions see another product, or PostgreSQL again."""
    with connected(own_url) as other:
        alter = f'ALTER DATABASE "{other.info.dbname}"'

        def become_it(version):
            if version is None:
                other.execute(f"{alter} RESET search_path")
                return
            other.execute(
                "CREATE FUNCTION public.version() RETURNS text LANGUAGE sql"
                f" AS $$ SELECT '{version}' $$"
            )
            # A session then finds this function before PostgreSQL's own.
            other.execute(f"{alter} SET search_path = public, pg_catalog")

        yield become_it


@pytest.mark.parametrize(
    "version",
    [
        OTHER,
        "PostgreSQL 15.2-YB-2025.2.2.2-b0 on x86_64-pc-linux-gnu, 64-bit",
        "PostgreSQL 12.12 (Greenplum Database 7.1.0 build commit:e7c2b1f) on x86_64",
    ],
    ids=["CockroachDB", "YugabyteDB", "Greenplum"],
)
def test_a_database_that_is_not_postgresql_is_refused(
    become, own_url, open_database, version
):
    become(version)

    line = refusal_of(lambda each: each.table_names(), open_database(own_url))

    assert line == (
        "DATABASE_URL: the database cannot be opened: the ledger needs PostgreSQL"
        f" itself, and this is {version}"
    )


def test_one_that_is_replaced_by_another_product_is_away_until_it_is_back(
    become, own_url, open_database, caplog
):
    """A request never ends with a StartError."""
    database = open_database(own_url)
    become(OTHER)

    for ask in (
        database.read,
        database.probe,
        lambda sql: database.read_each(sql, [()]),
    ):
        with pytest.raises(LedgerUnavailableError):
            ask("SELECT 1")
    with pytest.raises(LedgerUnavailableError), database.snapshot():
        pass
    become(None)

    [line] = caplog.records
    assert (line.event, line.fields) == (
        "database",
        {"error": "OperationalError", "database_code": None},
    )
    assert line.getMessage() == (
        f"the ledger needs PostgreSQL itself, and this is {OTHER}"
    )
    assert database.read("SELECT 1") == [(1,)]
