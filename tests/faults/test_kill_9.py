"""The whole service is killed at random moments under load, and started again, nothing else."""

import random
import time
from collections import Counter

import pytest

from tests.faults.load import Load, assert_nothing_lost, ledger_view, line_of
from tests.faults.mortal_service import MortalService

KILLS_COUNT = 10
ANSWERS_BETWEEN_KILLS_MAX = 100
# After the answers: somewhere in the next few requests.
LATER_SECONDS_MAX = 0.01
# One kill in five comes while the service starts.
KILLS_BY_START = 5
START_SECONDS_MAX = 1.0


@pytest.fixture
def service(tmp_path, database_url):
    service = MortalService(tmp_path, database_url)
    yield service
    service.close()


def kill_again_and_again(service, load, rng):
    for number in range(KILLS_COUNT):
        if number % KILLS_BY_START == KILLS_BY_START - 1:
            time.sleep(rng.uniform(0, START_SECONDS_MAX))
        else:
            service.wait_until_up()
            load.wait_for_answers(rng.randint(1, ANSWERS_BETWEEN_KILLS_MAX))
            time.sleep(rng.uniform(0, LATER_SECONDS_MAX))
        service.kill()
        service.begin_start()
    service.wait_until_up()
    load.wait_for_answers(1)


@pytest.mark.soak
def test_a_killed_service_loses_and_doubles_nothing(
    service, database_url, seed, report, soak_seconds
):
    rng = random.Random(seed)
    deadline = time.monotonic() + soak_seconds
    counts = Counter()

    while not counts or time.monotonic() < deadline:
        with ledger_view(database_url) as ledger:
            operations_before = len(ledger.operations())
        load = Load([service.find_port], rng.getrandbits(32))
        if service.process is None:
            service.begin_start()
        with load.running():
            kill_again_and_again(service, load, rng)
        counts += assert_nothing_lost(
            load, service.find_port, database_url, operations_before=operations_before
        )
        counts["kills"] += KILLS_COUNT

    assert counts["acknowledged"] > counts["kills"]
    report(line_of(counts))
