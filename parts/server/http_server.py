"""HTTP by waitress, hardened against slow and malformed clients.

waitress receives requests in one loop and passes complete ones to threads. Neither
responses nor the log repeat bytes of a malformed request.
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
# "GET a://1111… ", and block all other clients meanwhile.
_LINE = re.compile(rb"[^ \t\r\n]+ [^ \t\r\n]+ HTTP/1\.[01]\r\n")
_MANY_SPACES = b" " * 64

_CODING = re.compile(rb"\r\ntransfer-encoding:([^\r]*)", re.IGNORECASE)


class Parser(HTTPRequestParser):
    """Parses one request; refuses it if proxies could interpret it differently."""

    body_rcv: Any
    headers: dict[str, str]
    refusal: str | None = None  # The code of the problem, if the request is refused.
    surplus = b""  # Bytes received after the request.

    def received(self, data: bytes) -> int:
        """Parse `data`; return how many bytes were consumed or kept in `surplus`."""
        # Requests begin with a capital letter. Other bytes mostly come from clients
        # that try TLS.
        is_begun_well = (
            self.headers_finished or (self.header_plus or data)[:1].isupper()
        )
        try:
            consumed: int = super().received(data)
        except Exception:  # noqa: BLE001  (of urlsplit or int; quotes the bytes)
            consumed, self.error = len(data), BadRequest("")
        if self._is_too_large():
            self._drop_body()
        elif self.error is not None or not is_begun_well:
            self._refuse()
        if not self.completed:
            return consumed
        # The request is complete, but waitress would send 100 Continue.
        self.expect_continue = False
        self.surplus = data[consumed:]
        return len(data)

    def parse_header(self, header_plus: bytes) -> None:
        """Parse the request's head; raise ParsingError if it is ambiguous."""
        spaced = header_plus.replace(b"\t", b" ")
        if not _LINE.match(header_plus) or b"\r\n " in spaced or _MANY_SPACES in spaced:
            raise ParsingError("")
        super().parse_header(header_plus)
        codings = [
            coding.strip(b" \t").lower() for coding in _CODING.findall(header_plus)
        ]
        ambiguities = (
            codings not in ([], [b"chunked"]),
            codings and (self.version == "1.0" or "CONTENT_LENGTH" in self.headers),
            self.version == "1.1" and "HOST" not in self.headers,
            "," in self.headers.get("HOST", ""),
            self.request_uri[:1] != "/" and "://" not in self.request_uri,
        )
        if any(ambiguities):
            raise ParsingError("")

    def _is_too_large(self) -> bool:
        if self.error is not None:
            return isinstance(self.error, RequestEntityTooLarge)
        body = self.body_rcv
        size = len(body) + body.chunk_remainder if self.chunked else self.content_length
        return bool(size > self.adj.body_bytes_max)

    def _drop_body(self) -> None:
        """Drop the body; the application then refuses the request by its length.

        The connection ends afterwards.
        """
        length = max(self.content_length, self.adj.body_bytes_max + 1)
        self.headers |= {"CONTENT_LENGTH": str(length), "CONNECTION": "close"}
        self.completed, self.error, self.body_rcv = True, None, None

    def _refuse(self) -> None:
        """Replace the request by a refused one, without any of the bytes received."""
        is_long = isinstance(self.error, RequestHeaderFieldsTooLarge)
        self.refusal = "headers_too_large" if is_long else "bad_request"
        self.headers, self.chunked, self.empty = {}, False, False
        super().parse_header(b"- * HTTP/1.1\r\nConnection: close\r\n")
        self.completed, self.error, self.body_rcv = True, None, None


class Task(WSGITask):
    """Runs the application for a request, and sends the response."""

    def get_environment(self) -> dict[str, Any]:
        """Return the WSGI environment, with the server's refusal if there is one."""
        environment: dict[str, Any] = super().get_environment()
        environment["deeds.refusal"] = self.request.refusal
        return environment

    def build_response_header(self) -> bytes:
        """Return the response's head; during a stop it says Connection: close."""
        if not self.channel.server.accepting:
            self.set_close_on_finish()
        return bytes(super().build_response_header())

    def finish(self) -> None:
        """Send head and body together, after waitress has buffered both."""
        super().finish()
        self.channel.send_response()


class Channel(HTTPChannel):
    """A connection. `waiting_since` is when it began to wait for its client."""

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
        """Whether all responses are sent and no other request has begun."""
        is_begun = self.requests or self.request is not None or self.total_outbufs_len
        return not is_begun and not self.is_lingering

    @property
    def held_bytes(self) -> int:
        """Bytes in memory for the received body and the unsent response."""
        request = self.request or next(iter(self.requests), None)
        return int(
            self.total_outbufs_len + (request.body_bytes_received if request else 0)
        )

    def service(self) -> None:
        """Serve the request; log an exception that nothing caught, and close.

        An exception such as SystemExit would otherwise end the work silently and leave
        the client waiting.
        """
        try:
            super().service()
        except BaseException as error:  # noqa: BLE001
            _log.error(
                "uncaught exception that ends a process",
                exc_info=error,
                extra={"event": "defect"},
            )
            self.requests.clear()
            self.will_close = True
            self.server.pull_trigger()

    def readable(self) -> bool:
        """Parse the surplus of the last request, then return whether to read."""
        if self.surplus and super().readable():
            self.received(self.surplus)
        return bool(super().readable())

    def writable(self) -> bool:
        """Return whether the loop has to send.

        A thread that serves a request also sends the response. Meanwhile the loop has
        nothing to send, and would spin.
        """
        return not self.requests and bool(super().writable())

    def received(self, data: bytes) -> bool:
        """Parse one request at a time; keep the rest in `surplus`.

        If a client sent many and read no response, the responses could fill the memory.
        """
        if self.is_lingering:
            return False
        if self.request is None:
            # Ignore empty lines before a request (RFC 9112, 2.2).
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

    def send_response(self) -> None:
        """Send what the client takes now; the loop sends the rest."""
        self.waiting_since = time.monotonic()
        with self.outbuf_lock:
            self._flush_exception(self._flush_some, do_close=False)

    def handle_write(self) -> None:
        """Send what is left; after the last response, linger instead of closing."""
        self._flush_exception(self._flush_some_if_lockable)
        if self.will_close:
            self.handle_close()
        elif self.connected and self.close_when_flushed and not self.total_outbufs_len:
            self.linger()

    def linger(self) -> None:
        """Close only our direction, because a reset could discard the response."""
        self.is_lingering, self.close_when_flushed = True, False
        self.request, self.surplus = None, b""
        self.waiting_since = time.monotonic()
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.handle_close()

    def handle_expt(self) -> None:
        """Close on urgent (out-of-band) data, which would wake the loop endlessly."""
        self.handle_close()
