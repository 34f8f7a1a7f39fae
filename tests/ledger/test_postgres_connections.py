"""Connections to PostgreSQL.

Bounded and kept, set up for each transaction, replaced when lost.
"""

import inspect
from contextlib import ExitStack

import psycopg
import pytest
from psycopg.pq import TransactionStatus
from sqlalchemy import Connection, make_url, text

from deeds.domain.errors import LedgerUnavailableError, OverloadedError
from storage.engine import POOL_SIZE, POSTGRESQL_OPTIONS
from storage.last_operations import LastOperations
from storage.transactions import SECONDS_MAX, STATEMENT_TIMEOUT, Transactions, snapshot
from tests.support.api import SUCCESS, good, refusal
from tests.support.databases import on_postgresql
from tests.support.leftovers import AtWrite, hooked, is_writer

pytestmark = on_postgresql

# What a swap sends between BEGIN and COMMIT.
STATEMENTS_COUNT = 3
# What a look at the last operations sends.
LOOK_COUNT = 2
BOUNDS = {
    "lock_timeout": "5s",
    "statement_timeout": STATEMENT_TIMEOUT,
    "idle_in_transaction_session_timeout": "30s",
}
OPTIONS = inspect.signature(psycopg.Connection.connect).parameters
PREPARED_AFTER = OPTIONS["prepare_threshold"].default
READS_AND_WRITES = pytest.mark.parametrize(
    "ask", [Transactions.read, Transactions.write]
)


@pytest.fixture
def pool_size():
    return POOL_SIZE


@pytest.fixture
def engine(database_url, open_engine, pool_size):
    return open_engine(database_url, pool_size=pool_size)


@pytest.fixture
def transactions(engine, monkeypatch):
    """Transactions whose records are functions of a connection."""
    monkeypatch.setattr(
        "storage.transactions.write_record",
        lambda connection, record: record(connection),
    )
    last = LastOperations(engine)
    yield Transactions(engine, last, None, SECONDS_MAX)
    last.close()


@pytest.fixture
def cut_off(other):
    """A function that ends the server's side of a connection."""
    end = "SELECT pg_terminate_backend(%s, 10000)"
    return lambda connection: other.execute(
        end, [connection.connection.driver_connection.info.backend_pid]
    )


def settings_of(connection):
    names = ", ".join(
        f"current_setting('{name}') AS {name}"
        for name in [*BOUNDS, "synchronous_commit"]
    )
    return dict(connection.execute(text(f"SELECT {names}")).mappings().one())


def backend_of(connection):
    return connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()


def test_connections_of_a_burst_are_kept_and_a_quiet_time_uses_one(engine):
    backends = []
    for connections_count in (POOL_SIZE, 1, 1, POOL_SIZE):
        with ExitStack() as stack:
            opened = [
                stack.enter_context(engine.connect()) for _ in range(connections_count)
            ]
            backends.append({backend_of(each) for each in opened})

    first_burst, quiet, still_quiet, second_burst = backends
    assert len(first_burst) == POOL_SIZE
    assert quiet == still_quiet
    assert second_burst == first_burst


@pytest.fixture
def little_time(monkeypatch):
    monkeypatch.setattr("storage.engine.POOL_TIMEOUT_S", 0.05)


@pytest.mark.usefixtures("little_time")
@pytest.mark.parametrize("pool_size", [1])
@READS_AND_WRITES
def test_a_wait_for_a_connection_that_takes_too_long_is_an_overload(
    engine, transactions, ask
):
    refused = pytest.raises(OverloadedError, match="too many requests are waiting for")
    with engine.connect(), refused:
        ask(transactions, backend_of)

    assert ask(transactions, backend_of) == transactions.read(backend_of)


def test_a_read_leaves_no_transaction_open(api):
    """There is nothing to undo, and ending one would cost a round trip."""
    item = api.mint("+5.a")
    statuses = []

    def note(connection, *_):
        statuses.append(connection.connection.driver_connection.info.transaction_status)

    with hooked("after_cursor_execute", note):
        api.check(f"+5.{item}.a")

    assert statuses == [TransactionStatus.IDLE] * 2


@pytest.mark.parametrize(
    ("default", "within"),
    [("off", "on"), ("local", "local"), ("remote_apply", "remote_apply")],
)
def test_a_write_is_bounded_on_disk_and_leaves_nothing_in_its_session(
    set_default, transactions, default, within
):
    set_default("synchronous_commit", default)
    before, pid = transactions.read(settings_of), transactions.read(backend_of)

    assert transactions.write(settings_of) == BOUNDS | {"synchronous_commit": within}

    assert transactions.read(backend_of) == pid
    assert transactions.read(settings_of) == before
    assert before == {
        "lock_timeout": "0",
        "statement_timeout": STATEMENT_TIMEOUT,
        "idle_in_transaction_session_timeout": "0",
        "synchronous_commit": default,
    }


def test_a_read_has_the_operators_bound_and_a_snapshot_none(
    set_default, engine, transactions
):
    set_default("statement_timeout", "1s")

    assert transactions.read(settings_of)["statement_timeout"] == "1s"
    with pytest.raises(LedgerUnavailableError):
        transactions.read(Connection.exec_driver_sql, "SELECT pg_sleep(60)")
    with snapshot(engine) as connection:
        assert settings_of(connection)["statement_timeout"] == "0"


@pytest.mark.parametrize(
    ("given", "threshold"),
    [
        ({"prepare_threshold": "0"}, 0),
        ({"prepare_threshold": "None"}, None),
        ({}, PREPARED_AFTER),
    ],
    ids=["at once", "never", "default"],
)
def test_the_url_says_how_a_connection_prepares_and_is_watched(
    database_url, open_engine, given, threshold
):
    watched = {"keepalives_idle": "99"}
    url = make_url(database_url).update_query_dict(given | watched)
    with open_engine(url.render_as_string(hide_password=False)).connect() as connection:
        driver = connection.connection.driver_connection

        parameters = driver.info.get_parameters()
        assert driver.prepare_threshold == threshold
        assert parameters | POSTGRESQL_OPTIONS | watched == parameters


@pytest.mark.parametrize("number", range(STATEMENTS_COUNT))
def test_a_swap_cut_off_before_a_statement_is_made_once_all_the_same(
    api, ledger, cut_off, number
):
    item = api.mint("+5.a", "+7.b")
    cut = AtWrite(number, cut_off)

    with hooked("before_cursor_execute", cut):
        answer = api.swap(
            [f"+5.{item}.a", f"+7.{item}.b"], [f"+4.{item}.{each}" for each in "cde"]
        )

    # Those of the first try, up to the cut, and all of the second one, on a connection
    # on which the last operations are looked for.
    assert cut.statements_count == number + 1 + LOOK_COUNT + STATEMENTS_COUNT
    assert good(answer) == SUCCESS
    assert ledger.live(item) == [4, 4, 4]


@READS_AND_WRITES
def test_a_connection_is_replaced_once_and_then_the_database_is_away(
    transactions, cut_off, monkeypatch, ask
):
    reasons = []
    monkeypatch.setattr(transactions, "_on_retry", reasons.append)

    def break_off(connection):
        cut_off(connection)
        connection.exec_driver_sql("SELECT 1")

    with pytest.raises(LedgerUnavailableError):
        ask(transactions, break_off)

    assert reasons == ["disconnect"]


@READS_AND_WRITES
def test_a_server_that_does_not_answer_is_left_at_the_deadline(
    transactions, monkeypatch, ask
):
    backend, reasons = transactions.read(backend_of), []
    monkeypatch.setattr(transactions, "_on_retry", reasons.append)
    monkeypatch.setattr(transactions, "_seconds_max", 0.1)

    with pytest.raises(LedgerUnavailableError):
        ask(transactions, lambda each: each.exec_driver_sql("SELECT pg_sleep(60)"))

    # A second try would take as long again.
    assert reasons == []
    assert transactions.read(backend_of) != backend


@pytest.mark.parametrize(
    ("has_arrived", "states", "replayed"),
    [(False, ["unspent", "unknown"], None), (True, ["spent", "unspent"], "true")],
    ids=["undone", "arrived"],
)
def test_a_commit_that_breaks_off_is_in_doubt_and_the_key_brings_certainty(
    api, ledger, cut_off, *, has_arrived, states, replayed
):
    item = api.mint("+5.a")
    request = ([f"+5.{item}.a"], [f"+5.{item}.b"], "order 17")
    cut = []

    def commit_or_not_and_cut_off(connection):
        if cut or not is_writer(connection):
            return
        cut.append(connection)
        if has_arrived:
            connection.connection.driver_connection.execute("COMMIT")
            connection.connection.driver_connection.execute("BEGIN")
        cut_off(connection)

    with hooked("commit", commit_or_not_and_cut_off):
        doubtful = api.swap(*request)
    found = api.check(f"+5.{item}.a", f"+5.{item}.b")
    again = api.swap(*request)

    assert refusal(doubtful) == (503, "ledger_in_doubt", None)
    assert found == states
    assert good(again) == SUCCESS
    assert again.headers.get("Idempotency-Replayed") == replayed
    assert ledger.live(item) == [5]
