"""Connections whose client has not read its whole answer. Used only from a worker's main thread.

Must import only gunicorn.
"""

import selectors
import socket
from collections.abc import Callable
from functools import partial

from deeds.server.gthread_worker.connection import Connection

# All answers that wait to be read: 20 times the largest, a page's script of 1.4 MB.
UNSENT_BYTES_MAX = 33_554_432


class SendingConnections:
    """Sends what a thread has left over as the client reads it."""

    def __init__(
        self,
        poller: selectors.BaseSelector,
        when_sent: Callable[[Connection, bool], None],
        seconds_max: float,
    ) -> None:
        """Take what waits for sockets, whom to hand to, and how long a client may take to read."""
        self._poller = poller
        self._when_sent = when_sent
        self._seconds_max = seconds_max
        self._is_kept: dict[Connection, bool] = {}

    def add(self, conn: Connection, is_kept: bool) -> None:  # noqa: FBT001
        """Send the rest, and hand it on with whether it is to be kept."""
        conn.wait(self._seconds_max)
        self._is_kept[conn] = is_kept
        when_writable = partial(self._on_writable, conn)
        self._poller.register(conn.sock, selectors.EVENT_WRITE, when_writable)
        while self._unsent_bytes() > UNSENT_BYTES_MAX:
            self._end(next(iter(self._is_kept)))

    def oldest(self) -> Connection | None:
        """Return the connection that has been here longest."""
        return next(iter(self._is_kept), None)

    def forget(self, conn: Connection) -> None:
        """Watch a connection no more."""
        self._poller.unregister(conn.sock)
        del self._is_kept[conn]

    def end_expired(self, now: float) -> None:
        """End what has had its time at `now`."""
        while (conn := self.oldest()) is not None and conn.timeout <= now:
            self._end(conn)

    def _end(self, conn: Connection) -> None:
        self.forget(conn)
        conn.sock.unsent.clear()
        self._when_sent(conn, False)

    def _unsent_bytes(self) -> int:
        return sum(len(conn.sock.unsent) for conn in self._is_kept)

    def _on_writable(self, conn: Connection, _sock: socket.socket) -> None:
        if conn not in self._is_kept:
            return
        try:
            is_sent = conn.sock.send_rest()
        except OSError:
            self._end(conn)
            return
        if is_sent:
            self._poller.unregister(conn.sock)
            self._when_sent(conn, self._is_kept.pop(conn))
