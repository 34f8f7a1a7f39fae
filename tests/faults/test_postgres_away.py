"""PostgreSQL stops, is killed or hangs: 503 until it is back, and nothing is lost."""

import time
from contextlib import closing, contextmanager

import pytest

from parts.postgresql.database import PROBE_SECONDS_MAX
from parts.postgresql.pool import POOL_TIMEOUT_S
from tests.support.api import UNAVAILABLE, Api, refusal
from tests.support.load import Load, line_of, rounds

pytestmark = pytest.mark.slow

# After 9 s gunicorn kills its workers.
STOP_SECONDS_MAX = 8.0


@pytest.fixture
def database_url(stoppable_postgres):
    url = stoppable_postgres.cluster.create_migrated_database()
    yield url
    stoppable_postgres.cluster.drop_database(url)


@pytest.mark.soak(share=6)
def test_a_postgresql_that_ends_and_comes_back_loses_no_acknowledged_swap(
    stoppable_postgres, database_url, make_service, seed, report, soak_seconds
):
    services = [make_service(database_url) for _ in range(2)]
    ports = [service.find_port for service in services]
    load = Load(ports, seed)
    rounds_count = 0

    with load.running():
        for rng in rounds(seed, soak_seconds):
            # As for an update, and as in a power cut.
            for end in (stoppable_postgres.stop, stoppable_postgres.kill):
                load.wait_for_answers(rng.randint(1, 150))
                time.sleep(rng.uniform(0, 0.01))
                end()
                stoppable_postgres.start()
            load.wait_for_answers(1)
            rounds_count += 1

    counts = load.assert_nothing_lost(database_url)
    report(f"stops and kills {rounds_count}, {line_of(counts)}")


def test_a_frozen_postgresql_is_refused_soon_and_used_again_at_once(
    stoppable_postgres, database_url, make_service, seed, report
):
    service = make_service(database_url, workers=1)
    load = Load([service.find_port], seed)

    with load.running():
        load.wait_for_answers(50)
        with frozen(stoppable_postgres) as seconds_since:
            # After the first refusal, the other clients hold all connections.
            load.wait_for_answers(1, "unanswered")
            refused_s = seconds_since()
        load.wait_for_answers(1)
        served_s = seconds_since() - refused_s
        load.wait_for_answers(50)
    counts = load.assert_nothing_lost(database_url)
    with closing(Api.of_url(service.url)) as api:
        # The process checks for this operation within a second, and when it ends.
        api.mint("+1.a")
    with frozen(stoppable_postgres) as seconds_since:
        with closing(Api.of_url(service.url)) as api:
            unready = api.get("/readyz")
        unready_s = seconds_since()
        assert service.stop() == 0
        stopped_s = seconds_since() - unready_s

    assert load.fates.count("503 overloaded") > 0
    assert refusal(unready) == UNAVAILABLE
    # Two seconds more for a busy machine.
    assert refused_s < POOL_TIMEOUT_S + 2.0
    assert unready_s < PROBE_SECONDS_MAX + 2.0
    assert served_s < 2.0
    assert stopped_s < STOP_SECONDS_MAX
    seconds = f"refused after {refused_s:.1f} s, served after {served_s:.2f} s"
    report(f"{seconds}, {line_of(counts)}")


@contextmanager
def frozen(stoppable_postgres):
    """Freeze the server within the block; yield a function: the seconds since then."""
    stoppable_postgres.freeze()
    frozen_at = time.monotonic()
    try:
        yield lambda: time.monotonic() - frozen_at
    finally:
        stoppable_postgres.thaw()
