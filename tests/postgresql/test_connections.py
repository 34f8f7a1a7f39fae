"""Connections are bounded and kept, set up for a transaction, replaced when lost."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from deeds.errors import LedgerUnavailableError
from parts.postgresql.connections import STATEMENT_TIMEOUT
from parts.postgresql.pool import POOL_SIZE
from storage.database import NO_OPERATION
from tests.postgresql.records import (
    PROBE,
    SESSIONS,
    STATEMENTS_COUNT,
    ask_backend,
    at_statement,
    mint_of,
    nested,
    new_output,
    states,
    swap_of,
)
from tests.support.databases import changed_url
from tests.support.hooks import hooked
from tests.support.waiting import wait_until

BOUNDS = {
    "lock_timeout": "5s",
    "statement_timeout": STATEMENT_TIMEOUT,
    "idle_in_transaction_session_timeout": "30s",
}
SETTINGS = [*BOUNDS, "synchronous_commit"]
READ_SETTINGS = "SELECT " + ", ".join(f"current_setting('{name}')" for name in SETTINGS)


def test_connections_of_a_burst_are_kept_and_a_quiet_time_uses_one(database):
    bursts = [nested(database, count) for count in (POOL_SIZE, 1, 1, POOL_SIZE)]

    first_burst, quiet, still_quiet, second_burst = bursts
    assert len(first_burst) == POOL_SIZE
    assert quiet == still_quiet
    assert second_burst == first_burst


def test_who_waits_for_a_connection_gets_one_in_turn_and_a_probe_the_next(
    database_url, open_database
):
    database, served = open_database(database_url, pool_size=1), []

    def serve(number):
        database.write(lambda *_: served.append(number) or NO_OPERATION, None)

    def note_probe(_connection, sql, _values):
        if "AS probed" in sql:
            served.append("probe")

    with hooked("after statement", note_probe), ThreadPoolExecutor() as threads:

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


def test_nothing_is_opened_or_started_before_it_is_used_nor_left_after_a_close(
    open_database, database_url, other
):
    """Or a process that forks would share it with its children."""
    threads_count = threading.active_count()
    # The server ends the session that made the tables in its own time.
    wait_until(lambda: other.execute(SESSIONS).fetchall() == [])

    database = open_database(database_url)

    assert other.execute(SESSIONS).fetchall() == []
    ask_backend(database)
    assert threading.active_count() == threads_count
    nested(database, 2, database.close)
    # Earlier than the server would end them.
    wait_until(lambda: other.execute(SESSIONS).fetchall() == [], seconds_max=10)


def test_a_read_leaves_no_transaction_open(database, other):
    """There is nothing to undo, and ending one would cost a round trip."""
    database.read_each("SELECT ?", [("a",), ("b",)])
    database.probe(PROBE)

    assert other.execute(SESSIONS).fetchall() == [("idle",)]


@pytest.mark.parametrize(("default", "within"), [("off", "on"), ("local", "local")])
def test_a_write_is_bounded_on_disk_and_leaves_nothing_in_its_session(
    set_default, database, default, within
):
    set_default("synchronous_commit", default)
    before, pid = database.read(READ_SETTINGS), ask_backend(database)
    found = []

    def work(transaction, _record):
        found.append(transaction.execute(READ_SETTINGS).fetchone())
        return NO_OPERATION

    database.write(work, None)

    assert found == [(*BOUNDS.values(), within)]
    assert ask_backend(database) == pid
    assert database.read(READ_SETTINGS) == before
    assert before == [("0", STATEMENT_TIMEOUT, "0", default)]


def test_a_session_has_the_operators_bounds_or_ours_and_a_snapshot_none(
    set_default, database
):
    set_default("statement_timeout", "500ms")

    assert database.read("SHOW statement_timeout") == [("500ms",)]
    assert database.read("SHOW idle_session_timeout") == [("20s",)]
    with database.snapshot() as read:
        assert read("SHOW statement_timeout") == [("0",)]


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
    repository, retries, cut_off, caplog, number
):
    inputs = new_output(5), new_output(7)
    outputs = new_output(4), new_output(4), new_output(4)
    repository.mint(mint_of(*inputs))

    with at_statement(number, lambda _: cut_off()):
        operation = repository.swap(swap_of(*inputs, outputs=outputs))

    assert retries == ["disconnect"]
    assert not operation.replayed
    assert states(repository, *inputs, *outputs) == ["spent"] * 2 + ["unspent"] * 3
    # The driver would warn of each connection that breaks.
    assert caplog.text == ""


def test_a_connection_is_replaced_once_and_then_the_database_is_away(database, retries):
    with pytest.raises(LedgerUnavailableError):
        database.read("SELECT pg_terminate_backend(pg_backend_pid(), 10000)")

    assert retries == ["disconnect"]


def test_connections_that_died_together_cost_one_more_try(database, retries, cut_off):
    nested(database, POOL_SIZE)
    cut_off()

    nested(database, POOL_SIZE)

    assert retries == ["disconnect"]


def test_a_server_that_does_not_answer_is_left_at_the_deadline(
    database, retries, monkeypatch
):
    monkeypatch.setattr("parts.postgresql.database.SECONDS_MAX", 1.0)
    backend = ask_backend(database)

    begun_s = time.monotonic()
    with pytest.raises(LedgerUnavailableError):
        database.read("SELECT pg_sleep(60)")

    assert time.monotonic() - begun_s < 5.0
    # A second try would take as long again.
    assert retries == []
    assert ask_backend(database) != backend


def test_values_of_several_keys_are_of_one_state(database, repository, other, thread):
    count = "SELECT count(*), pg_sleep(?::float8) FROM operations"
    sleeping = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    asked = thread.submit(database.read_each, count, [(0.5,), (0.0,)])
    wait_until(lambda: other.execute(sleeping).fetchone())
    repository.mint(mint_of(new_output(5)))
    [first, second] = asked.result(20)

    assert first[0] == second[0] == 0
