"""Request bodies that are whole or an OSError. Used only by `deeds.server.gthread_worker`.

While an application reads a body, gunicorn 27 raises a dozen classes of its own, and for a body
that breaks off before its Content-Length nothing at all: the application gets what came. With this
an application needs to know OSError alone, as from any file. Must import only gunicorn.
"""

from typing import Protocol

from gunicorn.http.body import LengthReader
from gunicorn.http.errors import ParseException


class Reader(Protocol):
    """What gunicorn's readers of bodies have in common."""

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes; none means the end."""


class WholeBodyReader:
    """Reads through one of gunicorn's readers."""

    def __init__(self, reader: Reader) -> None:
        """Take the reader of one request's body."""
        self._reader = reader

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes of the body; none means that it was whole.

        Raises:
            OSError: the body broke off, its chunks are malformed, or its trailers are.
        """
        expected = min(size, self._reader.length) if isinstance(self._reader, LengthReader) else 0
        try:
            data = self._reader.read(size)
        except ParseException:
            raise OSError("the chunks of the body are malformed") from None
        if len(data) < expected:
            raise OSError("the body broke off")
        return data
