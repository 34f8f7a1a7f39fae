"""Connections to PostgreSQL: bounded, and kept once they are open."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import event, text

import storage.engine
from deeds.domain.errors import OverloadedError
from storage.engine import POOL_SIZE, make_engine, parse_database_url
from storage.transactions import Transactions, ignore_retry

WAIT_S = 20


@pytest.fixture
def engine(postgres_url):
    engine = make_engine(parse_database_url(postgres_url))
    yield engine
    engine.dispose()


def test_connections_that_a_burst_has_opened_serve_the_next_one(engine):
    opened = []
    event.listen(engine, "connect", lambda *_: opened.append(1))
    together = threading.Barrier(POOL_SIZE)

    def use(_number):
        with engine.connect() as connection:
            together.wait(WAIT_S)
            return connection.execute(text("SELECT 1")).scalar_one()

    with ThreadPoolExecutor(POOL_SIZE) as threads:
        bursts = [list(threads.map(use, range(POOL_SIZE))) for _ in range(3)]

    assert bursts == [[1] * POOL_SIZE] * 3
    assert len(opened) == POOL_SIZE


def test_a_quiet_time_after_a_burst_uses_one_connection(engine):
    with engine.connect() as first, engine.connect() as second:
        burst = {backend_of(first), backend_of(second)}

    quiet = set()
    for _ in range(3):
        with engine.connect() as connection:
            quiet.add(backend_of(connection))

    assert len(quiet) == 1
    assert quiet < burst


def test_who_waits_too_long_for_a_connection_is_told_of_an_overload(postgres_url, monkeypatch):
    monkeypatch.setattr(storage.engine, "POOL_SIZE", 1)
    monkeypatch.setattr(storage.engine, "POOL_TIMEOUT_S", 0.05)
    engine = make_engine(parse_database_url(postgres_url))
    transactions = Transactions(engine, ignore_retry)
    said = []

    with engine.connect():
        for ask in (transactions.read, transactions.write):
            with pytest.raises(OverloadedError) as refused:
                ask(backend_of)
            said.append(refused.value.detail)

    assert said == ["too many requests are waiting for the database"] * 2
    assert transactions.read(backend_of) == transactions.write(backend_of)
    transactions.close()


def backend_of(connection):
    return connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
