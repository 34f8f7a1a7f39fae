"""A standby takes over, or has not yet."""

import pytest

from deeds.errors import LedgerUnavailableError
from parts.postgresql import last_operations
from storage.repository import Repository
from tests.postgresql.records import POLICY, PROBE, add_item

pytestmark = pytest.mark.slow


def test_a_first_host_that_hangs_is_passed_by(replicated, open_database):
    # As a service names them.
    both = f"{replicated.url}&target_session_attrs=read-write"
    database = open_database(both)
    replicated.start_standby()
    replicated.primary.freeze()
    try:
        replicated.promote()
        rows = [database.read(PROBE), database.probe(PROBE)]
    finally:
        replicated.primary.thaw()

    assert rows == [[(1,)]] * 2


def test_what_a_lagging_standby_lacks_is_not_called_lost(
    replicated, monkeypatch, open_database, caplog
):
    """It may still receive it."""
    monkeypatch.setattr(last_operations, "DOUBT_SECONDS", 0.0)
    replicated.start_standby()
    repository = Repository(open_database(replicated.url))
    repository.open_policies(POLICY)
    replicated.stop_standby()
    add_item(repository, 1)
    replicated.primary.kill()
    replicated.start_lonely_standby()

    for _ in range(3):
        with pytest.raises(LedgerUnavailableError, match="standby, which may lag"):
            repository.read_item(f"deed_{1:026}")
    assert "ledger_doubted" not in {each.event for each in caplog.records}
