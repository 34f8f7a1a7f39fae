"""What the service asks of a session of PostgreSQL, and what it leaves in one."""

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url, text

from deeds.domain.errors import LedgerUnavailableError, StartError
from storage.engine import POSTGRESQL_CONNECT_ARGS, make_engine, parse_database_url
from storage.transactions import Transactions, ignore_retry, snapshot

NAMES = (
    "lock_timeout",
    "statement_timeout",
    "idle_in_transaction_session_timeout",
    "synchronous_commit",
)
PREPARED_AFTER = psycopg.Connection.connect.__kwdefaults__["prepare_threshold"]


@pytest.fixture
def set_default(postgres_url):
    """A function that sets what sessions of the database begin with, as an operator does."""

    def set_it(name, value):
        with psycopg.connect(postgres_url) as connection:
            database = sql.Identifier(make_url(postgres_url).database)
            statement = sql.SQL("ALTER DATABASE {} SET {} = {}")
            connection.execute(statement.format(database, sql.Identifier(name), value))

    return set_it


@pytest.fixture
def transactions(postgres_url):
    transactions = Transactions(make_engine(parse_database_url(postgres_url)), ignore_retry)
    yield transactions
    transactions.close()


def settings_of(connection):
    shown = ", ".join(f"current_setting('{name}')" for name in NAMES)
    return dict(zip(NAMES, connection.execute(text(f"SELECT {shown}")).one(), strict=True))


def pid_of(connection):
    return connection.execute(text("SELECT pg_backend_pid()")).scalar_one()


def prepare_threshold(url):
    engine = make_engine(parse_database_url(url))
    try:
        with engine.connect() as connection:
            return connection.connection.driver_connection.prepare_threshold
    finally:
        engine.dispose()


@pytest.mark.parametrize(
    ("default", "within"),
    [("off", "on"), ("on", "on"), ("local", "local"), ("remote_apply", "remote_apply")],
)
def test_a_write_is_bounded_and_its_commit_on_disk_whatever_the_default(
    set_default, transactions, default, within
):
    set_default("synchronous_commit", default)

    assert transactions.write(settings_of) == {
        "lock_timeout": "5s",
        "statement_timeout": "30s",
        "idle_in_transaction_session_timeout": "30s",
        "synchronous_commit": within,
    }


def test_a_write_leaves_nothing_in_its_session(set_default, transactions):
    set_default("synchronous_commit", "off")
    before, pid = transactions.read(settings_of), transactions.read(pid_of)

    transactions.write(settings_of)

    assert transactions.read(pid_of) == pid
    assert transactions.read(settings_of) == before
    assert before["lock_timeout"] == "0"


@pytest.mark.parametrize(("default", "of_reads"), [("0", "30s"), ("10ms", "10ms")])
def test_a_read_is_bounded_too_unless_the_operator_has_set_a_bound(
    set_default, transactions, default, of_reads
):
    set_default("statement_timeout", default)

    assert transactions.read(settings_of)["statement_timeout"] == of_reads


def test_a_read_that_takes_too_long_is_given_up(set_default, transactions):
    set_default("statement_timeout", "10ms")

    with pytest.raises(LedgerUnavailableError):
        transactions.read(lambda connection: connection.execute(text("SELECT pg_sleep(60)")))


def test_what_reads_the_whole_ledger_may_take_longer(set_default, postgres_url, transactions):
    set_default("statement_timeout", "10ms")
    engine = make_engine(parse_database_url(postgres_url))

    with snapshot(engine) as connection:
        connection.execute(text("SELECT pg_sleep(0.1)"))
    transactions.read_all(lambda connection: connection.execute(text("SELECT pg_sleep(0.1)")))
    engine.dispose()


@pytest.mark.parametrize(("given", "threshold"), [("0", 0), ("7", 7), ("None", None)])
def test_statements_are_prepared_as_the_url_says(postgres_url, given, threshold):
    url = make_url(postgres_url).update_query_dict({"prepare_threshold": given})

    assert prepare_threshold(url.render_as_string(hide_password=False)) == threshold


def test_statements_are_prepared_where_no_pooler_stands_between(postgres_url):
    assert prepare_threshold(postgres_url) == PREPARED_AFTER


@pytest.mark.parametrize("given", ["often", "-1", "1.5", "\u0661", "1&prepare_threshold=2"])
def test_a_threshold_that_is_no_number_stops_the_start(given):
    url = parse_database_url(f"postgresql://u@h/deeds?prepare_threshold={given}")

    with pytest.raises(StartError, match="DATABASE_URL must give prepare_threshold as a"):
        make_engine(url)


def test_the_url_can_change_how_a_connection_is_watched(postgres_url):
    url = make_url(postgres_url).update_query_dict({"keepalives_idle": "99"})
    engine = make_engine(parse_database_url(url.render_as_string(hide_password=False)))

    with engine.connect() as connection:
        told = connection.connection.driver_connection.info.get_parameters()
    engine.dispose()

    expected = POSTGRESQL_CONNECT_ARGS | {"keepalives_idle": 99}
    assert {name: told.get(name) for name in expected} == {
        name: str(value) for name, value in expected.items()
    }
