"""The socket of a connection, on which no thread ever waits.

A client that does not read what it asked for would hold the thread that writes to it. Must import
nothing of ours.
"""

import socket


class ClientSocket(socket.socket):
    """Keeps what is written to it until `send_rest` has sent it, head and body in one piece."""

    def __init__(self, accepted: socket.socket) -> None:
        """Take over a connection; `accepted` has none afterwards."""
        super().__init__(accepted.family, accepted.type, accepted.proto, accepted.detach())
        self.setblocking(False)
        self.unsent = bytearray()
        self.has_sent = False

    def sendall(self, data: bytes, _flags: int = 0) -> None:  # type: ignore[override]
        """Keep the bytes to be sent."""
        self.unsent += data

    def send_rest(self) -> bool:
        """Send what can be sent without waiting. Return whether nothing is left.

        Raises:
            OSError: the connection is broken.
        """
        try:
            while self.unsent:
                del self.unsent[: self.send(self.unsent)]
                self.has_sent = True
        except BlockingIOError:
            return False
        return True
