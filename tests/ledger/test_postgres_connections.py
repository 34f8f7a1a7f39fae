"""Connections to PostgreSQL.

Bounded and kept, set up for each transaction, replaced when lost.
"""

from contextlib import ExitStack

import psycopg
import pytest
from psycopg.pq import TransactionStatus
from sqlalchemy import make_url, text

import storage.engine
from deeds.domain.errors import LedgerUnavailableError, OverloadedError
from storage.engine import POOL_SIZE, POSTGRESQL_OPTIONS
from storage.last_operations import LastOperations
from storage.transactions import Transactions, snapshot
from tests.support.hooks import AtWrite, hooked, is_writer
from tests.support.requests import check, mint, refusal, swap

pytestmark = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)

# What a swap sends between BEGIN and COMMIT.
STATEMENTS_COUNT = 3
# What a look at the last operations sends.
LOOK_COUNT = 2
BOUNDS = {
    "lock_timeout": "5s",
    "statement_timeout": "30s",
    "idle_in_transaction_session_timeout": "30s",
}
PREPARED_AFTER = psycopg.Connection.connect.__kwdefaults__["prepare_threshold"]


@pytest.fixture
def engine(database_url, open_engine):
    return open_engine(database_url)


@pytest.fixture
def open_transactions(monkeypatch):
    """A function that opens transactions, whose records are functions, on an engine."""
    write_record = lambda connection, record: record(connection)  # noqa: E731
    monkeypatch.setattr("storage.transactions.write_record", write_record)

    def open_one(engine, on_retry=None):
        last = LastOperations(engine, None)
        stack.callback(last.close)
        return Transactions(engine, last, on_retry)

    with ExitStack() as stack:
        yield open_one


@pytest.fixture
def set_default(other):
    """A function that sets what sessions of the database begin with."""
    alter = f'ALTER DATABASE "{other.info.dbname}"'
    yield lambda name, value: other.execute(f"{alter} SET {name} = '{value}'")
    other.execute(f"{alter} RESET ALL")


@pytest.fixture
def cut_off(other):
    """A function that ends the server's side of a connection."""

    def end(connection):
        pid = connection.connection.driver_connection.info.backend_pid
        other.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])

    return end


def settings_of(connection):
    names = [*BOUNDS, "synchronous_commit"]
    shown = ", ".join(f"current_setting('{name}')" for name in names)
    return dict(
        zip(names, connection.execute(text(f"SELECT {shown}")).one(), strict=True)
    )


def backend_of(connection):
    return connection.execute(text("SELECT pg_backend_pid()")).scalar_one()


def test_connections_of_a_burst_are_kept_and_a_quiet_time_uses_one(
    engine,
):
    def backends_of_a_burst():
        with ExitStack() as stack:
            opened = [stack.enter_context(engine.connect()) for _ in range(POOL_SIZE)]
            return {backend_of(connection) for connection in opened}

    burst, quiet = backends_of_a_burst(), set()
    for _ in range(3):
        with engine.connect() as connection:
            quiet.add(backend_of(connection))

    assert len(burst) == POOL_SIZE
    assert len(quiet) == 1
    assert backends_of_a_burst() == burst


def test_a_wait_for_a_connection_that_takes_too_long_is_an_overload(
    database_url, open_engine, open_transactions, monkeypatch
):
    monkeypatch.setattr(storage.engine, "POOL_SIZE", 1)
    monkeypatch.setattr(storage.engine, "POOL_TIMEOUT_S", 0.05)
    engine = open_engine(database_url)
    transactions = open_transactions(engine)

    with engine.connect():
        for ask in (transactions.read, transactions.write):
            with pytest.raises(
                OverloadedError, match="too many requests are waiting for the"
            ):
                ask(backend_of)

    assert transactions.read(backend_of) == transactions.write(backend_of)


def test_a_read_leaves_no_transaction_open(client):
    """There is nothing to undo, and ending one would cost a round trip."""
    item = mint(client, "+5.a")
    statuses = []

    def note(connection, *_):
        statuses.append(connection.connection.driver_connection.info.transaction_status)

    with hooked("after_cursor_execute", note):
        check(client, f"+5.{item}.a")

    assert statuses == [TransactionStatus.IDLE] * 2


@pytest.mark.parametrize(
    ("default", "within"),
    [("off", "on"), ("local", "local"), ("remote_apply", "remote_apply")],
)
def test_a_write_is_bounded_on_disk_and_leaves_nothing_in_its_session(
    set_default, engine, open_transactions, default, within
):
    transactions = open_transactions(engine)
    set_default("synchronous_commit", default)
    before, pid = transactions.read(settings_of), transactions.read(backend_of)

    assert transactions.write(settings_of) == BOUNDS | {"synchronous_commit": within}
    assert transactions.read(backend_of) == pid
    assert transactions.read(settings_of) == before
    assert (before["lock_timeout"], before["synchronous_commit"]) == ("0", default)


def test_a_read_is_bounded_unless_the_operator_has_set_a_bound(
    set_default, engine, open_transactions
):
    transactions = open_transactions(engine)

    def sleep(seconds):
        return lambda connection: connection.execute(
            text(f"SELECT pg_sleep({seconds})")
        )

    unbounded = transactions.read(settings_of)["statement_timeout"]
    transactions.close()
    set_default("statement_timeout", "10ms")

    assert unbounded == "30s"
    assert transactions.read(settings_of)["statement_timeout"] == "10ms"
    with pytest.raises(LedgerUnavailableError):
        transactions.read(sleep(60))
    with snapshot(engine) as connection:
        assert settings_of(connection)["statement_timeout"] == "0"


@pytest.mark.parametrize(
    ("given", "threshold"),
    [
        ({"prepare_threshold": "0"}, 0),
        ({"prepare_threshold": "None"}, None),
        ({}, PREPARED_AFTER),
    ],
)
def test_the_url_says_how_a_connection_prepares_and_is_watched(
    database_url, open_engine, given, threshold
):
    watched = {"keepalives_idle": "99"}
    url = make_url(database_url).update_query_dict(given | watched)
    with open_engine(url.render_as_string(hide_password=False)).connect() as connection:
        driver = connection.connection.driver_connection

        assert driver.prepare_threshold == threshold
        assert (
            driver.info.get_parameters().items()
            >= (POSTGRESQL_OPTIONS | watched).items()
        )


@pytest.mark.parametrize("number", range(STATEMENTS_COUNT))
def test_a_swap_cut_off_before_a_statement_is_made_once_all_the_same(
    client, ledger, cut_off, number
):
    item = mint(client, "+5.a", "+7.b")
    cut = AtWrite(number, cut_off)

    with hooked("before_cursor_execute", cut):
        answer = swap(
            client, [f"+5.{item}.a", f"+7.{item}.b"], [f"+4.{item}.{s}" for s in "cde"]
        )

    # Those of the first try, up to the cut, and all of the second one, on a connection
    # on which the last operations are looked for.
    assert cut.statements_count == number + 1 + LOOK_COUNT + STATEMENTS_COUNT
    assert answer.status_code == 200
    assert ledger.live(item) == [4, 4, 4]


def test_a_connection_is_replaced_once_and_then_the_database_is_away(
    engine, cut_off, open_transactions
):
    reasons = []
    transactions = open_transactions(engine, reasons.append)

    def break_off(connection):
        cut_off(connection)
        connection.exec_driver_sql("SELECT 1")

    for ask in (transactions.read, transactions.write):
        with pytest.raises(LedgerUnavailableError):
            ask(break_off)

    assert reasons == ["disconnect"] * 2


@pytest.mark.parametrize("has_arrived", [False, True])
def test_a_commit_that_breaks_off_is_in_doubt_and_the_key_brings_certainty(
    client, ledger, cut_off, has_arrived
):
    cut = []

    def commit_or_not_and_cut_off(connection):
        if cut or not is_writer(connection):
            return
        cut.append(connection)
        driver = connection.connection.driver_connection
        if has_arrived:
            driver.execute("COMMIT")
            driver.execute("BEGIN")
        cut_off(connection)

    item = mint(client, "+5.a")
    request = ([f"+5.{item}.a"], [f"+5.{item}.b"], "order 17")

    with hooked("commit", commit_or_not_and_cut_off):
        doubtful = swap(client, *request)
    states = check(client, f"+5.{item}.a", f"+5.{item}.b")
    again = swap(client, *request)

    assert refusal(doubtful) == (503, "ledger_in_doubt", None)
    assert int(doubtful.headers["Retry-After"]) >= 1
    assert states == (["spent", "unspent"] if has_arrived else ["unspent", "unknown"])
    replayed = again.headers.get("Idempotency-Replayed")
    assert (again.status_code, replayed) == (200, "true" if has_arrived else None)
    assert ledger.live(item) == [5]
