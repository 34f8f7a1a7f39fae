"""One connection of a client. Used only by `deeds.server.gthread_worker`."""

import socket
import time
from typing import Any

from gunicorn.config import Config
from gunicorn.workers.gthread import TConn

from deeds.server.gthread_worker.client_socket import ClientSocket
from deeds.server.gthread_worker.request_parser import BufferedParser


class Connection(TConn):
    """gunicorn's, with a socket on which nobody waits and a parser that does not either."""

    sock: ClientSocket
    parser: BufferedParser
    timeout: float

    def __init__(
        self, cfg: Config, accepted: socket.socket, client: Any, server: Any, body_bytes_max: int
    ) -> None:
        """Take over the socket `accepted`."""
        super().__init__(cfg, ClientSocket(accepted), client, server)
        self.parser = BufferedParser(cfg, client, body_bytes_max)
        self.waiting_since = 0.0

    def wait(self, seconds_max: float) -> None:
        """From now on the next step is the client's, for so long."""
        self.waiting_since = time.monotonic()
        self.timeout = self.waiting_since + seconds_max

    def close(self, graceful: bool = False) -> None:  # noqa: FBT001, FBT002  (gunicorn's)
        """Let go of the socket and of all that was received."""
        self.parser.received.discard()
        self.sock.unsent.clear()
        self.sock.close()
