"""PostgreSQL stops, is killed or hangs: unavailable just while it does."""

import time

import pytest

from deeds.errors import (
    LedgerInDoubtError,
    LedgerUnavailableError,
    SpentInputError,
)
from parts.postgresql import database as subject
from parts.postgresql.connections import BoundedConnection
from parts.postgresql.pool import POOL_SIZE
from storage.database import NO_OPERATION
from storage.repository import Repository
from tests.postgresql.records import (
    POLICY,
    PROBE,
    add_item,
    mint_of,
    nested,
    new_key,
    new_output,
    swap_of,
)
from tests.support.databases import connected
from tests.support.waiting import wait_until

ROWS = [(1,)]


@pytest.fixture
def database_url(stoppable_postgres):
    url = stoppable_postgres.cluster.create_migrated_database()
    yield url
    stoppable_postgres.cluster.drop_database(url)


def asked(database):
    return [
        lambda: database.read(PROBE),
        lambda: database.read_each("SELECT ?::int", [(1,), (2,)]),
        lambda: database.write(lambda *_: NO_OPERATION, None),
        lambda: database.probe(PROBE),
        lambda: database.snapshot().__enter__(),
    ]


@pytest.fixture
def connects(monkeypatch):
    """One entry for each connection that was tried."""
    connects = []
    connect = BoundedConnection.connect

    def counted(**options):
        connects.append(options)
        return connect(**options)

    monkeypatch.setattr(BoundedConnection, "connect", counted)
    return connects


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_everything_is_unavailable_just_while_the_database_is_away(
    stoppable_postgres, database, connects, end
):
    nested(database, POOL_SIZE)
    database.probe(PROBE)
    connects.clear()
    getattr(stoppable_postgres, end)()
    begun_s = time.monotonic()
    try:
        for ask in asked(database) * 2:
            with pytest.raises(LedgerUnavailableError):
                ask()
        away_s = time.monotonic() - begun_s
    finally:
        stoppable_postgres.start()
    begun_s = time.monotonic()
    rows = database.read(PROBE)
    back_s = time.monotonic() - begun_s

    # Each learns at once why, and tries no more than one new connection.
    assert away_s < 2.0
    assert len(connects) <= 2 * len(asked(database)) + 1
    assert rows == ROWS
    # Nobody waits for a reconnection that was put off.
    assert back_s < 1.0
    for ask in asked(database)[:4]:
        ask()


@pytest.fixture
def no_standby(stoppable_postgres):
    """A context of this test: no synchronous standby acknowledges anything."""
    yield lambda: stoppable_postgres.set("synchronous_standby_names", "nobody")
    stoppable_postgres.set("synchronous_standby_names", "")


@pytest.fixture
def repository(database_url, open_database, monkeypatch):
    monkeypatch.setattr(subject, "SECONDS_MAX", 1.0)
    monkeypatch.setattr(subject, "PROBE_SECONDS_MAX", 1.0)
    repository = Repository(open_database(database_url))
    repository.open_policies(POLICY)
    return repository


def test_an_answer_waits_for_the_synchronous_standby_or_is_in_doubt(
    stoppable_postgres, repository, no_standby
):
    """Also a second answer: what it tells may be known to a primary that has crashed.

    A refusal moves nothing, and is told at once.
    """
    output = new_output(5)
    repository.mint(mint_of(output))
    first = swap_of(output, key=new_key())
    second = swap_of(*first.outputs, key=new_key())
    operation = repository.swap(first)

    no_standby()
    for swap in (first, second):
        with pytest.raises(LedgerInDoubtError):
            repository.swap(swap)
    begun_s = time.monotonic()
    with pytest.raises(SpentInputError):
        repository.swap(swap_of(output))
    refused_s = time.monotonic() - begun_s
    stoppable_postgres.set("synchronous_standby_names", "")

    assert refused_s < 1.0
    replays = [repository.swap(swap) for swap in (first, second)]
    assert [each.replayed for each in replays] == [True] * 2
    assert replays[0].id == operation.id


@pytest.mark.slow
def test_commits_that_are_stuck_are_not_added_to(
    stoppable_postgres, repository, no_standby, thread
):
    """Each of them keeps a connection of the server."""
    stuck = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    database = repository.database
    no_standby()
    with pytest.raises(LedgerInDoubtError):
        add_item(repository, 1)

    def is_refused():
        try:
            add_item(repository, 2)
        except LedgerUnavailableError as error:
            return "standby is away" in str(error)
        except LedgerInDoubtError:
            return False

    wait_until(is_refused)
    [(before,)] = database.read(stuck)
    for _ in range(5):
        assert is_refused()
        with pytest.raises(LedgerUnavailableError, match="standby is away"):
            database.probe(PROBE)
    [(after,)] = database.read(stuck)
    stoppable_postgres.set("synchronous_standby_names", "")

    assert 0 < before == after
    wait_until(lambda: database.read(stuck) == [(0,)])
    add_item(repository, 3)


def test_a_probe_after_a_write_that_failed_tries_to_write(
    stoppable_postgres, repository, no_standby
):
    database = repository.database
    no_standby()
    before = database.probe(PROBE)
    with pytest.raises(LedgerInDoubtError):
        add_item(repository, 1)
    with pytest.raises((LedgerInDoubtError, LedgerUnavailableError)):
        database.probe(PROBE)
    stoppable_postgres.set("synchronous_standby_names", "")

    wait_until(lambda: not is_unready(database))
    assert before == ROWS


def is_unready(database):
    try:
        return database.probe(PROBE) != ROWS
    except LedgerUnavailableError:
        return True


def test_a_probe_of_a_database_that_is_read_only_fails(database_url, open_database):
    with connected(database_url) as other:
        alter = f'ALTER DATABASE "{other.info.dbname}"'
        other.execute(f"{alter} SET default_transaction_read_only = on")
    database = open_database(database_url)

    with pytest.raises(LedgerUnavailableError, match="read-only"):
        database.probe(PROBE)
    with pytest.raises(LedgerUnavailableError):
        add_item(Repository(database), 1)
    assert database.read(PROBE) == ROWS
