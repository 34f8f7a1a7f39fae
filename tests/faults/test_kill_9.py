"""The service, or its workers, are killed at random moments under load, and started again."""

import os
import signal
import time
from collections import Counter

import pytest

from tests.faults.load import Load, assert_nothing_lost, line_of, soak
from tests.support.serving import children

KILLS_COUNT = 10
ANSWERS_BETWEEN_KILLS_MAX = 100
# After the answers: somewhere in the next few requests.
LATER_SECONDS_MAX = 0.01
# One kill in five comes while the service starts.
KILLS_BY_START = 5
START_SECONDS_MAX = 1.0

WORKER_KILLS_COUNT = 4
ANSWERS_BETWEEN_WORKER_KILLS = 60


@pytest.mark.soak(share=12)
def test_a_killed_service_loses_and_doubles_nothing(
    database_url, make_service, seed, report, soak_seconds
):
    service = make_service(database_url)

    def kill_again_and_again(load, rng):
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
        return Counter({"kills": KILLS_COUNT})

    service.begin_start()
    counts = soak(
        [service.find_port], database_url, kill_again_and_again, seed=seed, seconds=soak_seconds
    )

    report(line_of(counts))


def test_killed_workers_lose_and_double_nothing(database_url, make_service, seed, report):
    service = make_service(database_url)
    service.start()
    load = Load([service.find_port], seed, looks_up=False)
    with load.running():
        for _ in range(WORKER_KILLS_COUNT):
            load.wait_for_answers(ANSWERS_BETWEEN_WORKER_KILLS)
            for worker in children(service.process.pid):
                os.kill(worker, signal.SIGKILL)

    report(line_of(assert_nothing_lost(load, service.find_port, database_url)))
