"""A standby of PostgreSQL takes over under load; it may lack the last operations."""

import time

import pytest

from tests.support.applications import RASH
from tests.support.journal import BriefSender
from tests.support.ledger_view import LedgerView
from tests.support.load import CLIENTS_COUNT, Load, line_of
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

WORKERS_COUNT = 2
LOST_COUNT_MIN = 50
ANSWERS_COUNT = 60
# From the promotion to the next acknowledged swap.
SECONDS_MAX = 2.0
ROLLED_BACK = "503 ledger_rolled_back"
ERROR = '"event":"ledger_rolled_back"'


def operation_ids(url):
    ledger = LedgerView(url)
    ledger.assert_sound()
    return {
        operation_id for (operation_id,) in ledger.read("SELECT id FROM operations")
    }


@pytest.fixture
def checkpoint(tmp_path):
    return tmp_path / "checkpoint"


@pytest.fixture
def service(replicated, checkpoint, make_service):
    """A service of two processes that knows both hosts."""
    url = f"{replicated.url}&target_session_attrs=read-write"
    settings = {"workers": WORKERS_COUNT, "DEEDS_CHECKPOINT_FILE": str(checkpoint)}
    return make_service(url, application=RASH, **settings)


def test_a_failover_to_a_synchronous_standby_loses_nothing(
    replicated, service, seed, report
):
    replicated.start_standby(is_synchronous=True)
    load = Load([service.find_port], seed)

    with load.running():
        load.wait_for_answers(ANSWERS_COUNT)
        replicated.primary.kill()
        replicated.promote()
        promoted_at = time.monotonic()
        load.wait_for_answers(1)
        seconds = time.monotonic() - promoted_at
        load.wait_for_answers(ANSWERS_COUNT)

    counts = load.assert_nothing_lost(replicated.standby_url)
    assert seconds < SECONDS_MAX
    assert ERROR not in service.log.read_text()
    report(f"served again after {seconds:.2f} s, kills 1, {line_of(counts)}")


def test_after_a_failover_that_lost_operations_nothing_is_written(
    replicated, service, checkpoint, seed, report
):
    replicated.start_standby()
    load = Load([service.find_port], seed, make_sender=BriefSender, repeats=False)

    with load.running():
        load.wait_for_answers(ANSWERS_COUNT)
        replicated.stop_standby()
        # One operation of each client may have reached the standby, and is acknowledged
        # only now.
        load.wait_for_answers(LOST_COUNT_MIN + CLIENTS_COUNT)
        replicated.primary.kill()
        replicated.start_lonely_standby()
        load.wait_for_answers(CLIENTS_COUNT, "503 ledger_unavailable")
        assert load.fates.count(ROLLED_BACK) == 0
        acknowledged_count = load.fates.count("acknowledged")
        replicated.promote()
        wait_until(lambda: service.log.read_text().count(ERROR) == WORKERS_COUNT)
        load.wait_for_answers(5 * CLIENTS_COUNT, ROLLED_BACK)
        assert load.fates.count("acknowledged") == acknowledged_count
    left_ids = operation_ids(replicated.standby_url)
    service.stop()

    assert operation_ids(replicated.standby_url) == left_ids
    assert service.log.read_text().count(ERROR) == WORKERS_COUNT
    replicated.primary.start()
    lost_ids = operation_ids(replicated.primary_url) - left_ids
    assert len(lost_ids) >= LOST_COUNT_MIN
    # The checkpoint file names a lost operation, so the next start fails.
    _, named, *_ = checkpoint.read_text().split()
    assert int(named) in lost_ids
    refused_count = load.fates.count(ROLLED_BACK)
    report(f"lost {len(lost_ids)} of {acknowledged_count}, refused {refused_count}")
