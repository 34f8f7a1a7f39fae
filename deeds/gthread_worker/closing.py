"""Connections that are being closed, while the client may still have to read our answer.

Closing a socket with unread bytes makes the kernel send RST, which can destroy the answer before
the client has read it. So first only our direction is closed, and what still comes is read and
thrown away until the client closes too (RFC 9112, 9.6). gunicorn does that with a blocking read in
its main thread; this never waits. Must import only gunicorn.
"""

import selectors
import socket
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from gunicorn.workers.gthread import TConn

DISCARD_BYTES = 65_536


class ClosingConnections:
    """Used from the main thread of a worker alone."""

    def __init__(self, poller: selectors.BaseSelector, when_closed: Callable[[], None]) -> None:
        """Take what waits for sockets, and what to call for each connection that is gone."""
        self._poller = poller
        self._when_closed = when_closed
        self._waiting: deque[TConn] = deque()

    def add(self, conn: TConn, linger_seconds: float) -> None:
        """Close our direction now, and the rest once the client closes or the time is over."""
        conn.timeout = time.monotonic() + linger_seconds
        self._waiting.append(conn)
        try:
            conn.sock.setblocking(False)
            conn.sock.shutdown(socket.SHUT_WR)
            self._poller.register(conn.sock, selectors.EVENT_READ, partial(self._discard, conn))
        except (OSError, ValueError):  # The connection is gone already.
            self._close(conn)

    def close_expired(self, now: float) -> None:
        """Close those whose time is over at `now`, of the monotonic clock."""
        while self._waiting and (self._waiting[0].timeout or 0.0) <= now:
            self._close(self._waiting[0])

    def _discard(self, conn: TConn, sock: socket.socket) -> None:
        try:
            has_ended = not sock.recv(DISCARD_BYTES)
        except BlockingIOError:
            return
        except OSError:
            has_ended = True
        if has_ended:
            self._close(conn)

    def _close(self, conn: TConn) -> None:
        with suppress(KeyError, ValueError):  # Never registered.
            self._poller.unregister(conn.sock)
        self._waiting.remove(conn)
        conn.close()
        self._when_closed()
