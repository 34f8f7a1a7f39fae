"""PostgreSQL is restarted, or killed, under the load of two services; nobody does anything else."""

import time
from collections import Counter

import pytest

from tests.faults.load import line_of
from tests.faults.mortal_service import MortalService
from tests.faults.soaking import soak
from tests.support.stoppable_postgres import StoppablePostgres

# As for an update, and as at a power cut.
ENDS = {"stops": StoppablePostgres.stop, "kills": StoppablePostgres.kill}
ANSWERS_BETWEEN_MAX = 150
LATER_SECONDS_MAX = 0.01


@pytest.fixture
def services(tmp_path, stoppable_url):
    services = [MortalService(tmp_path, stoppable_url) for _ in range(2)]
    for service in services:
        service.begin_start()
    for service in services:
        service.wait_until_up()
    yield services
    for service in services:
        service.close()


@pytest.mark.soak(share=6)
def test_a_postgresql_that_ends_and_comes_back_loses_no_acknowledged_swap(
    stoppable_postgres, services, stoppable_url, seed, report, soak_seconds
):
    def end_and_start(load, rng):
        for end in ENDS.values():
            load.wait_for_answers(rng.randint(1, ANSWERS_BETWEEN_MAX))
            time.sleep(rng.uniform(0, LATER_SECONDS_MAX))
            end(stoppable_postgres)
            stoppable_postgres.start()
        load.wait_for_answers(1)
        return Counter(dict.fromkeys(ENDS, 1))

    ports = [service.find_port for service in services]
    counts = soak(ports, stoppable_url, end_and_start, seed=seed, seconds=soak_seconds)

    report(f"stops {counts['stops']}, {line_of(counts)}")
