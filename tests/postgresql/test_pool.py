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
    ("pool_size", "processes_count", "share"), [(0, 3, 2), (0, 16, 1), (5, 2, 2)]
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
            with pytest.raises(OverloadedError, match="too many requests are waiting"):
                ask("SELECT 1")

    used = nested(database, share, use_more)

    assert sessions_count() == share
    # Who has gone takes none of them.
    assert nested(database, share) == used


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
    monkeypatch.setattr("parts.postgresql.connections.IDLE_TIMEOUT", "300ms")
    threads_count = threading.active_count()
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
    backend = ask_backend(database)

    # Earlier than the server would do it.
    wait_until(lambda: sessions_count() == 1, seconds_max=10)
    monkeypatch.undo()

    assert ask_backend(database) == backend


# Of PostgreSQL and of pgbouncer; the server says those of a role in test_pool_size.py.
@pytest.mark.parametrize(
    ("words", "is_full"),
    [
        ("sorry, too many clients already", True),
        ("remaining connection slots are reserved for superusers", True),
        ("no more connections allowed (max_client_conn)", True),
        ("the database system is starting up", False),
    ],
)
def test_a_server_without_a_free_connection_is_known_by_its_words(words, is_full):
    error = psycopg.OperationalError(f"connection failed: FATAL:  {words}")

    assert has_no_free_connection(error) == is_full
