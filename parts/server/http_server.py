"""HTTP by waitress, hardened against slow and malformed clients.

waitress receives requests in one loop and gives a thread to those that are whole.
Neither an answer nor the log repeats a byte of what is malformed.
"""

import logging
import re
import socket
import time
from typing import Any

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.task import WSGITask
from waitress.utilities import (
    BadRequest,
    RequestEntityTooLarge,
    RequestHeaderFieldsTooLarge,
)

_log = logging.getLogger("deeds")

# waitress's own patterns take seconds for 32 KiB of spaces, and minutes for a line like
# "GET a://1111… ", while nobody else is served.
_LINE = re.compile(rb"[^ \t\r\n]+ [^ \t\r\n]+ HTTP/1\.[01]\r\n")
_MANY_SPACES = b" " * 64

_CODING = re.compile(rb"\r\ntransfer-encoding:([^\r]*)", re.IGNORECASE)


class Parser(HTTPRequestParser):
    """Parses one request, and refuses what two servers could read differently."""

    body_rcv: Any
    headers: dict[str, str]
    refusal: str | None = None  # The code of the problem to be answered instead.
    surplus = b""  # What was received after the request.

    def received(self, data: bytes) -> int:
        """Return how much of `data` is of this request, or is kept in `surplus`."""
        # TLS, above all, begins like no request.
        is_begun_well = (
            self.headers_finished or (self.header_plus or data)[:1].isupper()
        )
        try:
            consumed: int = super().received(data)
        except Exception:  # noqa: BLE001  (of urlsplit or int; their texts quote it)
            consumed, self.error = len(data), BadRequest("")
        if self._is_too_large():
            self._drop_body()
        elif self.error is not None or not is_begun_well:
            self._refuse()
        if not self.completed:
            return consumed
        # No body is owed, and yet waitress would ask for it.
        self.expect_continue = False
        self.surplus = data[consumed:]
        return len(data)

    def parse_header(self, header_plus: bytes) -> None:
        """Parse a head, or raise ParsingError where its meaning is in doubt."""
        spaced = header_plus.replace(b"\t", b" ")
        if not _LINE.match(header_plus) or b"\r\n " in spaced or _MANY_SPACES in spaced:
            raise ParsingError("")
        super().parse_header(header_plus)
        found = _CODING.findall(header_plus)
        codings = [coding.strip(b" \t").lower() for coding in found]
        doubts = (
            codings not in ([], [b"chunked"]),
            codings and (self.version == "1.0" or "CONTENT_LENGTH" in self.headers),
            self.version == "1.1" and "HOST" not in self.headers,
            "," in self.headers.get("HOST", ""),
            self.request_uri[:1] != "/" and "://" not in self.request_uri,
        )
        if any(doubts):
            raise ParsingError("")

    def _is_too_large(self) -> bool:
        if self.error is not None:
            return isinstance(self.error, RequestEntityTooLarge)
        body = self.body_rcv
        size = len(body) + body.chunk_remainder if self.chunked else self.content_length
        return bool(size > self.adj.body_bytes_max)

    def _drop_body(self) -> None:
        """Let the application refuse the request by its length; end the connection."""
        length = max(self.content_length, self.adj.body_bytes_max + 1)
        self.headers |= {"CONTENT_LENGTH": str(length), "CONNECTION": "close"}
        self.completed, self.error, self.body_rcv = True, None, None

    def _refuse(self) -> None:
        """Become a request, without a byte of what came, that is refused."""
        is_long = isinstance(self.error, RequestHeaderFieldsTooLarge)
        self.refusal = "headers_too_large" if is_long else "bad_request"
        self.headers, self.chunked, self.empty = {}, False, False
        super().parse_header(b"- * HTTP/1.1\r\nConnection: close\r\n")
        self.completed, self.error, self.body_rcv = True, None, None


class Task(WSGITask):
    """Answers a request."""

    def get_environment(self) -> dict[str, Any]:
        """Return the WSGI environment, with what the application has to refuse."""
        environment: dict[str, Any] = super().get_environment()
        environment["deeds.refusal"] = self.request.refusal
        return environment

    def build_response_header(self) -> bytes:
        """Return the head of the answer, which announces the end of the connection."""
        if not self.channel.server.accepting:
            self.set_close_on_finish()
        return bytes(super().build_response_header())

    def finish(self) -> None:
        """Send head and body by one call."""
        super().finish()
        self.channel.send_answer()


class Channel(HTTPChannel):
    """A connection, served or waiting for its client since `waiting_since`."""

    task_class = Task
    parser_class = Parser
    request: Parser | None
    is_lingering = False
    surplus = b""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.waiting_since = time.monotonic()
        super().__init__(*args, **kwargs)

    @property
    def is_idle(self) -> bool:
        """Whether nothing of a next request has come and all answers are sent."""
        is_begun = self.requests or self.request is not None or self.total_outbufs_len
        return not is_begun and not self.is_lingering

    @property
    def held_bytes(self) -> int:
        """What the body that is received and the unsent answer take of the memory."""
        request = self.request or next(iter(self.requests), None)
        return int(
            self.total_outbufs_len + (request.body_bytes_received if request else 0)
        )

    def service(self) -> None:
        """Answer the request, and log and close where not even an error is answered.

        An exception that would end a process ends neither this thread's work in silence
        nor leaves the client waiting.
        """
        try:
            super().service()
        except BaseException as error:  # noqa: BLE001
            said = "an exception that ends a process left a request"
            _log.error(said, exc_info=error, extra={"event": "defect"})
            self.requests.clear()
            self.will_close = True
            self.server.pull_trigger()

    def readable(self) -> bool:
        """Return whether to read, after parsing what came with the last request."""
        if self.surplus and super().readable():
            self.received(self.surplus)
        return bool(super().readable())

    def writable(self) -> bool:
        """Return whether to send what no thread is sending, or the loop would spin."""
        return not self.requests and bool(super().writable())

    def received(self, data: bytes) -> bool:
        """Parse one request at a time: answers to more could fill the memory unread."""
        if self.is_lingering:
            return False
        if self.request is None:
            # Empty lines before a request mean nothing (RFC 9112, 2.2).
            data = data.lstrip(b"\r\n")
            if not data:
                self.surplus = b""
                return False
            self.waiting_since = time.monotonic()
            self.request = Parser(self.adj)
        request = self.request
        is_taken = super().received(data)
        self.surplus = request.surplus
        return bool(is_taken)

    def send_answer(self) -> None:
        """Send what the client takes now; the loop sends the rest."""
        self.waiting_since = time.monotonic()
        with self.outbuf_lock:
            self._flush_exception(self._flush_some, do_close=False)

    def handle_write(self) -> None:
        """Send what is left, and linger after the last answer instead of closing."""
        self._flush_exception(self._flush_some_if_lockable)
        if self.will_close:
            self.handle_close()
        elif self.connected and self.close_when_flushed and not self.total_outbufs_len:
            self.linger()

    def linger(self) -> None:
        """Close our direction only: a reset would discard the answer."""
        self.is_lingering, self.close_when_flushed = True, False
        self.request, self.surplus = None, b""
        self.waiting_since = time.monotonic()
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.handle_close()

    def handle_expt(self) -> None:
        """Close at urgent data, which would wake the loop without end."""
        self.handle_close()
