"""A flood of wrong ordinary secrets is refused in time and within memory."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise

import pytest

from deeds.process import usable_cpus_count
from tests.support.api import Api
from tests.support.serving import children_rss_mb
from tests.support.strong_secrets import make_strong_secret
from tests.support.waiting import wait_until

# What others have in flight at once, and how often each of them swaps.
OTHERS_COUNT = 5
SWAPS_COUNT = 10

# More than the pool takes of one client (18) and fewer than the threads (32) of the one
# process.
FLOOD_CLIENTS_COUNT = 28
STRONG_SWAPS_COUNT = 50


@contextmanager
def flooding(service, path, outputs, clients_count):
    """Let one client send more than it may until the block ends; yield the statuses."""
    statuses, is_over = [], threading.Event()

    def flood():
        with service.open_api() as api:
            api.http.headers["X-Forwarded-For"] = "198.51.100.1"
            while not is_over.is_set():
                statuses.append(api.post(path, {"outputs": outputs}).status_code)

    with ThreadPoolExecutor(clients_count) as pool:
        floods = [pool.submit(flood) for _ in range(clients_count)]
        try:
            wait_until(lambda: 503 in statuses)
            yield statuses
        finally:
            is_over.set()
    for each in floods:
        each.result()


def swap_often(api, secrets):
    """Mint under the first secret, swap it from each to the next; return statuses."""
    item_id = api.mint(f"+1.{secrets[0]}")
    raws = [f"+1.{item_id}.{secret}" for secret in secrets]
    return [api.swap([old], [new]).status_code for old, new in pairwise(raws)]


@pytest.mark.slow
def test_one_client_that_mints_much_turns_away_no_swap_of_others(gunicorn_service):
    service = gunicorn_service(DEEDS_TRUSTED_PROXIES="1", DEEDS_ARGON2="m=1024,t=1,p=1")
    many = [f"+1.secret {n}" for n in range(256)]
    others = [Api.of_url(service.url) for _ in range(OTHERS_COUNT)]
    for number, other in enumerate(others):
        other.http.headers["X-Forwarded-For"] = f"192.0.2.{number}"
    secrets = [range(SWAPS_COUNT + 1)] * OTHERS_COUNT

    with (
        flooding(service, "/v1/mint", many, FLOOD_CLIENTS_COUNT) as minted,
        ThreadPoolExecutor(OTHERS_COUNT) as pool,
    ):
        statuses = list(pool.map(swap_often, others, secrets))

    for other in others:
        other.close()
    assert statuses == [[200] * SWAPS_COUNT] * OTHERS_COUNT
    assert set(minted) == {200, 503}


@pytest.mark.slow
def test_a_flood_of_wrong_secrets_is_refused_and_wallets_go_on(gunicorn_service):
    service = gunicorn_service(DEEDS_RATE_LIMITS="failures=off")
    secrets = [make_strong_secret() for _ in range(STRONG_SWAPS_COUNT + 1)]

    with service.open_api() as api:
        item_id = api.mint("+1.ordinary")
        wrong = [f"+1.{item_id}.wrong", f"+1.{item_id}.wrong too"]
        [before_mb] = children_rss_mb(service.process.pid)
        with flooding(service, "/v1/check", wrong, FLOOD_CLIENTS_COUNT) as checked:
            statuses = swap_often(api, secrets)
        [after_mb] = children_rss_mb(service.process.pid)

    assert statuses == [200] * STRONG_SWAPS_COUNT
    assert set(checked) == {200, 503}
    # One evaluation at the default cost in each thread that hashes, and what 28
    # requests may take.
    assert after_mb - before_mb <= usable_cpus_count() * 7.34 + 30.0
