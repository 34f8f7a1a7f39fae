"""How many connections a process has, and when those that are idle are closed."""

import threading

import psycopg
import pytest

from deeds.errors import OverloadedError
from parts.postgresql.failures import has_no_free_connection
from tests.postgresql.records import SESSIONS, ask_backend, nested
from tests.support.waiting import wait_until


@pytest.fixture
def sessions_count(other, cut_off):
    """A function that counts the sessions of the database since now."""
    # Another test may have left one that sleeps.
    cut_off()
    return lambda: len(other.execute(SESSIONS).fetchall())


@pytest.mark.parametrize(
    ("pool_size", "processes_count", "share"),
    [(0, 1, 8), (0, 2, 4), (0, 3, 2), (0, 16, 1), (1, 1, 1), (5, 2, 2), (4, 4, 1)],
)
def test_a_process_opens_its_share_of_the_connections_and_no_more(
    database_url,
    open_database,
    monkeypatch,
    sessions_count,
    *,
    pool_size,
    processes_count,
    share,
):
    monkeypatch.setattr("parts.postgresql.pool.POOL_TIMEOUT_S", 0.05)
    database = open_database(
        database_url, pool_size=pool_size, processes_count=processes_count
    )

    def use_more():
        for ask in (database.read, database.probe):
            with pytest.raises(OverloadedError):
                ask("SELECT 1")

    nested(database, share, use_more)

    assert sessions_count() == share


def test_a_start_has_one_connection_at_a_time(database, sessions_count):
    def use(_transaction):
        # The server may take a moment to end the session of before.
        wait_until(lambda: sessions_count() == 1, seconds_max=5)
        return []

    for start in (database.create, database.run_in_scratch):
        database.read("SELECT 1")
        start(use)


def test_a_process_that_is_asked_nothing_more_has_no_connection_after_a_while(
    database, monkeypatch, retries, sessions_count
):
    threads_count = threading.active_count()
    monkeypatch.setattr("parts.postgresql.connections.IDLE_TIMEOUT", "300ms")
    nested(database, 3)
    database.read_each("SELECT CAST(? AS INTEGER)", [(1,), (2,)])

    wait_until(lambda: sessions_count() == 0)

    assert threading.active_count() == threads_count
    # It knows by itself, without meeting a connection that has ended.
    monkeypatch.setattr("parts.postgresql.pool.IDLE_SECONDS_MAX", 0.0)
    assert database.read("SELECT 1") == [(1,)]
    assert retries == []


def test_connections_that_a_burst_leaves_over_are_closed_by_a_process_that_goes_on(
    database, monkeypatch, sessions_count
):
    nested(database, 3)
    monkeypatch.setattr("parts.postgresql.pool.IDLE_SECONDS_MAX", 0.0)
    backend = ask_backend(database, "read")

    # Earlier than the server would do it.
    wait_until(lambda: sessions_count() == 1, seconds_max=10)
    monkeypatch.undo()

    assert ask_backend(database, "read") == backend


@pytest.mark.parametrize(("default", "within"), [("0", "20s"), ("77s", "77s")])
def test_an_idle_session_ends_after_20_seconds_unless_the_operator_says_otherwise(
    set_default, database, default, within
):
    set_default("idle_session_timeout", default)

    assert database.read("SHOW idle_session_timeout") == [(within,)]


@pytest.mark.parametrize(
    "words",
    [
        "sorry, too many clients already",
        "remaining connection slots are reserved for non-replication superusers",
        'too many connections for role "deeds"',
        'too many connections for database "deeds"',
        "no more connections allowed (max_client_conn)",
    ],
)
def test_a_server_without_a_free_connection_is_known_by_its_words(words):
    assert has_no_free_connection(
        psycopg.OperationalError(f"connection failed: FATAL:  {words}")
    )


def test_a_server_that_refuses_for_another_reason_is_not_full():
    refused = "connection failed: FATAL:  the database system is starting up"

    assert not has_no_free_connection(psycopg.OperationalError(refused))
