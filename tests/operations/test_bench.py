"""The benchmark counts what really happened, and makes big ledgers that are sound."""

from functools import partial
from itertools import cycle

import pytest

from bench.growth import preload
from bench.load import BROKEN, Stretch, quantile_ms, start_load, start_pool
from bench.payload import SecretKind, get, swaps
from bench.run import Row
from tests.support.api import served
from tests.support.ledger_view import ledger_view


@pytest.fixture(scope="module")
def pool():
    """Few processes of clients: each takes a while to start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bench.load.PROCESSES_MAX", 2)
        with start_pool() as pool:
            yield pool


@pytest.mark.slow
def test_swaps_are_counted_as_a_ledger_that_was_made_big_has_them(
    gunicorn_service, settings, database_url, pool
):
    secrets = [SecretKind.STRONG.make() for _ in range(10)]
    with served(settings) as api:
        item = api.mint(*(f"+1.{secret}" for secret in secrets))
    preload(database_url, item, 1_000)
    service = gunicorn_service(DATABASE_URL=database_url)
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


@pytest.mark.slow
def test_refusals_of_the_warm_up_are_counted(gunicorn_service, pool):
    service = gunicorn_service()
    requests = [partial(cycle, [get("/v1/info"), get("/v1/none")])]

    warm = start_load(pool, service.port, requests, Stretch.soon(0.0, warm_up_s=0.5))()

    assert set(warm) == {404}


@pytest.mark.slow
def test_no_answer_counts_as_broken(pool):
    stretch = Stretch.soon(0.2, interval_s=0.1)

    answers = start_load(pool, 1, [partial(cycle, [get("/v1/info")])], stretch)()

    assert set(answers) == {BROKEN}


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        (Row("", "≥ 0.5", [0.1, 0.5, 9.0]), ("0.5", "0.1", "9", "pass")),
        (Row("", "≤ 50 ms", [51.0]), ("51", "51", "51", "short")),
        (Row("", "≤ 50 ms", [1.0], 3), ("1", "1", "1", "short, 3 refused")),
    ],
    ids=["met", "missed", "refused"],
)
def test_a_row_passes_if_its_median_does_and_nothing_was_refused(row, shown):
    assert row.cells()[2:] == shown


def test_a_quantile_is_the_latency_that_its_share_did_not_exceed():
    assert quantile_ms([0.001] * 99 + [1.0], 0.99) == pytest.approx(1)
