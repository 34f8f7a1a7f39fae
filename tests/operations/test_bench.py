"""The benchmark counts what really happened, and makes big ledgers that are sound."""

from functools import partial
from itertools import cycle

import pytest

from bench.growth import preload
from bench.load import BROKEN, Stretch, quantile_ms, start_load, start_pool
from bench.payload import SecretKind, get, swaps
from bench.run import Row
from tests.support.ledger_view import ledger_view
from tests.support.requests import mint


@pytest.fixture(scope="module")
def pool():
    """Few processes of clients: each takes a while to start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bench.load.PROCESSES_MAX", 2)
        with start_pool() as pool:
            yield pool


def test_swaps_are_counted_as_a_ledger_that_was_made_big_has_them(
    gunicorn_service, client, database_url, pool
):
    secrets = [SecretKind.STRONG.make() for _ in range(10)]
    item = mint(client, *(f"+1.{secret}" for secret in secrets))
    client.application.extensions["deeds"].close()
    preload(database_url, item, 1_000)
    service = gunicorn_service(DATABASE_URL=database_url, WEB_CONCURRENCY="1")
    requests = [
        partial(swaps, f"+1.{item}.{secret}", SecretKind.STRONG) for secret in secrets
    ]

    answers = start_load(pool, service.port, requests, Stretch.soon(0.5))()
    again = start_load(pool, service.port, requests[:1], Stretch.soon(0.3))()

    assert set(answers) == {200}
    assert set(again) == {400}
    with ledger_view(database_url) as ledger:
        ledger.assert_sound()
        # The last answer of a client may come when it does not count any more.
        swapped = len(ledger.spent(item))
        assert swapped - len(requests) <= len(answers[200]) <= swapped
        assert len(ledger.live(item)) == 1_010


def test_refusals_of_the_warm_up_show_and_no_answer_is_broken(gunicorn_service, pool):
    service = gunicorn_service(WEB_CONCURRENCY="1")
    requests = [partial(cycle, [get("/v1/info"), get("/v1/none")])]

    warm = start_load(pool, service.port, requests, Stretch.soon(0.0, warm_up_s=0.5))()
    gone = start_load(pool, 1, requests, Stretch.soon(0.2, interval_s=0.1))()

    assert set(warm) == {404}
    assert set(gone) == {BROKEN}


def test_a_row_passes_if_its_median_does_and_nothing_was_refused():
    assert Row("", "≥ 0.5", [0.1, 0.5, 9.0]).cells()[2:] == ("0.5", "0.1", "9", "pass")
    assert Row("", "≤ 50 ms", [51.0]).cells()[-1] == "short"
    assert Row("", "≤ 50 ms", [1.0], 3).cells()[-1] == "short, 3 refused"
    assert quantile_ms([0.001] * 99 + [1.0], 0.99) == pytest.approx(1)
