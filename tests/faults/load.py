"""Sixteen clients with a journal each, and what their journals say of a ledger."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager

from storage.engine import make_engine, parse_database_url
from tests.faults.journal import JournalClient
from tests.faults.sender import Sender
from tests.support.ledger_view import LedgerView
from tests.support.waiting import wait_until

CLIENTS_COUNT = 16


def line_of(counts: Counter[str]) -> str:
    """Return what is printed at the end of a test."""
    names = ["kills", "acknowledged", "unanswered", "found done", "lost", "doubled", "audits clean"]
    return ", ".join(f"{name} {counts[name]}" for name in names)


class Load:
    """The clients of one run."""

    def __init__(self, find_ports: Sequence[Callable[[], int]], seed: int) -> None:
        """Take what finds the service, one or several: clients spread over them."""
        self.stop = threading.Event()
        self._senders = [
            Sender(find_ports[number % len(find_ports)], self.stop)
            for number in range(CLIENTS_COUNT)
        ]
        self.clients = [
            JournalClient(sender, seed + number) for number, sender in enumerate(self._senders)
        ]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run all clients until the block ends, and until each knows how its requests ended."""
        with ThreadPoolExecutor(len(self.clients)) as pool:
            self._futures = [pool.submit(client.run) for client in self.clients]
            try:
                yield
            finally:
                self.stop.set()
            wait(self._futures, return_when=FIRST_EXCEPTION)
            for future in self._futures:
                future.result()
        for sender in self._senders:
            sender.close()

    def acknowledged_count(self) -> int:
        return sum(len(client.acknowledged()) for client in self.clients)

    def wait_for_answers(self, count: int) -> None:
        """Wait until so many more requests were answered, or a client has met what may not be."""
        goal = sum(len(client.journal) for client in self.clients) + count

        def is_reached() -> bool:
            for future in self._futures:
                if future.done():
                    future.result()
            return sum(len(client.journal) for client in self.clients) >= goal

        wait_until(is_reached)

    def tally(self, find_port: Callable[[], int], operations_count: int) -> Counter[str]:
        """Compare the journals with what the service says now and how many operations it has."""
        sender = Sender(find_port, self.stop)
        entries = [entry for client in self.clients for entry in client.journal]
        spent = {raw for entry in entries for raw in entry.inputs}
        known = [raw for entry in entries for raw in entry.outputs]
        states = dict(zip(known, sender.check(known), strict=True))
        sender.close()
        live = {raw for raw in known if raw not in spent}
        assert live == {raw for client in self.clients for raw in client.wallet}
        return Counter(
            {
                "acknowledged": sum(entry.is_acknowledged for entry in entries),
                "unanswered": sum(client.unanswered_count for client in self.clients),
                "found done": sum(client.found_done_count for client in self.clients),
                "lost": sum(
                    states[raw] == "unknown" or (raw in live and states[raw] == "spent")
                    for raw in known
                ),
                "doubled": sum(states[raw] == "unspent" for raw in spent)
                + max(0, operations_count - len(entries)),
            }
        )


def assert_nothing_lost(
    load: Load, find_port: Callable[[], int], database_url: str, *, operations_before: int = 0
) -> Counter[str]:
    """Return the counts of a run: none lost, none doubled, and the ledger audits clean."""
    with ledger_view(database_url) as ledger:
        operations_count = len(ledger.operations()) - operations_before
        ledger.assert_sound()
    counts = load.tally(find_port, operations_count)
    counts["audits clean"] = 1
    assert (counts["lost"], counts["doubled"]) == (0, 0), counts
    assert operations_count == counts["acknowledged"]
    return counts


@contextmanager
def ledger_view(database_url: str) -> Iterator[LedgerView]:
    """Look into the database, on no connection that outlives the block."""
    engine = make_engine(parse_database_url(database_url))
    try:
        yield LedgerView(engine)
    finally:
        engine.dispose()
