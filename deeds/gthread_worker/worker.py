"""The worker class. What it changes, and why, is in the docstring of the package."""

import math
import selectors
import socket
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from types import FrameType
from typing import Any

import structlog
from gunicorn.workers import gthread

from deeds.gthread_worker import early_signals
from deeds.gthread_worker.closing import ClosingConnections
from deeds.gthread_worker.refusals import problem_for, response_bytes
from deeds.gthread_worker.whole_body import WholeBodyReader
from deeds.request_id import make_request_id

# Reading the rest of a body that the application did not want, so that the connection can be kept.
DRAIN_SECONDS_MAX = 2.0

# What a client gets to read our last answer and close, or, when we stop, to send a first byte.
LINGER_SECONDS_MAX = 2.0


class ThreadWorker(gthread.ThreadWorker):
    """One process: a main thread that waits on all connections, and threads that serve requests."""

    # From the first byte of a request to its last: 1 MiB at half a Mbit/s takes 17 s. Shorter than
    # graceful_timeout, so that a slow client cannot make a stop abrupt.
    receive_seconds_max = 20.0

    # Told the code of every problem that is answered here and not by the application.
    on_refused: Callable[[str], None] = staticmethod(lambda _code: None)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take what gunicorn gives to every worker."""
        super().__init__(*args, **kwargs)
        self._receive_deadlines: dict[gthread.TConn, float] = {}
        self._linger_seconds = LINGER_SECONDS_MAX  # 0 once clients are no longer waited for.

    def init_signals(self) -> None:
        """Set the handlers, and meet a signal that came before."""
        super().init_signals()
        early_signals.release()

    def run(self) -> None:
        """Wait on all connections until told to stop."""
        self._closing = ClosingConnections(self.poller, self._forget_connection)
        super().run()

    def enqueue_req(self, conn: gthread.TConn) -> None:
        """Give a connection to a thread once it has something to read, not before."""
        if conn.initialized or conn.data_ready:
            super().enqueue_req(conn)
            return
        conn.sock.setblocking(False)
        conn.timeout = time.monotonic() + self.receive_seconds_max
        self.pending_conns.append(conn)
        when_readable = partial(self.on_pending_socket_readable, conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, when_readable)

    def handle(self, conn: gthread.TConn) -> bool:
        """Serve one request, in a thread. Return whether the connection may carry another."""
        self._receive_deadlines[conn] = time.monotonic() + self.receive_seconds_max
        try:
            return self._answer(conn) and self._drain_body(conn)
        except (OSError, StopIteration):
            # The client left, was cut off, or sent a malformed rest of a body after our answer.
            # Nothing more can be said to it.
            return False
        finally:
            del self._receive_deadlines[conn]

    def _answer(self, conn: gthread.TConn) -> bool:
        req: Any = None
        try:
            conn.sock.setblocking(True)
            conn.init()
            req = next(conn.parser)  # type: ignore[arg-type]  # Only HTTP/1.1, see gunicorn.conf.py.
            req.body.reader = WholeBodyReader(req.body.reader)
            return self.handle_request(req, conn)
        except (OSError, StopIteration):
            raise
        except (Exception, SystemExit) as error:
            self.handle_error(req, conn.sock, conn.client, error)
            return False

    def _drain_body(self, conn: gthread.TConn) -> bool:
        deadline = time.monotonic() + DRAIN_SECONDS_MAX
        parser: Any = conn.parser
        return bool(parser.finish_body(deadline=deadline))

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: BaseException) -> None:
        """Answer and log with constant texts: no byte of the request, nothing of the exception."""
        problem = problem_for(exc)
        request_id = make_request_id()
        log = structlog.get_logger().bind(request_id=request_id, problem=problem.code)
        if problem.status < HTTPStatus.INTERNAL_SERVER_ERROR:
            log.info("refused")
        else:
            log.error("broken", error=type(exc).__name__)
        self.on_refused(problem.code)
        with suppress(OSError):
            client.setblocking(False)  # A client that does not read must not hold the thread.
            client.send(response_bytes(problem, request_id))

    def finish_request(self, conn: gthread.TConn, fs: Future[bool]) -> None:
        """Keep or close a connection, in the main thread, without ever waiting for the client."""
        if not fs.cancelled() and fs.exception() is None and fs.result():
            super().finish_request(conn, fs)
        else:
            self._closing.add(conn, self._linger_seconds)

    def murder_pending(self) -> None:
        """End what has had its time. The main thread calls this at least once a second."""
        now = time.monotonic()
        if not self.alive:
            self._hurry_connections(now)
        super().murder_pending()
        self._closing.close_expired(now)
        latest = now if self._linger_seconds else math.inf
        for conn, deadline in self._receive_deadlines.copy().items():
            if deadline <= latest:
                with suppress(OSError):  # Its thread reads the end, and can still write an answer.
                    conn.sock.shutdown(socket.SHUT_RD)

    def _hurry_connections(self, now: float) -> None:
        """Let no connection that waits for its client delay a stop."""
        for conn in self.pending_conns:
            conn.timeout = min(conn.timeout or now, now + self._linger_seconds)
        if not self._linger_seconds:
            for conn in self.keepalived_conns:
                conn.timeout = now

    def handle_quit(self, sig: int, frame: FrameType | None) -> None:
        """Stop without waiting for any client, as Ctrl-C asks. Requests being served are answered.

        Only sets flags: gunicorn's own takes a lock of the thread pool here, which the code that
        the signal interrupted may hold, and Ctrl-C brings two signals at once.
        """
        self._linger_seconds = 0.0
        self.alive = False
        self.method_queue.defer(_wake)

    def _forget_connection(self) -> None:
        self.nr_conns -= 1


def _wake() -> None:
    """Do nothing, in the main thread: it only has to stop waiting."""
