"""Sixteen clients with a journal each, and what their journals say of a ledger."""

import random
import threading
import time
from collections import Counter
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager

from tests.faults.journal import JournalClient, Sender
from tests.support.ledger_view import ledger_view
from tests.support.waiting import wait_until

CLIENTS_COUNT = 16


def line_of(counts):
    """Return what is printed at the end; what was lost or doubled has failed it."""
    names = [
        "kills",
        "acknowledged",
        "unanswered",
        "found done",
        "lost",
        "doubled",
        "audits clean",
    ]
    return ", ".join(f"{name} {counts[name]}" for name in names)


class Load:
    """The clients of one run."""

    def __init__(self, find_ports, seed, *, looks_up=True, make_sender=Sender):
        """`find_ports` find the service, one or several: clients spread over them."""
        self.clients = [
            JournalClient(
                make_sender(find_ports[number % len(find_ports)]),
                seed + number,
                looks_up=looks_up,
            )
            for number in range(CLIENTS_COUNT)
        ]

    @contextmanager
    def running(self):
        """Run all clients until the block ends and each knows how its requests did."""
        stop = threading.Event()
        with ThreadPoolExecutor(len(self.clients)) as pool:
            self._futures = [pool.submit(client.run, stop) for client in self.clients]
            try:
                yield
            finally:
                stop.set()
            wait(self._futures, return_when=FIRST_EXCEPTION)
            for future in self._futures:
                future.result()
        for client in self.clients:
            client.sender.close()

    def entries(self):
        return [entry for client in self.clients for entry in client.journal]

    def acknowledged_count(self):
        return sum(entry.is_acknowledged for entry in self.entries())

    def unanswered_count(self):
        return sum(client.unanswered_count for client in self.clients)

    def unavailable_count(self):
        """Return how many of the unanswered were answered 503."""
        return sum(client.sender.unavailable_count for client in self.clients)

    def wait_for_answers(self, count):
        """Wait until so many more requests were answered, or a client has failed."""
        goal = len(self.entries()) + count

        def is_reached():
            for future in self._futures:
                if future.done():
                    future.result()
            return len(self.entries()) >= goal

        wait_until(is_reached)


def assert_nothing_lost(load, find_port, database_url, *, operations_before=0):
    """Compare journals, service and ledger, which audits clean; return the counts."""
    spent = {raw for entry in load.entries() for raw in entry.inputs}
    known = [raw for entry in load.entries() for raw in entry.outputs]
    with closing(Sender(find_port)) as sender:
        states = dict(zip(known, sender.check(known), strict=True))
    assert states == {raw: "spent" if raw in spent else "unspent" for raw in known}
    assert {*known} - spent == {raw for client in load.clients for raw in client.wallet}
    assert (
        len(operations(database_url)) - operations_before == load.acknowledged_count()
    )
    with ledger_view(database_url) as ledger:
        completed = {
            f"/v1/offers/{row[0]}/complete" for row in ledger.rows()["offers"] if row[2]
        }
    assert {
        entry.path for entry in load.entries() if "complete" in entry.path
    } <= completed
    return Counter(
        {
            "acknowledged": load.acknowledged_count(),
            "unanswered": load.unanswered_count(),
            "found done": sum(client.found_done_count for client in load.clients),
            "audits clean": 1,
        }
    )


def soak(find_ports, database_url, torment, *, seed, seconds):
    """Torment a service under load, in rounds.

    After each, nothing may be lost or doubled.

    `torment` gets the load and a random generator, and returns what it counted, kills
    at least. The services are started, or starting; a round leaves them up. Return the
    counts of all rounds: at least one is run, however short the time.
    """
    rng = random.Random(seed)
    deadline = time.monotonic() + seconds
    counts = Counter()
    while not counts or time.monotonic() < deadline:
        before = len(operations(database_url))
        load = Load(find_ports, rng.getrandbits(32))
        with load.running():
            counts += torment(load, rng)
        counts += assert_nothing_lost(
            load, find_ports[0], database_url, operations_before=before
        )
    assert counts["acknowledged"] > counts["kills"]
    return counts


def operations(database_url):
    """Return the operations of a ledger that audits clean."""
    with ledger_view(database_url) as ledger:
        ledger.assert_sound()
        return ledger.operations()
