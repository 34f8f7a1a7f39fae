"""The benchmark counts what really happened, and makes big ledgers that are sound."""

from functools import partial

import pytest

from bench.growth import preload
from bench.load import Stretch, start_load, start_pool
from bench.payload import SecretKind, swaps
from tests.support.api import served
from tests.support.ledger_view import LedgerView


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
    requests = [
        partial(swaps, f"+1.{item}.{secret}", SecretKind.STRONG) for secret in secrets
    ]

    with start_pool() as pool:
        # The processes import what they run before anything is counted.
        start_load(pool, service.port, requests, Stretch.soon(0.0))()
        answers = start_load(pool, service.port, requests, Stretch.soon(1.0))()
        again = start_load(pool, service.port, requests[:1], Stretch.soon(0.3))()

    assert set(answers) == {200}
    assert set(again) == {400}
    ledger = LedgerView(database_url)
    ledger.assert_sound()
    # The last answer of a client may come when it does not count any more.
    swapped = len(ledger.spent(item))
    assert swapped - len(requests) <= len(answers[200]) <= swapped
    assert len(ledger.live(item)) == 1_010
