"""Connections that are being closed, while the client may still have to read our answer.

Closing a socket with unread bytes makes the kernel send RST, which can destroy the answer before
the client has read it. So first only our direction is closed, and what still comes is read and
thrown away until the client closes too (RFC 9112, 9.6). gunicorn does that with a blocking read in
its main thread; this never waits. Must import only gunicorn.
"""

import selectors
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from deeds.server.gthread_worker.connection import Connection

DISCARD_BYTES = 65_536


class ClosingConnections:
    """Used from the main thread of a worker alone."""

    def __init__(
        self, poller: selectors.BaseSelector, when_closed: Callable[[Connection], None]
    ) -> None:
        """Take what waits for sockets, and what to call for each connection that is gone."""
        self._poller = poller
        self._when_closed = when_closed
        self._waiting: dict[Connection, None] = {}  # In the order of their coming.

    def add(self, conn: Connection, linger_seconds: float) -> None:
        """Close our direction now, and the rest once the client closes or the time is over."""
        conn.wait(linger_seconds)
        self._waiting[conn] = None
        try:
            conn.sock.shutdown(socket.SHUT_WR)
            self._poller.register(conn.sock, selectors.EVENT_READ, partial(self._discard, conn))
        except (OSError, ValueError):  # The connection is gone already.
            self._end(conn)

    def end_expired(self, now: float) -> None:
        """Close those whose time is over at `now`, of the monotonic clock."""
        while (conn := self.oldest()) is not None and conn.timeout <= now:
            self._end(conn)

    def oldest(self) -> Connection | None:
        """Return the connection that has been here longest."""
        return next(iter(self._waiting), None)

    def forget(self, conn: Connection) -> None:
        """Watch a connection no more."""
        with suppress(KeyError, ValueError):  # Never registered.
            self._poller.unregister(conn.sock)
        del self._waiting[conn]

    def _end(self, conn: Connection) -> None:
        self.forget(conn)
        self._when_closed(conn)

    def _discard(self, conn: Connection, sock: socket.socket) -> None:
        if conn not in self._waiting:
            return
        try:
            has_ended = not sock.recv(DISCARD_BYTES)
        except BlockingIOError:
            return
        except OSError:
            has_ended = True
        if has_ended:
            self._end(conn)
