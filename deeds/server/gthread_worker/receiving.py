"""Connections on which a request is coming in. Used only by the main thread of a worker.

No thread is given to a request before all of it is there. What a client can make that cost is
bounded in time, in memory and in work: see the constants. Must import only gunicorn.
"""

import selectors
import socket
import time
from collections.abc import Callable
from functools import partial

from deeds.server.gthread_worker.connection import Connection
from deeds.server.gthread_worker.received import Received

# What every connection may hold, and what is read at once.
SMALL_BYTES = 65_536

# All requests that are larger may together hold as much as this many of the largest bodies.
LARGE_COUNT_MAX = 32

# Where these have no room, the slowest makes room for others if it has had so long already.
LARGE_SECONDS_MIN = 2.0

# A client that sends more pieces than this, of less than PIECE_BYTES_MIN on average, is read from
# only every LOOK_SECONDS, so that a byte at a time does not cost a turn of the main loop each.
PIECES_COUNT_MAX = 16
PIECE_BYTES_MIN = 1024
LOOK_SECONDS = 0.25


class ReceivingConnections:
    """Reads what comes, and hands a connection on once a thread need not wait for it."""

    def __init__(
        self,
        poller: selectors.BaseSelector,
        when_enough: Callable[[Connection], None],
        seconds_max: float,
        body_bytes_max: int,
    ) -> None:
        """Take what waits for sockets, whom to hand to, and what a request may need and have."""
        self._poller = poller
        self._when_enough = when_enough
        self._seconds_max = seconds_max
        self._large_bytes_max = LARGE_COUNT_MAX * body_bytes_max
        self._is_registered: dict[Connection, bool] = {}
        self._large: dict[Connection, Received] = {}
        self._buffer = memoryview(bytearray(SMALL_BYTES))
        self._look_at = 0.0

    def add(self, conn: Connection) -> None:
        """Receive a request, or the rest of one."""
        if not conn.parser.is_waiting_for_body:
            conn.wait(self._seconds_max)
        if conn.parser.received.is_enough():
            self._when_enough(conn)
        else:
            self._is_registered[conn] = False
            self._receive(conn)

    def oldest(self) -> Connection | None:
        """Return the connection that has been here longest."""
        return min(self._is_registered, key=_waiting_since, default=None)

    def forget(self, conn: Connection) -> None:
        """Watch a connection no more."""
        if self._is_registered.pop(conn):
            self._poller.unregister(conn.sock)

    def hurry(self, now: float, linger_seconds: float) -> None:
        """Give clients that have sent nothing no more than this, and none anything if it is 0."""
        for conn in self._is_registered:
            if conn.parser.is_idle or not linger_seconds:
                conn.timeout = min(conn.timeout, now + linger_seconds)

    def look_after(self, now: float) -> None:
        """End what has had its time at `now`, and read from those that were hasty."""
        if now < self._look_at:
            return
        self._look_at = now + LOOK_SECONDS
        for conn in list(self._is_registered):
            if conn.timeout <= now and conn in self._is_registered:
                self._end(conn)
            elif self._is_registered.get(conn) is False:  # None: it had to make room meanwhile.
                self._receive(conn)

    def _on_readable(self, conn: Connection, _sock: socket.socket) -> None:
        if conn in self._is_registered:
            self._receive(conn)

    def _receive(self, conn: Connection) -> None:
        received = conn.parser.received
        space = SMALL_BYTES - len(received.data)
        if space <= 0:
            self._large[conn] = received
            if not self._has_room(conn):
                self._rest(conn)
                return
            space = SMALL_BYTES
        try:
            count = conn.sock.recv_into(self._buffer, space)
        except BlockingIOError:
            self._await(conn)
            return
        except OSError:  # It broke. What has come is all.
            count = 0
        received.add(self._buffer[:count])
        if received.pieces_count == 1:
            conn.wait(self._seconds_max)
        if received.is_enough():
            self.forget(conn)
            self._when_enough(conn)
        elif received.pieces_count > PIECES_COUNT_MAX + received.bytes_count // PIECE_BYTES_MIN:
            self._rest(conn)
        else:
            self._await(conn)

    def _has_room(self, newcomer: Connection) -> bool:
        """Tell whether a large request may grow; end one that is slow if it may not."""
        # What a thread has read of them is theirs no longer.
        self._large = {c: r for c, r in self._large.items() if len(r.data) >= SMALL_BYTES}
        if sum(len(received.data) for received in self._large.values()) < self._large_bytes_max:
            return True
        receiving = (conn for conn in self._large if conn in self._is_registered)
        slowest = min(receiving, key=_waiting_since)
        if slowest is newcomer or time.monotonic() < slowest.waiting_since + LARGE_SECONDS_MIN:
            return False
        self._end(slowest)
        return True

    def _await(self, conn: Connection) -> None:
        if not self._is_registered[conn]:
            when_readable = partial(self._on_readable, conn)
            self._poller.register(conn.sock, selectors.EVENT_READ, when_readable)
            self._is_registered[conn] = True

    def _rest(self, conn: Connection) -> None:
        if self._is_registered[conn]:
            self._poller.unregister(conn.sock)
            self._is_registered[conn] = False

    def _end(self, conn: Connection) -> None:
        self.forget(conn)
        conn.parser.received.end()
        self._when_enough(conn)


def _waiting_since(conn: Connection) -> float:
    return conn.waiting_since
