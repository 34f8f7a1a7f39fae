"""SIGTERM under load: what the service has begun it also answers."""

import time

import pytest

from tests.faults.load import Load, assert_nothing_lost, ledger_view, line_of
from tests.faults.mortal_service import MortalService
from tests.support.waiting import wait_until

ANSWERS_BEFORE_A_STOP = 100


@pytest.fixture
def service(tmp_path, database_url):
    service = MortalService(tmp_path, database_url, workers=3)
    service.start()
    yield service
    service.close()


def operations_count(database_url):
    with ledger_view(database_url) as ledger:
        return len(ledger.operations())


@pytest.mark.soak(share=2)
def test_a_stop_under_load_answers_all_that_the_ledger_has_recorded(
    service, database_url, seed, report, soak_seconds
):
    deadline = time.monotonic() + soak_seconds
    codes = []
    load = Load([service.find_port], seed)
    with load.running():
        while not codes or time.monotonic() < deadline:
            load.wait_for_answers(ANSWERS_BEFORE_A_STOP)
            codes.append(service.stop())
            recorded_count = operations_count(database_url)
            wait_until(lambda count=recorded_count: load.acknowledged_count() == count)
            service.start()

    counts = assert_nothing_lost(load, service.find_port, database_url)
    assert set(codes) == {0}
    assert counts["found done"] == 0
    report(f"stops {len(codes)}, {line_of(counts)}")
