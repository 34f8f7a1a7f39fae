"""The benchmark counts what really happened, and makes big ledgers that are sound."""

from functools import partial
from itertools import islice

import pytest

from bench.growth import preload
from bench.load import Stretch, start_load, start_pool
from bench.payload import SecretKind, swaps
from tests.support.api import served
from tests.support.ledger_view import LedgerView

SWAPS_COUNT = 20


def some_swaps(raw_output):
    """Yield the requests of a client that ends by itself."""
    return islice(swaps(raw_output, SecretKind.STRONG), SWAPS_COUNT)


@pytest.mark.slow
def test_swaps_are_counted_as_a_ledger_that_was_made_big_has_them(
    gunicorn_service, settings, database_url, monkeypatch
):
    monkeypatch.setattr("bench.load.PROCESSES_MAX", 2)  # Each takes a while to start.
    secrets = [SecretKind.STRONG.make() for _ in range(10)]
    with served(settings) as api:
        item = api.mint(*(f"+1.{secret}" for secret in secrets))
    preload(database_url, item, 1_000)
    service = gunicorn_service(DATABASE_URL=database_url)
    requests = [partial(some_swaps, f"+1.{item}.{secret}") for secret in secrets]

    with start_pool() as pool:
        # Longer than that takes on any machine: it ends with the last request.
        stretch = Stretch.soon(60.0)
        answers = start_load(pool, service.port, requests, stretch)()
        again = start_load(pool, service.port, requests[:1], stretch)()

    ledger = LedgerView(database_url)
    ledger.assert_sound()
    swapped = len(ledger.spent(item))
    assert (set(answers), len(answers[200])) == ({200}, swapped)
    assert swapped == len(requests) * SWAPS_COUNT
    # Each spends what was spent, or what the one before it did not create.
    assert (set(again), len(again[400])) == ({400}, SWAPS_COUNT)
    assert len(ledger.live(item)) == 1_010
