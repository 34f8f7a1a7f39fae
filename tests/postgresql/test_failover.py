"""A standby takes over; it may lack the last operations."""

import pytest

from deeds.errors import (
    LedgerInDoubtError,
    LedgerRolledBackError,
    LedgerUnavailableError,
)
from parts.postgresql import database as subject
from parts.postgresql import last_operations
from storage.repository import Repository
from tests.postgresql.records import (
    POLICY,
    PROBE,
    add_item,
    mint_of,
    new_key,
    new_output,
    states,
    swap_of,
)
from tests.support.waiting import wait_until


@pytest.fixture
def database_url(replicated):
    """Both servers, as a service names them."""
    return f"{replicated.url}&target_session_attrs=read-write"


def is_served(repository, number):
    try:
        return add_item(repository, number)
    except (LedgerUnavailableError, LedgerInDoubtError):
        return None


def test_a_failover_to_a_synchronous_standby_loses_nothing(
    replicated, repository, caplog
):
    replicated.start_standby(is_synchronous=True)
    output = new_output(5)
    repository.mint(mint_of(output))
    swap = swap_of(output, key=new_key())
    operation = repository.swap(swap)

    replicated.primary.kill()
    with pytest.raises(LedgerUnavailableError):
        add_item(repository, 2)
    replicated.promote()
    wait_until(lambda: is_served(repository, 3))

    assert repository.swap(swap).id == operation.id
    assert states(repository, output, *swap.outputs) == ["spent", "unspent"]
    assert "ledger_doubted" not in {each.event for each in caplog.records}


@pytest.mark.slow
def test_a_first_host_that_hangs_is_passed_by(replicated, database):
    replicated.start_standby()
    replicated.primary.freeze()
    try:
        replicated.promote()
        rows = [database.read(PROBE), database.probe(PROBE)]
    finally:
        replicated.primary.thaw()

    assert rows == [[(1,)]] * 2


@pytest.mark.slow
def test_a_replay_is_answered_once_a_standby_has_it(
    replicated, database_url, open_database, monkeypatch
):
    """A primary that crashed and came back shows commits that no standby has."""
    monkeypatch.setattr(subject, "SECONDS_MAX", 1.0)
    repository = Repository(open_database(database_url))
    repository.open_policies(POLICY)
    replicated.start_standby(is_synchronous=True)
    record = mint_of(new_output(5), key=new_key())
    replicated.stop_standby()
    with pytest.raises(LedgerInDoubtError):
        repository.mint(record)
    replicated.primary.kill()
    replicated.primary.start()

    shown = states(repository, *record.outputs)
    with pytest.raises(LedgerInDoubtError):
        repository.mint(record)
    replicated.start_lonely_standby()
    wait_until(lambda: replays(repository, record))
    replicated.primary.kill()
    replicated.promote()

    assert shown == ["unspent"]
    wait_until(lambda: states_or_none(repository, *record.outputs) == ["unspent"])


def replays(repository, record):
    try:
        return repository.mint(record).replayed
    except (LedgerInDoubtError, LedgerUnavailableError):
        return False


def states_or_none(repository, *outputs):
    try:
        return states(repository, *outputs)
    except LedgerUnavailableError:
        return None


@pytest.mark.slow
def test_after_a_failover_that_lost_operations_nothing_is_written(
    replicated, database_url, open_database, monkeypatch
):
    monkeypatch.setattr(last_operations, "DOUBT_SECONDS", 0.5)
    database = open_database(database_url)
    repository = Repository(database)
    repository.open_policies(POLICY)
    replicated.start_standby()
    kept = add_item(repository, 1)
    wait_until(lambda: has(open_database(replicated.standby_url), kept))
    replicated.stop_standby()
    lost = [add_item(repository, number) for number in (2, 3)]
    replicated.primary.kill()
    replicated.start_lonely_standby()
    with pytest.raises(LedgerUnavailableError):
        add_item(repository, 4)
    replicated.promote()

    wait_until(lambda: is_lost(repository))

    assert database.loss == lost[-1]
    with pytest.raises(LedgerRolledBackError):
        database.probe(PROBE)
    left = open_database(replicated.standby_url)
    assert left.read("SELECT max(id) FROM operations") == [(kept.id,)]


def has(database, operation):
    return database.read("SELECT id FROM operations WHERE id = ?", (operation.id,))


def is_lost(repository):
    try:
        add_item(repository, 5)
    except LedgerUnavailableError:
        return False
    except LedgerRolledBackError:
        return True
    raise AssertionError("an older copy was written to")


@pytest.mark.slow
def test_what_a_lagging_standby_lacks_is_not_called_lost(
    replicated, monkeypatch, open_database, caplog
):
    """It may still receive it."""
    monkeypatch.setattr(last_operations, "DOUBT_SECONDS", 0.0)
    replicated.start_standby()
    primary, standby = (
        Repository(open_database(each))
        for each in (replicated.primary_url, replicated.url)
    )
    primary.open_policies(POLICY)
    replicated.stop_standby()
    add_item(standby, 1)
    replicated.primary.kill()
    replicated.start_lonely_standby()

    for _ in range(3):
        with pytest.raises(LedgerUnavailableError, match="standby, which may lag"):
            standby.read_item(f"deed_{1:026}")
    with pytest.raises(LedgerUnavailableError, match="read-only"):
        Repository(open_database(replicated.standby_url)).database.probe(PROBE)
    with pytest.raises(LedgerUnavailableError):
        add_item(Repository(open_database(replicated.standby_url)), 2)
    assert "ledger_doubted" not in {each.event for each in caplog.records}
