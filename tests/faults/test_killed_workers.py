"""Worker processes are killed while they swap: every swap is wholly there or wholly not."""

import http.client
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from uuid import uuid4

from deeds.domain.raw_output import make_strong_secret
from tests.support.racing import Racers, client_of_port
from tests.support.waiting import wait_until

HOLDERS_COUNT = 6
KILLS_COUNT = 4
SWAPS_BETWEEN_KILLS = 30

# What a client meets whose worker is gone.
CUT_OFF = (OSError, http.client.HTTPException, ValueError)


class Holder:
    """A holder of one output, who hands it over to a new secret again and again."""

    def __init__(self, racers, item, secret):
        self.racers = racers
        self.item = item
        self.live = f"+5.{item}.{secret}"
        self.swaps_count = 0

    def swap_until(self, stop):
        while not stop.is_set():
            new = f"+5.{self.item}.{make_strong_secret()}"
            body = {"inputs": [self.live], "outputs": [new]}
            assert self.send_until_answered(body, str(uuid4())) == (200, {"success": True})
            self.live = new
            self.swaps_count += 1

    def send_until_answered(self, body, key):
        """Send the same swap with the same key until it is known how it ended."""
        while True:
            try:
                return self.racers.send("/v1/swap", body, key)
            except CUT_OFF:
                continue


def children(pid):
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_killed_workers_lose_and_double_nothing(database_url, gunicorn_service, ledger):
    service = gunicorn_service(DATABASE_URL=database_url, WEB_CONCURRENCY="2")
    racers = Racers(partial(client_of_port, service.port))
    secrets = [make_strong_secret() for _ in range(HOLDERS_COUNT)]
    item = racers.mint(*(f"+5.{secret}" for secret in secrets))
    holders = [Holder(racers, item, secret) for secret in secrets]
    stop = threading.Event()

    def swaps_count():
        return sum(holder.swaps_count for holder in holders)

    with ThreadPoolExecutor(max_workers=HOLDERS_COUNT) as pool:
        futures = [pool.submit(holder.swap_until, stop) for holder in holders]
        try:
            for _ in range(KILLS_COUNT):
                goal = swaps_count() + SWAPS_BETWEEN_KILLS
                wait_until(lambda goal=goal: swaps_count() >= goal)
                for worker in children(service.process.pid):
                    os.kill(worker, signal.SIGKILL)
        finally:
            stop.set()
        for future in futures:
            future.result()

    assert racers.check([holder.live for holder in holders]) == ["unspent"] * HOLDERS_COUNT
    assert ledger.live(item) == [5] * HOLDERS_COUNT
