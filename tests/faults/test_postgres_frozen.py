"""PostgreSQL hangs under load, with all its connections open, and goes on again."""

import time

import pytest

from storage.engine import POOL_TIMEOUT_S
from tests.faults.load import Load, assert_nothing_lost
from tests.faults.mortal_service import MortalService
from tests.support.marker import NOWHERE
from tests.support.racing import client_of_port
from tests.support.waiting import wait_until

# What a request may take beside its wait for a connection, on a busy machine.
SLACK_S = 2.0
WORKS_AGAIN_S_MAX = 2.0


@pytest.fixture
def service(tmp_path, stoppable_url):
    service = MortalService(tmp_path, stoppable_url, workers=1)
    service.start()
    yield service
    service.close()


def check(port):
    """Return the status of a check over a connection of its own, and the seconds that it took."""
    started_s = time.monotonic()
    with client_of_port(port) as send:
        status, _ = send("/v1/check", {"outputs": [f"+5.{NOWHERE}.a"]})
    return status, time.monotonic() - started_s


def test_a_frozen_postgresql_is_refused_soon_and_used_at_once_when_it_goes_on(
    stoppable_postgres, service, stoppable_url, report
):
    port = service.find_port()
    load = Load([service.find_port], seed=1)
    with load.running():
        load.wait_for_answers(100)
        stoppable_postgres.freeze()
        try:
            # Once one client was refused, others hold each connection that there may be.
            wait_until(lambda: any(client.unanswered_count for client in load.clients))
            status, refused_s = check(port)
        finally:
            stoppable_postgres.thaw()
        acknowledged = load.acknowledged_count()
        started_s = time.monotonic()
        wait_until(
            lambda: check(port)[0] == 200 and load.acknowledged_count() > acknowledged,
            WORKS_AGAIN_S_MAX,
        )
        seconds = time.monotonic() - started_s
        wait_until(lambda: load.acknowledged_count() > acknowledged + 100)
    counts = assert_nothing_lost(load, service.find_port, stoppable_url)

    assert status == 503
    assert refused_s < POOL_TIMEOUT_S + SLACK_S
    report(f"refused after {refused_s:.1f} s, served after {seconds:.2f} s, {dict(counts)}")
