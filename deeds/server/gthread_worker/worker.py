"""The worker class. What it changes, and why, is in the docstring of the package."""

import logging
import math
import selectors
import socket
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from http import HTTPStatus
from types import FrameType
from typing import Any, cast

from gunicorn.arbiter import Arbiter
from gunicorn.workers import gthread

from deeds.blueprints.request_log import make_request_id
from deeds.domain.errors import StartError
from deeds.domain.model import BODY_BYTES_MAX
from deeds.server.gthread_worker import early_signals
from deeds.server.gthread_worker.closing import ClosingConnections
from deeds.server.gthread_worker.connection import Connection
from deeds.server.gthread_worker.receiving import ReceivingConnections
from deeds.server.gthread_worker.refusals import problem_for, response_bytes
from deeds.server.gthread_worker.sending import SendingConnections
from deeds.server.log import ServerLog

# What a client gets to read our last answer and close, or, when we stop, to send a first byte.
LINGER_SECONDS_MAX = 2.0

# How a worker ends that served and met a defect of its own: the master starts another one. A defect
# that one of the first workers meets before it serves ends the master too.
DEFECT = 1

# How long a worker that cannot start waits before it ends: the master starts another one at once.
RETRY_SECONDS = 5.0
_LOOK_EVERY_S = 0.1

_log = logging.getLogger("deeds.request")


class ThreadWorker(gthread.ThreadWorker):
    """One process: a main thread that waits on all connections, and threads that serve requests."""

    # From the first byte of a request to its last: 1 MiB at half a Mbit/s takes 17 s. Also for
    # reading an answer. Shorter than graceful_timeout, so that a slow client cannot make a stop
    # abrupt.
    client_seconds_max = 20.0

    # Larger bodies are not waited for: the application refuses them.
    body_bytes_max = BODY_BYTES_MAX

    retry_seconds = RETRY_SECONDS

    log: ServerLog

    # Told the code of every problem that is answered here and not by the application.
    on_refused: Callable[[str], None] = staticmethod(lambda _code: None)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take what gunicorn gives to every worker."""
        super().__init__(*args, **kwargs)
        self._linger_seconds = LINGER_SECONDS_MAX  # 0 once clients are no longer waited for.

    def init_process(self) -> None:
        """Load the application and serve. gunicorn would print what an exception says."""
        try:
            super().init_process()
        except StartError as stop:
            self.log.say(stop)
        except Exception:
            self.log.exception("Exception in worker process")
            if self.booted:
                sys.exit(DEFECT)
            if self.age <= self.cfg.workers:
                sys.exit(Arbiter.WORKER_BOOT_ERROR)
        if not self.booted:
            self._wait_before_retry()

    def _wait_before_retry(self) -> None:
        """Hold the place of this worker for a while, unless the service is being stopped."""
        deadline = time.monotonic() + self.retry_seconds
        while self.alive and self.is_parent_alive() and time.monotonic() < deadline:
            self.notify()
            time.sleep(_LOOK_EVERY_S)

    def init_signals(self) -> None:
        """Set the handlers, and meet a signal that came before."""
        super().init_signals()
        early_signals.release()

    def run(self) -> None:
        """Wait on all connections until told to stop."""
        seconds_max = self.client_seconds_max
        self._receiving = ReceivingConnections(
            self.poller, self._serve, seconds_max, self.body_bytes_max
        )
        self._sending = SendingConnections(self.poller, self._go_on, seconds_max)
        self._closing = ClosingConnections(self.poller, self._let_go)
        super().run()

    def accept(self, listener: socket.socket) -> None:
        """Take a connection from the queue of the kernel, if there is one."""
        try:
            accepted, client = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        self.nr_conns += 1
        server = listener.getsockname()
        self._receiving.add(Connection(self.cfg, accepted, client, server, self.body_bytes_max))

    def enqueue_req(self, conn: gthread.TConn) -> None:
        """Receive what has begun to come on a connection that was kept."""
        self._receiving.add(cast("Connection", conn))

    def _serve(self, conn: Connection) -> None:
        if conn.parser.is_idle:  # The client closed, or has had its time.
            self._let_go(conn)
        else:
            super().enqueue_req(conn)

    def handle(self, conn: gthread.TConn) -> bool:
        """Serve one request, in a thread. Return whether the connection may carry more.

        Ends early, with the same answer, where the body of the request is still to come.
        """
        conn = cast("Connection", conn)
        try:
            is_kept = self._answer(conn)
            conn.sock.send_rest()
        except (OSError, StopIteration):  # The client left. Nothing more can be said to it.
            conn.sock.unsent.clear()
            return False
        return is_kept and (conn.parser.is_waiting_for_body or conn.parser.finish_request())

    def _answer(self, conn: Connection) -> bool:
        request: Any = None
        try:
            request = conn.parser.read_request()
            if request is not None:
                return self.handle_request(request, conn)
            if conn.parser.owes_continue():
                conn.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            return True
        except (OSError, StopIteration):
            raise
        except (Exception, SystemExit) as error:
            self.handle_error(request, conn.sock, conn.client, error)
            return False

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: BaseException) -> None:
        """Answer and log with constant texts: no byte of the request, nothing of the exception."""
        problem = problem_for(exc)
        request_id = make_request_id()
        fields = {"request_id": request_id, "problem": problem.code}
        if problem.status < HTTPStatus.INTERNAL_SERVER_ERROR:
            _log.info("", extra={"event": "refused", "fields": fields})
        else:
            fields["error"] = type(exc).__name__
            _log.error("", extra={"event": "broken", "fields": fields})
        self.on_refused(problem.code)
        client.sendall(response_bytes(problem, request_id))

    def finish_request(self, conn: gthread.TConn, fs: Future[bool]) -> None:
        """Go on with a connection after its thread, in the main thread, without ever waiting."""
        conn = cast("Connection", conn)
        is_kept = not fs.cancelled() and fs.exception() is None and fs.result()
        if conn.sock.unsent:
            self._sending.add(conn, is_kept)
        else:
            self._go_on(conn, is_kept)

    def _go_on(self, conn: Connection, is_kept: bool) -> None:  # noqa: FBT001
        if not is_kept and not conn.sock.has_sent:
            self._let_go(conn)  # There is no answer that could be lost.
        elif not is_kept:
            self._closing.add(conn, self._linger_seconds)
        elif conn.parser.is_idle:
            self._keep(conn)
        else:
            self._receiving.add(conn)

    def murder_pending(self) -> None:
        """End what has had its time. The main thread calls this at least once a second."""
        now = time.monotonic()
        if not self.alive:
            self._hurry_connections(now)
        self._closing.end_expired(now)
        self._sending.end_expired(now if self._linger_seconds else math.inf)
        self._receiving.look_after(now)
        if self.nr_conns >= self.worker_connections:
            self._make_room()

    def _hurry_connections(self, now: float) -> None:
        """Let no connection that waits for its client delay a stop."""
        self._receiving.hurry(now, self._linger_seconds)
        if not self._linger_seconds:
            for conn in self.keepalived_conns:
                conn.timeout = now

    def _make_room(self) -> None:
        """Close the connection that has waited for its client longest, so that another can come."""
        places = (self._receiving, self._sending, self._closing)
        waiting = [(conn, each.forget) for each in places if (conn := each.oldest()) is not None]
        if self.keepalived_conns:
            waiting.append((cast("Connection", self.keepalived_conns[0]), self._forget_kept))
        if waiting:
            conn, forget = min(waiting, key=lambda pair: pair[0].waiting_since)
            forget(conn)
            self._let_go(conn)

    def _keep(self, conn: Connection) -> None:
        conn.wait(self.cfg.keepalive if self.alive else self._linger_seconds)
        self.keepalived_conns.append(conn)
        when_readable = partial(self.on_client_socket_readable, conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, when_readable)

    def _forget_kept(self, conn: Connection) -> None:
        self.poller.unregister(conn.sock)
        self.keepalived_conns.remove(conn)

    def handle_quit(self, sig: int, frame: FrameType | None) -> None:
        """Stop without waiting for any client, as Ctrl-C asks. Requests being served are answered.

        Only sets flags: gunicorn's own takes a lock of the thread pool here, which the code that
        the signal interrupted may hold, and Ctrl-C brings two signals at once.
        """
        self._linger_seconds = 0.0
        self.alive = False
        self.method_queue.defer(_wake)

    def _let_go(self, conn: Connection) -> None:
        conn.close()
        self.nr_conns -= 1


def _wake() -> None:
    """Do nothing, in the main thread: it only has to stop waiting."""
