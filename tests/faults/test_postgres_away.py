"""PostgreSQL stops, is killed or hangs: 503 meanwhile, nothing lost, no restart."""

import time
from contextlib import closing

import pytest

from parts.postgresql.database import PROBE_SECONDS_MAX, SECONDS_MAX
from parts.postgresql.pool import POOL_TIMEOUT_S
from tests.faults.load import Load, line_of, rounds
from tests.support.api import UNAVAILABLE, Api, refusal


@pytest.fixture
def database_url(stoppable_url):
    return stoppable_url


@pytest.mark.slow
@pytest.mark.soak(share=6)
def test_a_postgresql_that_ends_and_comes_back_loses_no_acknowledged_swap(
    stoppable_postgres, stoppable_url, make_service, seed, report, soak_seconds
):
    services = [make_service(stoppable_url) for _ in range(2)]
    ports = [service.find_port for service in services]
    load = Load(ports, seed)
    rounds_count = 0

    with load.running():
        for rng in rounds(seed, soak_seconds):
            # As for an update, and as at a power cut.
            for end in (stoppable_postgres.stop, stoppable_postgres.kill):
                load.wait_for_answers(rng.randint(1, 150))
                time.sleep(rng.uniform(0, 0.01))
                end()
                stoppable_postgres.start()
            load.wait_for_answers(1)
            rounds_count += 1

    counts = load.assert_nothing_lost(stoppable_url)
    report(f"stops and kills {rounds_count}, {line_of(counts)}")


@pytest.mark.slow
def test_what_waits_for_a_frozen_postgresql_ends_in_time(
    stoppable_postgres, stoppable_url, make_service
):
    service = make_service(stoppable_url, workers=1)
    with closing(Api.of_url(service.url)) as api:
        item = api.mint("+5.a")
        assert api.get("/readyz").status_code == 200
        stoppable_postgres.freeze()
        try:
            begun_at = time.monotonic()
            unready = api.get("/readyz")
            unready_s = time.monotonic() - begun_at
            answer = api.swap(f"+5.{item}.a", f"+5.{item}.b")
            answered_s = time.monotonic() - begun_at - unready_s
            stopped_at = time.monotonic()
            assert service.stop() == 0
            stopped_s = time.monotonic() - stopped_at
        finally:
            stoppable_postgres.thaw()

    assert refusal(unready) == refusal(answer) == UNAVAILABLE
    # Two more for a busy machine.
    assert unready_s < PROBE_SECONDS_MAX + 2.0
    assert answered_s < SECONDS_MAX + 2.0
    assert stopped_s < 10.0


def test_a_frozen_postgresql_is_refused_soon_and_used_again_at_once(
    stoppable_postgres, stoppable_url, make_service, seed, report
):
    service = make_service(stoppable_url, workers=1)
    load = Load([service.find_port], seed)

    with load.running():
        load.wait_for_answers(50)
        stoppable_postgres.freeze()
        frozen_at = time.monotonic()
        try:
            # Once one client was refused, others hold each connection that there may
            # be.
            load.wait_for_answers(1, "unanswered")
            refused_s = time.monotonic() - frozen_at
        finally:
            stoppable_postgres.thaw()
        thawed_at = time.monotonic()
        load.wait_for_answers(1)
        served_s = time.monotonic() - thawed_at
        load.wait_for_answers(50)

    counts = load.assert_nothing_lost(stoppable_url)
    assert load.fates.count("503 overloaded") > 0
    # Two more for a busy machine.
    assert refused_s < POOL_TIMEOUT_S + 2.0
    assert served_s < 2.0
    seconds = f"refused after {refused_s:.1f} s, served after {served_s:.2f} s"
    report(f"{seconds}, {line_of(counts)}")
