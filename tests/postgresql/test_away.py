"""PostgreSQL or its standby is away: unavailable or in doubt just while it is."""

import time
from contextlib import contextmanager

import pytest

from deeds.errors import (
    LedgerInDoubtError,
    LedgerUnavailableError,
    SpentInputError,
)
from parts.postgresql import database as subject
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
from tests.support.hooks import hooked
from tests.support.waiting import wait_until

ROWS = [(1,)]


@pytest.fixture
def database_url(stoppable_postgres):
    url = stoppable_postgres.cluster.create_migrated_database()
    yield url
    stoppable_postgres.cluster.drop_database(url)


def test_everything_is_unavailable_just_while_the_database_is_away(
    stoppable_postgres, database
):
    asked = [
        lambda: database.read(PROBE),
        lambda: database.read_each("SELECT ?::int", [(1,), (2,)]),
        lambda: database.write(lambda *_: NO_OPERATION, None),
        lambda: database.probe(PROBE),
        lambda: database.snapshot().__enter__(),
    ]
    connects = []
    nested(database, POOL_SIZE)
    database.probe(PROBE)
    stoppable_postgres.stop()
    begun_s = time.monotonic()
    try:
        with hooked("before connect", lambda *_: connects.append(None)):
            for ask in asked * 2:
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
    assert len(connects) <= 2 * len(asked) + 1
    assert rows == ROWS
    # Nobody waits for a reconnection that was put off.
    assert back_s < 1.0


@contextmanager
def no_standby(stoppable_postgres):
    """No synchronous standby acknowledges anything within the block."""
    stoppable_postgres.set("synchronous_standby_names", "nobody")
    try:
        yield
    finally:
        stoppable_postgres.set("synchronous_standby_names", "")


@pytest.fixture
def repository(database, monkeypatch):
    monkeypatch.setattr(subject, "SECONDS_MAX", 1.0)
    monkeypatch.setattr(subject, "PROBE_SECONDS_MAX", 0.5)
    repository = Repository(database)
    repository.open_policies(POLICY)
    return repository


def test_an_answer_waits_for_the_synchronous_standby_or_is_in_doubt(
    stoppable_postgres, repository, thread
):
    """Also a second answer: what it tells may be known to a primary that has crashed.

    A refusal moves nothing, and is told at once. A probe then tries to write.
    """
    database, output = repository.database, new_output(5)
    repository.mint(mint_of(output))
    first = swap_of(output, key=new_key())
    second = swap_of(*first.outputs, key=new_key())
    operation = repository.swap(first)

    with no_standby(stoppable_postgres):
        assert database.probe(PROBE) == ROWS
        begun_s = time.monotonic()
        with pytest.raises(SpentInputError):
            repository.swap(swap_of(output))
        refused_s = time.monotonic() - begun_s
        # The refused one has written the next ids to the WAL: the replay writes none.
        meanwhile = thread.submit(repository.swap, first)
        with pytest.raises(LedgerInDoubtError):
            repository.swap(second)
        assert type(meanwhile.exception(20)) is LedgerInDoubtError
        with pytest.raises((LedgerInDoubtError, LedgerUnavailableError)):
            database.probe(PROBE)

    assert refused_s < 1.0
    wait_until(lambda: is_ready(database))
    replays = [repository.swap(swap) for swap in (first, second)]
    assert [each.replayed for each in replays] == [True] * 2
    assert replays[0].id == operation.id


def is_ready(database):
    try:
        return database.probe(PROBE) == ROWS
    except LedgerUnavailableError:
        return False


@pytest.mark.slow
def test_commits_that_are_stuck_are_not_added_to(stoppable_postgres, repository):
    """Each of them keeps a connection of the server."""
    stuck = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    database = repository.database

    def is_refused():
        try:
            add_item(repository, 2)
        except LedgerUnavailableError as error:
            return "standby is away" in str(error)
        except LedgerInDoubtError:
            return False

    with no_standby(stoppable_postgres):
        with pytest.raises(LedgerInDoubtError):
            add_item(repository, 1)
        wait_until(is_refused)
        [(before,)] = database.read(stuck)
        for _ in range(5):
            assert is_refused()
            with pytest.raises(LedgerUnavailableError, match="standby is away"):
                database.probe(PROBE)
        [(after,)] = database.read(stuck)

    assert 0 < before == after
    wait_until(lambda: database.read(stuck) == [(0,)])
    add_item(repository, 3)
