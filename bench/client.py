"""One client: a keep-alive connection that sends requests made before and reads little of answers.

Hand-written, because a general HTTP client would take more CPU than the service that it measures.
Of an answer only the status and the length are read.
"""

import socket
import time
from collections.abc import Sequence

RECEIVE_BYTES = 65_536
SEND_SECONDS_MAX = 10.0

# These say "try again", so the same request is sent once more. All other answers decide it.
_RETRIED_STATUSES = frozenset({429, 503})

_LENGTH_UNKNOWN = -1


class Client:
    """Sends its requests one after the other; the next only when the last was answered."""

    def __init__(self, port: int, requests: Sequence[bytes]) -> None:
        """Take the port and what to send. Connects with the first request."""
        self._port = port
        self._requests = requests
        self._position = 0
        self._socket: socket.socket | None = None
        self._head = b""
        self._missing_count = _LENGTH_UNKNOWN
        self._status = 0
        self._closes = False
        self.sent_at_s = 0.0
        self.errors_count = 0

    def fileno(self) -> int:
        """Return the descriptor of the connection, for `select`."""
        assert self._socket is not None
        return self._socket.fileno()

    @property
    def has_next(self) -> bool:
        """Tell whether a request is left."""
        return self._position < len(self._requests)

    @property
    def is_connected(self) -> bool:
        """Tell whether the next request can go over the same connection."""
        return self._socket is not None

    def send(self) -> None:
        """Send the request that is next, over a new connection if there is none.

        Raises:
            OSError: it could not be sent.
        """
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port), SEND_SECONDS_MAX)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sent_at_s = time.monotonic()
        self._socket.sendall(self._requests[self._position])

    def receive(self) -> int | None:
        """Read what has come; return the status once the answer is whole, until then None.

        Raises:
            OSError: the connection broke, or the answer has no length.
        """
        assert self._socket is not None
        data = self._socket.recv(RECEIVE_BYTES)
        if not data:
            raise ConnectionResetError("closed before the answer was whole")
        if self._missing_count == _LENGTH_UNKNOWN:
            self._read_head(data)
        else:
            self._missing_count -= len(data)
        if self._missing_count != 0:
            return None
        status = self._status
        self._forget_answer()
        if self._closes:
            self.close()
        if status not in _RETRIED_STATUSES:
            self._position += 1
        return status

    def close(self) -> None:
        """Close the connection, if there is one. The next request takes a new one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._forget_answer()

    def _read_head(self, data: bytes) -> None:
        self._head += data
        head, blank_line, body = self._head.partition(b"\r\n\r\n")
        if not blank_line:
            return
        head = head.lower()
        _, name, rest = head.partition(b"\r\ncontent-length:")
        if not name:
            raise ConnectionError("an answer without Content-Length")
        self._status = int(head[9:12])
        self._closes = b"\r\nconnection: close" in head
        self._missing_count = int(rest.partition(b"\r\n")[0]) - len(body)

    def _forget_answer(self) -> None:
        self._head = b""
        self._missing_count = _LENGTH_UNKNOWN
