"""A flood in a process of its own: so many requests a second, whether they are answered or not."""

import multiprocessing
import select
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from multiprocessing.connection import Connection

from bench.client import Client

POLL_MS = 5

# What a connection may send: more than there is time for.
REQUESTS_MAX = 100_000
STOP_SECONDS_MAX = 120.0


@dataclass(slots=True)
class Flooded:
    """What came of a flood."""

    seconds: float = 0.0
    sent_count: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    errors_count: int = 0
    # From before the first byte was sent to after the last was received, of each 503.
    refusals_s: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Return the requests that were sent a second."""
        return self.sent_count / self.seconds


@contextmanager
def flood(
    port: int, request: bytes, *, per_second: float, connections_count: int
) -> Iterator[list[Flooded]]:
    """Flood the port during the block; after it the list holds what came of that."""
    found: list[Flooded] = []
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    arguments = (port, request, per_second, connections_count, theirs)
    process = context.Process(target=_serve, args=arguments, daemon=True)
    process.start()
    try:
        ours.recv()
        yield found
        ours.send(None)
        found.append(ours.recv())
        process.join(STOP_SECONDS_MAX)
    finally:
        process.kill()
        process.join()
        process.close()
        ours.close()


def _serve(
    port: int, request: bytes, per_second: float, connections_count: int, pipe: Connection
) -> None:
    idle = [Client(port, [request] * REQUESTS_MAX) for _ in range(connections_count)]
    waiting: dict[int, Client] = {}
    sockets, found = select.poll(), Flooded()
    started_s = next_s = time.monotonic()
    pipe.send(None)
    while not pipe.poll():
        # Nothing is caught up with: a flood that was held back has no burst afterwards.
        if idle and time.monotonic() >= next_s:
            next_s = max(next_s + 1 / per_second, time.monotonic() - 1 / per_second)
            _send(idle.pop(), waiting, sockets, found)
        for number, _ in sockets.poll(POLL_MS if not idle else 1):
            _receive(number, idle, waiting, sockets, found)
    found.seconds = time.monotonic() - started_s
    # What the service has taken on is not left to whatever is measured next.
    deadline_s = time.monotonic() + STOP_SECONDS_MAX
    while waiting and time.monotonic() < deadline_s:
        for number, _ in sockets.poll(POLL_MS):
            _receive(number, idle, waiting, sockets, found)
    for client in (*idle, *waiting.values()):
        client.close()
    pipe.send(found)


def _send(client: Client, waiting: dict[int, Client], sockets: select.poll, found: Flooded) -> None:
    client.send()
    found.sent_count += 1
    waiting[client.fileno()] = client
    sockets.register(client, select.POLLIN)


def _receive(
    number: int,
    idle: list[Client],
    waiting: dict[int, Client],
    sockets: select.poll,
    found: Flooded,
) -> None:
    client = waiting[number]
    try:
        status = client.receive()
    except OSError:
        found.errors_count += 1
        status = 0
    if status is None:
        return
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        found.refusals_s.append(time.monotonic() - client.sent_at_s)
    if status:
        found.statuses[status] += 1
    sockets.unregister(number)
    del waiting[number]
    if not status:
        client.close()
    idle.insert(0, client)
