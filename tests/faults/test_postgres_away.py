"""PostgreSQL is restarted, or killed, under the load of two services; nobody does anything else."""

import random
import time
from collections import Counter

import pytest

from tests.faults.load import Load, assert_nothing_lost, ledger_view, line_of
from tests.faults.mortal_service import MortalService
from tests.stoppable_postgres import StoppablePostgres, stoppable_postgres

# As for an update, and as at a power cut.
ENDS = [StoppablePostgres.stop, StoppablePostgres.kill]
ANSWERS_BETWEEN_MAX = 150
LATER_SECONDS_MAX = 0.01


@pytest.fixture(scope="module")
def server():
    with stoppable_postgres() as server:
        yield server


@pytest.fixture
def database_url(server):
    url = server.cluster.create_migrated_database()
    yield url
    server.cluster.drop_database(url)


@pytest.fixture
def services(tmp_path, database_url):
    services = [MortalService(tmp_path, database_url) for _ in range(2)]
    for service in services:
        service.begin_start()
    for service in services:
        service.wait_until_up()
    yield services
    for service in services:
        service.close()


def end_and_start(server, load, rng):
    for end in ENDS:
        load.wait_for_answers(rng.randint(1, ANSWERS_BETWEEN_MAX))
        time.sleep(rng.uniform(0, LATER_SECONDS_MAX))
        end(server)
        server.start()
    load.wait_for_answers(1)


@pytest.mark.soak
def test_a_postgresql_that_ends_and_comes_back_loses_no_acknowledged_swap(
    server, services, seed, report, soak_seconds
):
    rng = random.Random(seed)
    deadline = time.monotonic() + soak_seconds
    counts = Counter()
    ports = [service.find_port for service in services]
    database_url = services[0].database_url

    while not counts or time.monotonic() < deadline:
        with ledger_view(database_url) as ledger:
            operations_before = len(ledger.operations())
        load = Load(ports, rng.getrandbits(32))
        with load.running():
            end_and_start(server, load, rng)
        counts += assert_nothing_lost(
            load, ports[0], database_url, operations_before=operations_before
        )
        counts["kills"] += len(ENDS)

    assert counts["acknowledged"] > counts["kills"]
    report(line_of(counts))
