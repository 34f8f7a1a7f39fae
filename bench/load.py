"""Clients in separate processes; each sends its next request after an answer.

A client is a blocking thread. It is written by hand, because a general HTTP client
takes more CPU than the service. It reads only the status and the length of an answer.
"""

import math
import multiprocessing
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus

from bench.payload import ANSWER_SECONDS_MAX, Requests

# Few enough that a fast server never waits for its clients.
CLIENTS_PER_PROCESS = 8
PROCESSES_MAX = 12

# The status of an incomplete answer, and the client's pause after it.
BROKEN = 0
BROKEN_PAUSE_S = 0.02

# A request with one of these statuses is sent again.
_RETRIED_STATUSES = frozenset({BROKEN, 429, 503})


@dataclass(frozen=True, slots=True)
class Stretch:
    """When clients send: at most one request per `interval_s`, after a warm-up."""

    start_s: float
    counted_from_s: float
    end_s: float
    interval_s: float = 0.0

    @classmethod
    def soon(
        cls, seconds: float, warm_up_s: float = 0.0, interval_s: float = 0.0
    ) -> "Stretch":
        start_s = time.monotonic() + 0.2  # Time for all processes to start.
        counted_from_s = start_s + warm_up_s
        return cls(start_s, counted_from_s, counted_from_s + seconds, interval_s)


# The latencies in seconds by status. Outside the measured time only failures are
# recorded.
Answers = dict[int, list[float]]


def merged(parts: Iterable[Answers]) -> Answers:
    whole: Answers = {}
    for part in parts:
        for status, latencies_s in part.items():
            whole.setdefault(status, []).extend(latencies_s)
    return whole


def quantile_ms(latencies_s: Sequence[float], share: float) -> float:
    """Return the latency that `share` of the answers did not exceed."""
    if not latencies_s:
        return math.nan
    return sorted(latencies_s)[max(0, math.ceil(share * len(latencies_s)) - 1)] * 1000


def start_pool() -> ProcessPoolExecutor:
    """Start the clients' processes, which share only a pipe with this one."""
    pool = ProcessPoolExecutor(
        PROCESSES_MAX, mp_context=multiprocessing.get_context("spawn")
    )
    # Start all of them now, because starting one later would distort a measurement.
    list(pool.map(time.sleep, [1.0] * PROCESSES_MAX))
    return pool


def start_load(
    pool: ProcessPoolExecutor, port: int, requests: Sequence[Requests], stretch: Stretch
) -> Callable[[], Answers]:
    """Start a client for each element; return a function that waits for the answers."""
    step = max(CLIENTS_PER_PROCESS, math.ceil(len(requests) / PROCESSES_MAX))
    parts = [requests[first : first + step] for first in range(0, len(requests), step)]
    futures = [pool.submit(_serve, port, part, stretch) for part in parts]
    return lambda: merged(each.result() for each in futures)


def _serve(port: int, requests: Sequence[Requests], stretch: Stretch) -> Answers:
    """Run clients in this process, until all have ended."""
    with ThreadPoolExecutor(len(requests)) as pool:
        return merged(
            pool.map(lambda each: _run_client(port, each(), stretch), requests)
        )


def _run_client(port: int, requests: Iterator[bytes], stretch: Stretch) -> Answers:
    answers: Answers = {}
    connection: socket.socket | None = None
    request, next_s = next(requests, None), stretch.start_s
    while request and next_s < stretch.end_s:
        time.sleep(max(0.0, next_s - time.monotonic()))
        sent_s = time.monotonic()
        try:
            connection = connection or socket.create_connection(
                ("127.0.0.1", port), ANSWER_SECONDS_MAX
            )
            status = _ask(connection, request)
        except (OSError, ValueError):
            status, connection = BROKEN, None
        answered_s = time.monotonic()
        if b" HTTP/1.0\r\n" in request:
            connection = None
        if (
            status != HTTPStatus.OK
            or stretch.counted_from_s <= answered_s <= stretch.end_s
        ):
            answers.setdefault(status, []).append(answered_s - sent_s)
        if status not in _RETRIED_STATUSES:
            request = next(requests, None)
        # Do not catch up after a delay, because that would cause a burst.
        pause_s = BROKEN_PAUSE_S if status == BROKEN else stretch.interval_s
        next_s = max(answered_s, sent_s + pause_s)
    return answers


def _ask(connection: socket.socket, request: bytes) -> int:
    """Send a request, read the whole answer and return its status."""
    connection.sendall(request)
    data = b""
    while b"\r\n\r\n" not in data:
        data += _receive(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    _, _, length = head.lower().partition(b"\r\ncontent-length:")
    missing_count = int(length.partition(b"\r\n")[0]) - len(body)
    while missing_count > 0:
        missing_count -= len(_receive(connection))
    return int(head[9:12])


def _receive(connection: socket.socket) -> bytes:
    data = connection.recv(65_536)
    if not data:
        raise ConnectionResetError("closed before the answer was whole")
    return data
