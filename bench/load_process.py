"""A process that drives clients, all of them in one loop: `bench.load` starts and asks it."""

import gc
import select
import signal
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from multiprocessing.connection import Connection

from bench.client import Client
from bench.payload import Requests

# Clients that wait for an answer longer than this are counted as errors and given up.
ANSWER_SECONDS_MAX = 60.0

# A client whose connection breaks this often is given up, so that no load runs for ever.
ERRORS_PER_CLIENT_MAX = 20


@dataclass(frozen=True, slots=True)
class LoadOrder:
    """What to send: one element of `requests` a client."""

    port: int
    requests: tuple[Requests, ...]
    warm_up_seconds: float


@dataclass(slots=True)
class Tally:
    """What the clients of a process have seen. Times are of the clock that all processes share."""

    statuses: Counter[int] = field(default_factory=Counter)
    connection_errors_count: int = 0
    # Clients that had nothing left to send before the time was over.
    ran_out_count: int = 0
    # From before the first byte was sent to after the last was received, of each 200.
    latencies_s: list[float] = field(default_factory=list)
    started_at_s: float = 0.0
    ended_at_s: float = 0.0
    cpu_s: float = 0.0


class Drive:
    """One stretch of a load: every client sends until the time is over, and is waited for."""

    def __init__(self, clients: Sequence[Client], seconds: float) -> None:
        """Take the clients and how long they go on sending."""
        self._clients = clients
        self._waiting: dict[int, Client] = {}
        self._poll = select.poll()
        self._tally = Tally(started_at_s=time.monotonic(), ended_at_s=time.monotonic())
        self._deadline_s = self._tally.started_at_s + seconds

    def run(self) -> Tally:
        """Run it and return what came of it."""
        cpu_before_s = time.process_time()
        for client in self._clients:
            if client.has_next:
                self._send(client)
            else:
                self._tally.ran_out_count += 1
        while self._waiting:
            ready = self._poll.poll(ANSWER_SECONDS_MAX * 1000)
            if not ready:
                self._give_up()
            for number, _ in ready:
                self._receive(number)
        self._tally.cpu_s = time.process_time() - cpu_before_s
        return self._tally

    def _send(self, client: Client) -> None:
        try:
            client.send()
        except OSError:
            self._recover(client)
        else:
            self._waiting[client.fileno()] = client
            self._poll.register(client, select.POLLIN)

    def _receive(self, number: int) -> None:
        client = self._waiting[number]
        try:
            status = client.receive()
            if status is None:
                return
            more = self._count(status, client)
            if more and client.is_connected:
                client.send()
                return
        except OSError:
            self._stop_waiting(number)
            self._recover(client)
        else:
            self._stop_waiting(number)
            if more:
                self._send(client)

    def _count(self, status: int, client: Client) -> bool:
        """Count an answer; return whether the client goes on."""
        now_s = self._tally.ended_at_s = time.monotonic()
        self._tally.statuses[status] += 1
        if status == HTTPStatus.OK:
            self._tally.latencies_s.append(now_s - client.sent_at_s)
        if now_s >= self._deadline_s:
            return False
        self._tally.ran_out_count += not client.has_next
        return client.has_next

    def _recover(self, client: Client) -> None:
        """Count a connection that broke; send the same request again on a new one."""
        client.close()
        client.errors_count += 1
        self._tally.connection_errors_count += 1
        if client.errors_count < ERRORS_PER_CLIENT_MAX and time.monotonic() < self._deadline_s:
            self._send(client)

    def _stop_waiting(self, number: int) -> None:
        del self._waiting[number]
        self._poll.unregister(number)

    def _give_up(self) -> None:
        for number, client in list(self._waiting.items()):
            self._stop_waiting(number)
            client.close()
            self._tally.connection_errors_count += 1


def serve_loads(orders: Connection) -> None:
    """Serve `bench.load` until it sends None or is gone.

    For each order: make all requests, warm up, send that stretch's tally, wait for the seconds of
    the measured stretch, send its tally.
    """
    # Ctrl-C is for the process that gives the orders; it ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError):
        while (order := orders.recv()) is not None:
            _serve_load(order, orders)


def _serve_load(order: LoadOrder, orders: Connection) -> None:
    clients = [Client(order.port, requests.build()) for requests in order.requests]
    _drive_and_send(clients, order.warm_up_seconds, orders)
    _drive_and_send(clients, float(orders.recv()), orders)
    for client in clients:
        client.close()


def _drive_and_send(clients: Sequence[Client], seconds: float, orders: Connection) -> None:
    # Collecting garbage would stop the clients for as long as it takes to look at every request.
    gc.collect()
    gc.disable()
    orders.send(Drive(clients, seconds).run() if seconds else Tally())
    gc.enable()
