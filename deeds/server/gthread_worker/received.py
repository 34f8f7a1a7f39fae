"""What a connection has received and not yet parsed. Used only by `deeds.server.gthread_worker`.

The main thread fills it, and a thread of the pool parses it once enough is there; never both at a
time. Must import only gunicorn.
"""

from gunicorn.http.errors import LimitRequestHeaders
from gunicorn.http.unreader import Unreader

from deeds.server.gthread_worker.endings import HEAD_BYTES_MAX, Ending, HeadEnding

# What the parser gets at once unless it asks for more. It copies what it has with every piece.
PIECE_BYTES = 8192


class Received(Unreader):
    """Stands where gunicorn's parser expects something that reads a socket."""

    def __init__(self) -> None:
        """Begin before the first request."""
        super().__init__()
        self.data = bytearray()
        self.has_ended = False  # Nothing more comes, or nothing more is waited for.
        self._head_bytes_left: int | None = None
        self.begin_request()

    def begin_request(self) -> None:
        """Forget the request that was served. What came after it stays."""
        self.data[:0] = self.take_buffered()
        self.ending: Ending = HeadEnding()
        self.bytes_count = len(self.data)  # Of the request that is being received.
        self.pieces_count = 1 if self.data else 0

    def begin_head(self) -> None:
        """From now on, until `end_head`, the parser gets no more than a head may have."""
        self._head_bytes_left = HEAD_BYTES_MAX

    def end_head(self, ending: Ending) -> None:
        """Now wait for that `ending`, of the body."""
        self._head_bytes_left = None
        self.data[:0] = self.take_buffered()
        self.ending = ending

    def add(self, piece: memoryview) -> None:
        """Take what was received; nothing means that the client sends no more."""
        self.data += piece
        self.pieces_count += 1
        self.bytes_count += len(piece)
        self.has_ended = not piece

    def end(self) -> None:
        """Take it that nothing more comes. A part of a body is of no use then."""
        self.has_ended = True
        if not isinstance(self.ending, HeadEnding):
            self.data.clear()

    def discard(self) -> None:
        """Forget everything."""
        self.data.clear()
        self.take_buffered()

    def is_enough(self) -> bool:
        """Tell whether what was waited for is there, or will never be."""
        return self.has_ended or self.ending.is_reached(self.data)

    def chunk(self, size_hint: int | None = None) -> bytes:
        """Return the next bytes for the parser; none means that there are no more."""
        size = max(size_hint or 0, PIECE_BYTES)
        if self._head_bytes_left is not None:
            if self._head_bytes_left <= 0:
                raise LimitRequestHeaders("the head is too large")
            self._head_bytes_left -= size
        piece = bytes(self.data[:size])
        del self.data[:size]
        return piece
