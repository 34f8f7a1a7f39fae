"""A flood of wrong ordinary secrets is refused in time and within memory."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import pairwise

from deeds.domain.raw_output import make_strong_secret
from deeds.server.cpus import usable_cpus_count
from tests.support.racing import client_of_port
from tests.support.serving import children_rss_mb
from tests.support.waiting import wait_until

# What others have in flight at once, and how often each of them swaps.
OTHERS_COUNT = 5
SWAPS_COUNT = 10

# More than the pool takes of one client (18) and fewer than the threads (32) of the one
# process.
FLOOD_CLIENTS_COUNT = 28
STRONG_SWAPS_COUNT = 50


@contextmanager
def flooding(port, path, outputs, clients_count):
    """Let one client send more than it may until the block ends; yield the statuses."""
    statuses, is_over = [], threading.Event()

    def flood():
        with client_of_port(port, {"X-Forwarded-For": "198.51.100.1"}) as send:
            while not is_over.is_set():
                statuses.append(send(path, {"outputs": outputs})[0])

    with ThreadPoolExecutor(clients_count) as pool:
        floods = [pool.submit(flood) for _ in range(clients_count)]
        try:
            wait_until(lambda: 503 in statuses)
            yield statuses
        finally:
            is_over.set()
        for each in floods:
            each.result()


def swap_often(send, secrets):
    """Mint under the first secret, swap it from each to the next; return statuses."""
    status, minted = send("/v1/mint", {"outputs": [f"+1.{secrets[0]}"]})
    assert status == 200, minted
    raws = [f"+1.{minted['itemId']}.{secret}" for secret in secrets]
    return [
        send("/v1/swap", {"inputs": [spent], "outputs": [created]})[0]
        for spent, created in pairwise(raws)
    ]


def swap_from(port, number):
    """Swap ordinary secrets from an address of this number."""
    with client_of_port(port, {"X-Forwarded-For": f"192.0.2.{number}"}) as send:
        return swap_often(send, range(SWAPS_COUNT + 1))


def test_one_client_that_mints_much_turns_away_no_swap_of_others(gunicorn_service):
    service = gunicorn_service(
        WEB_CONCURRENCY="1", DEEDS_TRUSTED_PROXIES="1", DEEDS_ARGON2="m=1024,t=1,p=1"
    )
    many = [f"+1.secret {n}" for n in range(256)]
    with (
        flooding(service.port, "/v1/mint", many, 10) as minted,
        ThreadPoolExecutor(OTHERS_COUNT) as others,
    ):
        statuses = list(
            others.map(partial(swap_from, service.port), range(OTHERS_COUNT))
        )

    assert statuses == [[200] * SWAPS_COUNT] * OTHERS_COUNT
    assert set(minted) == {200, 503}


def test_a_flood_of_wrong_secrets_is_refused_and_wallets_go_on(
    gunicorn_service,
):
    service = gunicorn_service(WEB_CONCURRENCY="1", DEEDS_RATE_LIMITS="failures=off")
    secrets = [make_strong_secret() for _ in range(STRONG_SWAPS_COUNT + 1)]
    with client_of_port(service.port) as send:
        item = send("/v1/mint", {"outputs": ["+1.ordinary"]})[1]["itemId"]
        before_mb = max(children_rss_mb(service.process.pid))
        wrong = [f"+1.{item}.wrong", f"+1.{item}.wrong too"]
        with flooding(service.port, "/v1/check", wrong, FLOOD_CLIENTS_COUNT) as answers:
            statuses = swap_often(send, secrets)
        after_mb = max(children_rss_mb(service.process.pid))

    assert statuses == [200] * STRONG_SWAPS_COUNT
    assert set(answers) == {200, 503}
    # One evaluation at the default cost in each thread that hashes, and what 28
    # requests may take.
    assert after_mb - before_mb <= usable_cpus_count() * 7.34 + 30.0
