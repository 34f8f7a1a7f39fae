"""Sixteen clients with a journal, which is compared with the ledger afterwards.

A test of a fault is written like this:

    load = Load([service.find_port], seed)
    with load.running():
        load.wait_for_answers(100)
        …the fault, and its end…
        load.wait_for_answers(100)
    load.assert_nothing_lost(database_url)
"""

import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager

from tests.support.api import Api
from tests.support.journal import JournalClient, Sender
from tests.support.ledger_view import LedgerView
from tests.support.waiting import wait_until

CLIENTS_COUNT = 16

# As many as one request may contain.
CHECKED_AT_ONCE = 256


class Load:
    """The clients of one run."""

    def __init__(self, find_ports, seed, *, make_sender=Sender, **habits):
        """Spread the clients over services.

        Each of `find_ports` returns the port of a service.
        """
        self.find_ports = find_ports
        # The threads of all clients append to both.
        self.entries, self.fates = [], []
        self.clients = []
        for number in range(CLIENTS_COUNT):
            sender = make_sender(find_ports[number % len(find_ports)])
            lists = (self.entries, self.fates)
            self.clients.append(JournalClient(sender, seed + number, *lists, **habits))

    @contextmanager
    def running(self):
        """Run all clients until the block ends and their last requests are answered."""
        stop = threading.Event()
        with ExitStack() as stack:
            for client in self.clients:
                stack.callback(client.sender.close)
            pool = stack.enter_context(ThreadPoolExecutor(len(self.clients)))
            # Runs before the pool waits for its threads, even if the block fails.
            stack.callback(stop.set)
            self._futures = [pool.submit(client.run, stop) for client in self.clients]
            yield
        for future in self._futures:
            future.result()

    def wait_for_answers(self, count, fate="acknowledged"):
        """Wait for `count` more of a fate; fail if a client fails meanwhile."""
        goal = self.fates.count(fate) + count
        wait_until(
            lambda: (
                self.fates.count(fate) >= goal
                or any(future.done() for future in self._futures)
            )
        )
        for future in self._futures:
            if future.done():
                future.result()

    def assert_nothing_lost(self, database_url):
        """Compare journal, service and ledger, whose invariants hold; return counts."""
        spent = {raw for entry in self.entries for raw in entry.inputs}
        known = [raw for entry in self.entries for raw in entry.outputs]
        states = []
        url = f"http://127.0.0.1:{self.find_ports[0]()}"
        with closing(Api.of_url(url)) as api:
            for start in range(0, len(known), CHECKED_AT_ONCE):
                states += api.check(*known[start : start + CHECKED_AT_ONCE])
        assert dict(zip(known, states, strict=True)) == {
            raw: "spent" if raw in spent else "unspent" for raw in known
        }
        held = {raw for client in self.clients for raw in client.wallet}
        assert {*known} - spent == held
        assert all(entry.is_acknowledged for entry in self.entries)
        assert len(operations(database_url)) == len(self.entries)
        fates = ("acknowledged", "unanswered", "found done")
        return Counter({fate: self.fates.count(fate) for fate in fates}, audits=1)


def rounds(seed, seconds):
    """Yield a random generator for one round, and for more while there is time."""
    rng = random.Random(seed)
    deadline = time.monotonic() + seconds
    yield rng
    while time.monotonic() < deadline:
        yield rng


def line_of(counts):
    """Return the line to report. A test that loses or doubles anything has failed."""
    text = ", ".join(f"{name} {count}" for name, count in counts.items())
    return f"{text}, lost 0, doubled 0"


def operations(database_url):
    """Return the operations of a ledger whose invariants hold."""
    ledger = LedgerView(database_url)
    ledger.assert_sound()
    return ledger.operations()
