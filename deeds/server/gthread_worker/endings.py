"""Where a part of a request ends: its head, or its body.

An ending says only whether it is worth while to give a request to a thread. What the bytes mean is
for gunicorn's parser alone to say, so a mistake made here could cost time, never smuggle a request.
Each looks at a byte about once, however small the pieces are in which they come. Must import only
gunicorn.
"""

import re
from typing import Any, Protocol

from gunicorn.http.body import LengthReader

# Four pieces as the parser takes them, and as much as nginx allows by default.
HEAD_BYTES_MAX = 32_768

# The end of a head, or of a line that can be in none: the parser refuses both without more bytes.
_HEAD_END = re.compile(rb"\r\n\r\n|(?<!\r)\n")

# The line before a chunk, up to its CRLF. All but the first follow the CRLF of a chunk.
_FIRST_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n]*)?(?=\r\n)")
_CHUNK_LINE = re.compile(rb"\r\n" + _FIRST_CHUNK_LINE.pattern)
_CHUNK_LINE_BYTES_MAX = 8192
_CRLF_BYTES = 2


class Ending(Protocol):
    """Finds one ending in what has been received."""

    def is_reached(self, data: bytearray) -> bool:
        """Tell whether no more bytes are needed. `data` only ever grows between two calls."""


class HeadEnding:
    """The end of a head, or of what can be none."""

    def __init__(self) -> None:
        """Begin with the first byte."""
        self._searched = 0

    def is_reached(self, data: bytearray) -> bool:
        """Tell whether the parser can make up its mind."""
        if len(data) >= HEAD_BYTES_MAX:
            return True
        start = max(0, self._searched - 3)
        self._searched = len(data)
        return _HEAD_END.search(data, start) is not None


class LengthEnding:
    """The end of a body whose length was announced."""

    def __init__(self, length: int) -> None:
        """Take the length in bytes."""
        self._length = length

    def is_reached(self, data: bytearray) -> bool:
        """Tell whether the body is whole."""
        return len(data) >= self._length


class ChunksEnding:
    """The end of a chunked body (RFC 9112, 7.1), or of what can be none that is accepted."""

    def __init__(self, body_bytes_max: int) -> None:
        """Take how much there may be in the chunks, and around them."""
        self._body_bytes_max = body_bytes_max
        self._line_start = 0
        self._content_bytes = 0  # Announced by the lines so far.
        self._trailers_start: int | None = None

    def is_reached(self, data: bytearray) -> bool:
        """Tell whether the body is whole, malformed or too large."""
        while self._line_start < len(data) and self._trailers_start is None:
            pattern = _CHUNK_LINE if self._line_start else _FIRST_CHUNK_LINE
            line = pattern.match(data, self._line_start)
            if line is None:
                break
            self._step_over(line)
        if self._trailers_start is not None:
            return self._have_trailers_ended(data, self._trailers_start)
        return self._is_too_large(data) or self._is_malformed(data)

    def _step_over(self, line: re.Match[bytes]) -> None:
        size = int(line[1], 16)
        self._content_bytes += size
        self._line_start = line.end() + (size + _CRLF_BYTES if size else 0)
        if not size:  # The end is an empty line, so the CRLF of this one may be part of it.
            self._trailers_start = self._line_start

    def _have_trailers_ended(self, data: bytearray, start: int) -> bool:
        is_end = data.find(b"\r\n\r\n", self._line_start) >= 0
        self._line_start = max(self._line_start, len(data) - 3)
        return is_end or len(data) - start > HEAD_BYTES_MAX

    def _is_too_large(self, data: bytearray) -> bool:
        missing_bytes = max(0, self._line_start - len(data))
        content_bytes = self._content_bytes - missing_bytes
        framing_bytes = len(data) - content_bytes
        return max(content_bytes, framing_bytes) > self._body_bytes_max

    def _is_malformed(self, data: bytearray) -> bool:
        line_bytes = len(data) - self._line_start
        is_line = data.find(b"\r\n", self._line_start + 1) >= 0  # And yet none before a chunk.
        return is_line or line_bytes > _CHUNK_LINE_BYTES_MAX


def body_ending(request: Any, body_bytes_max: int) -> Ending:
    """Return where the body of a gunicorn request ends.

    One that is announced to be larger than allowed is not waited for: the application refuses it
    by its length.
    """
    reader = request.body.reader
    if isinstance(reader, LengthReader):
        length: int = reader.length
        return LengthEnding(length if length <= body_bytes_max else 0)
    return ChunksEnding(body_bytes_max)
