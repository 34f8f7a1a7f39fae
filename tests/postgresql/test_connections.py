"""Connections are bounded and kept, set up for a transaction, replaced when lost."""

import multiprocessing
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from deeds.errors import LedgerUnavailableError, OverloadedError
from parts.postgresql.connections import STATEMENT_TIMEOUT
from parts.postgresql.pool import POOL_SIZE
from storage.database import NO_OPERATION
from storage.repository import write_swap
from tests.postgresql.records import (
    PROBE,
    READ_BACKEND,
    SESSIONS,
    STATEMENTS_COUNT,
    ask,
    ask_backend,
    backend_of,
    mint_of,
    nested,
    new_output,
    states,
    swap_interrupted,
    swap_of,
)
from tests.support.databases import changed_url
from tests.support.waiting import wait_until

READS_AND_WRITES = pytest.mark.parametrize("how", ["read", "write"])
BOUNDS = {
    "lock_timeout": "5s",
    "statement_timeout": STATEMENT_TIMEOUT,
    "idle_in_transaction_session_timeout": "30s",
}
SETTINGS = [*BOUNDS, "synchronous_commit"]
READ_SETTINGS = "SELECT " + ", ".join(f"current_setting('{name}')" for name in SETTINGS)
SLEEP = "SELECT pg_sleep(60)"


def test_connections_of_a_burst_are_kept_and_a_quiet_time_uses_one(database):
    bursts = [nested(database, count) for count in (POOL_SIZE, 1, 1, POOL_SIZE)]

    first_burst, quiet, still_quiet, second_burst = bursts
    assert len(first_burst) == POOL_SIZE
    assert quiet == still_quiet
    assert second_burst == first_burst


@READS_AND_WRITES
def test_a_wait_for_a_connection_that_takes_too_long_is_an_overload(
    database, monkeypatch, how
):
    monkeypatch.setattr("parts.postgresql.pool.POOL_TIMEOUT_S", 0.05)

    def wait():
        with pytest.raises(OverloadedError, match="too many requests are waiting for"):
            ask_backend(database, how)

    used = nested(database, POOL_SIZE, wait)

    # Who has gone takes none of them.
    assert nested(database, POOL_SIZE) == used


def test_who_waits_for_a_connection_gets_one_in_turn_and_a_probe_the_next(
    database_url, open_database, after_execute
):
    database, served = open_database(database_url, pool_size=1), []

    def serve(number):
        database.write(lambda *_: served.append(number) or NO_OPERATION, None)

    with (
        after_execute("AS probed", lambda _: served.append("probe")),
        ThreadPoolExecutor() as threads,
    ):

        def send(*arguments):
            waiting_count = len(database._pool._waiting)
            threads.submit(*arguments)
            wait_until(lambda: len(database._pool._waiting) > waiting_count)

        def send_all():
            for number in range(3):
                send(serve, number)
            send(database.probe, "SELECT 1 AS probed")

        nested(database, 1, send_all)

    assert served == ["probe", 0, 1, 2]


def test_a_probe_fails_as_requests_do_where_no_connection_becomes_free(
    database, monkeypatch
):
    monkeypatch.setattr("parts.postgresql.pool.POOL_TIMEOUT_S", 0.05)

    def probe():
        with pytest.raises(OverloadedError):
            database.probe(PROBE)

    nested(database, POOL_SIZE, probe)

    assert database.probe(PROBE) == [(1,)]


def test_nothing_is_opened_or_started_before_it_is_used(
    open_database, database_url, other
):
    threads_count = threading.active_count()
    # The server ends the session that made the tables in its own time.
    wait_until(lambda: other.execute(SESSIONS).fetchall() == [])

    database = open_database(database_url)

    assert other.execute(SESSIONS).fetchall() == []
    ask_backend(database, "read")
    assert threading.active_count() == threads_count
    database.close()
    wait_until(lambda: other.execute(SESSIONS).fetchall() == [])


def test_a_child_opens_connections_of_its_own(database):
    before = ask_backend(database, "read")
    database.close()
    fork = multiprocessing.get_context("fork")
    mine, others = fork.Pipe()
    child = fork.Process(
        target=lambda: others.send(ask_backend(database, "write")), daemon=True
    )

    child.start()
    parent_s = ask_backend(database, "write")
    assert mine.poll(20)
    child_s = mine.recv()
    child.join(20)

    assert len({before, parent_s, child_s}) == 3


def test_a_connection_in_use_at_a_close_is_not_kept(database, other):
    nested(database, 2, database.close)

    wait_until(lambda: other.execute(SESSIONS).fetchall() == [])


def test_a_read_leaves_no_transaction_open(database, other):
    """There is nothing to undo, and ending one would cost a round trip."""
    database.read("SELECT 1")
    database.read_each("SELECT ?", [("a",), ("b",)])
    database.probe(PROBE)

    assert other.execute(SESSIONS).fetchall() == [("idle",)]


@pytest.mark.parametrize(
    ("default", "within"),
    [("off", "on"), ("local", "local"), ("remote_apply", "remote_apply")],
)
def test_a_write_is_bounded_on_disk_and_leaves_nothing_in_its_session(
    set_default, database, default, within
):
    set_default("synchronous_commit", default)
    before, pid = database.read(READ_SETTINGS), ask_backend(database, "read")
    found = []

    def work(transaction, _record):
        found.append(transaction.execute(READ_SETTINGS).fetchone())
        return NO_OPERATION

    database.write(work, None)

    assert found == [(*BOUNDS.values(), within)]
    assert ask_backend(database, "read") == pid
    assert database.read(READ_SETTINGS) == before
    assert before == [("0", STATEMENT_TIMEOUT, "0", default)]


def test_a_read_has_the_operators_bound_and_a_snapshot_none(set_default, database):
    set_default("statement_timeout", "500ms")

    assert database.read("SHOW statement_timeout") == [("500ms",)]
    with pytest.raises(LedgerUnavailableError):
        database.read(SLEEP)
    with database.snapshot() as read:
        assert read("SHOW statement_timeout") == [("0",)]


def test_a_snapshot_sees_one_state_and_keeps_no_writer_waiting(database, repository):
    output = new_output(5)
    with database.snapshot() as read:
        before = read("SELECT count(*) FROM operations WHERE id > ?", (0,))
        repository.mint(mint_of(output))
        after = read("SELECT count(*) FROM operations WHERE id > ?", (0,))

    assert before == after == [(0,)]
    assert states(repository, output) == ["unspent"]


@pytest.mark.parametrize(
    ("options", "times", "prepared"),
    [
        ({"prepare_threshold": "0"}, 1, 1),
        ({"prepare_threshold": "None"}, 6, 0),
        ({}, 1, 0),
        ({}, 6, 1),
    ],
    ids=["at once", "never", "not at once", "often"],
)
def test_the_url_says_when_a_statement_is_prepared(
    database_url, open_database, *, options, times, prepared
):
    database = open_database(changed_url(database_url, **options))

    for _ in range(times):
        database.read("SELECT 41 + ?", (1,))

    counting = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE ?"
    assert database.read(counting, ("SELECT 41%",)) == [(prepared,)]


@pytest.mark.parametrize(
    ("options", "prepared"), [({}, 0), ({"prepare_threshold": "0"}, 1)]
)
def test_behind_a_pooler_nothing_is_kept_in_a_session_unless_the_url_says_so(
    database_url, open_database, monkeypatch, options, prepared
):
    """A pooler makes up the process id that it tells at the start."""
    monkeypatch.setattr("psycopg.ConnectionInfo.backend_pid", property(lambda _: 1))
    database = open_database(changed_url(database_url, **options))

    for _ in range(10):
        database.read("SELECT 41 + ?", (1,))

    counting = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE ?"
    assert database.read(counting, ("SELECT 41%",)) == [(prepared,)]
    assert database.read("SHOW statement_timeout") == [("0",)]


@pytest.mark.parametrize("number", range(STATEMENTS_COUNT))
def test_a_swap_cut_off_before_a_statement_is_made_once_all_the_same(
    database, repository, retries, cut_off, number
):
    inputs = new_output(5), new_output(7)
    outputs = new_output(4), new_output(4), new_output(4)
    repository.mint(mint_of(*inputs))
    work = swap_interrupted(number, lambda each: cut_off(backend_of(each)))

    operation = database.write(work, swap_of(*inputs, outputs=outputs))

    assert retries == ["disconnect"]
    assert not operation.replayed
    assert states(repository, *inputs, *outputs) == ["spent"] * 2 + ["unspent"] * 3


@READS_AND_WRITES
def test_a_connection_is_replaced_once_and_then_the_database_is_away(
    database, retries, how
):
    end = "SELECT pg_terminate_backend(pg_backend_pid(), 10000)"

    with pytest.raises(LedgerUnavailableError):
        ask(database, how, end)

    assert retries == ["disconnect"]


def test_connections_that_died_together_cost_one_more_try(database, retries, cut_off):
    nested(database, POOL_SIZE)
    cut_off()

    nested(database, POOL_SIZE)

    assert retries == ["disconnect"]


@pytest.fixture
def little_time(monkeypatch):
    monkeypatch.setattr("parts.postgresql.database.SECONDS_MAX", 1.0)


@pytest.mark.usefixtures("little_time")
@READS_AND_WRITES
def test_a_server_that_does_not_answer_is_left_at_the_deadline(
    database_url, open_database, retries, how
):
    database = open_database(database_url)
    backend = ask_backend(database, how)

    begun_s = time.monotonic()
    with pytest.raises(LedgerUnavailableError):
        ask(database, how, SLEEP)

    assert time.monotonic() - begun_s < 5.0
    # A second try would take as long again.
    assert retries == []
    assert ask_backend(database, how) != backend


def test_what_a_work_raises_undoes_it_and_keeps_the_connection(database, repository):
    output, record = new_output(5), swap_of(new_output(5))
    repository.mint(mint_of(output))
    backend = ask_backend(database, "write")

    def work(transaction, record):
        write_swap(transaction, record)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        database.write(work, swap_of(output))

    assert states(repository, output) == ["unspent"]
    assert states(repository, *record.outputs) == [None]
    assert ask_backend(database, "write") == backend


def test_values_of_several_keys_are_of_one_state(database, repository, other, thread):
    count = "SELECT count(*), pg_sleep(?::float8) FROM operations"
    sleeping = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    asked = thread.submit(database.read_each, count, [(1.0,), (0.0,)])
    wait_until(lambda: other.execute(sleeping).fetchone())
    repository.mint(mint_of(new_output(5)))
    [first, second] = asked.result(20)

    assert first[0] == second[0] == 0
    assert states(repository, new_output(5)) == [None]


def test_values_come_back_in_the_order_of_their_keys(database):
    keys = [(number,) for number in (3, 0, 1, 0, 2)]

    rows = database.read_each(
        "SELECT n FROM (SELECT ?::int AS n) AS one WHERE n > 0", keys
    )

    assert rows == [(3,), None, (1,), None, (2,)]
    assert database.read_each(READ_BACKEND, []) == []


def test_the_size_of_a_ledger_is_that_of_its_tables(database, repository):
    before = database.bytes_on_disk()
    for number in range(100):
        repository.mint(mint_of(new_output(5, number)))

    assert database.bytes_on_disk() > before
    assert database.find_damage() == []
