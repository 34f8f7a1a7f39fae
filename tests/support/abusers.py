"""Clients that send slowly, endlessly or too much, or do not read."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from select import select

from tests.support.serving import Service

GET = b"GET /v1/info HTTP/1.1\r\nHost: localhost\r\n"
POST = (
    b"POST /v1/mint HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
)
CHUNK = b"1\r\n \r\n"

# Enough answers to fill the socket buffers of a client that does not read.
UNREAD = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000


@dataclass(frozen=True, slots=True)
class Abuse:
    """What such a client sends first and then repeatedly, and the answer's start."""

    first: bytes
    more: bytes = b""
    answer: bytes = b""


ABUSES = {
    "nothing": Abuse(b""),
    "a slow head": Abuse(GET + b"X: ", more=b"x"),
    "a slow body": Abuse(POST + b'Content-Length: 50000\r\n\r\n{"out', more=b" "),
    "a length far above it": Abuse(
        POST + b"Content-Length: 1000000000000\r\n\r\n", answer=b"HTTP/1.1 413 "
    ),
    "endless chunks": Abuse(
        POST + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNK * 100, more=CHUNK
    ),
    "one endless chunk": Abuse(
        POST + b"Transfer-Encoding: chunked\r\n\r\nfffff\r\n", more=b" "
    ),
    "a header of 64 kB": Abuse(GET + b"X: " + b"a" * 65_536, answer=b"HTTP/1.1 431 "),
    "pipelined garbage": Abuse(b"garbage\r\n\r\n" * 1000, answer=b"HTTP/1.1 400 "),
    "pipelined requests, answers unread": Abuse(UNREAD, answer=b"HTTP/1.1 200 "),
}

# A body of 1 MiB whose last bytes are missing.
STUCK = Abuse(POST + b"Content-Length: 1048576\r\n\r\n" + b" " * 1_000_000)


@contextmanager
def abusing(
    port: int, abuses: list[Abuse], count: int, interval_s: float = 0.1
) -> Iterator[list[socket.socket]]:
    """Open `count` connections for each abuse; keep sending until the block ends."""
    stop = threading.Event()
    with ExitStack() as stack:
        clients = []
        for abuse in abuses * count:
            clients.append(stack.enter_context(slow_reader(port)))
            clients[-1].sendall(abuse.first)

        def trickle() -> None:
            while not stop.wait(interval_s):
                for client, abuse in zip(clients, abuses * count, strict=True):
                    with suppress(OSError):  # The service may close it at any time.
                        client.sendall(abuse.more)

        thread = threading.Thread(target=trickle)
        thread.start()
        try:
            yield clients
        finally:
            stop.set()
            thread.join()


def readable(clients: list[socket.socket]) -> list[socket.socket]:
    """Return the clients that were answered or closed by now."""
    return select(clients, [], [], 0)[0]


def slow_reader(port: int) -> socket.socket:
    """Return a connection with a small receive buffer."""
    client = socket.socket()
    client.settimeout(10)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", port))
    return client


def open_connection(
    service: Service, data: bytes = b"", address: str = "127.0.0.1"
) -> socket.socket:
    """Return a connection from this address, after sending `data`."""
    place = ("127.0.0.1", service.port)
    client = socket.create_connection(place, timeout=30, source_address=(address, 0))
    client.sendall(data)
    return client
