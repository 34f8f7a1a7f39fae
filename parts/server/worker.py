"""The gunicorn worker: gunicorn manages the processes, waitress serves in each.

gunicorn_conf.py names it as `worker_class`. It runs any WSGI application.
"""

import logging
import math
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from errno import EMFILE, ENFILE
from functools import partial
from operator import attrgetter
from types import FrameType
from typing import Any

import waitress
from gunicorn.arbiter import Arbiter
from gunicorn.workers.base import Worker
from waitress import wasyncore

from deeds.model import BODY_BYTES_MAX
from parts.server.http_server import Channel

# Limit of a request's line and headers, the same as nginx's default.
HEAD_BYTES_MAX = 32_768

# Bytes that chunk headers may add to twice the length of a body.
CHUNKS_BYTES_MAX = 65_536

# Memory of a worker for bodies received and responses not yet sent. If they need more,
# the worker closes the oldest connections that hold LARGE_BYTES and wait for clients.
HELD_BYTES_MAX = 67_108_864
LARGE_BYTES = 65_536

# Seconds a client has to close after our last response; during a stop, also to send
# another request.
LINGER_SECONDS = 1.0

# Part of graceful_timeout reserved for closing the application.
CLOSING_SECONDS = 3.0

# Interval between timeout scans: the minimum under load, the maximum when idle.
SCAN_SECONDS_MIN, SCAN_SECONDS_MAX = 0.05, 1.0

# Block stop signals until a new worker has set its own handlers: the master's handlers,
# which it inherits, would lose them.
_STOP_SIGNALS = frozenset({signal.SIGTERM, signal.SIGQUIT, signal.SIGINT})
_hold_signals = partial(signal.pthread_sigmask, signal.SIG_BLOCK, _STOP_SIGNALS)
_release_signals = partial(signal.pthread_sigmask, signal.SIG_UNBLOCK, _STOP_SIGNALS)
os.register_at_fork(before=_hold_signals, after_in_parent=_release_signals)


class WaitressWorker(Worker):
    """A worker: its main thread handles all connections, other threads requests."""

    # Time limit for a client to send a whole request, and to read a response.
    client_seconds_max = 60.0

    # Delay before a failed worker exits, because the master replaces it at once.
    retry_seconds = 5.0

    _next_scan_s = 0.0
    _warned_at_s = 0.0

    def init_process(self) -> None:
        """Load the application and serve.

        Exceptions are logged here, because gunicorn would print their messages. If one
        of the first workers fails before it serves, the master ends too.
        """
        try:
            super().init_process()
            return
        except SystemExit:
            # The reason was logged by create_app.
            if self.booted:
                raise
        except Exception:
            self.log.exception("Exception in worker process")
            if not self.booted and self.age <= self.cfg.workers:
                sys.exit(Arbiter.WORKER_BOOT_ERROR)
        retry_at = time.monotonic() + self.retry_seconds
        while self._is_running() and time.monotonic() < retry_at:
            self.notify()
            time.sleep(0.1)

    def init_signals(self) -> None:
        """Set the handlers, then deliver the signals that were blocked."""
        super().init_signals()
        _release_signals()

    def handle_quit(self, sig: int, frame: FrameType | None) -> None:
        """Stop without waiting for clients; gunicorn's handler would abort requests."""
        self.alive, self.client_seconds_max = False, 0.0

    def run(self) -> None:
        """Serve until stopped, then finish the requests that have begun."""
        logging.getLogger("waitress").setLevel(logging.ERROR)
        logging.getLogger("waitress").addFilter(_redact)
        self._map: dict[int, Any] = {}  # waitress's sockets, by file descriptor.
        self._channels: dict[int, Channel] = {}
        # An executor starts a thread only if none is idle, and few threads have warm
        # caches. waitress gives requests to all its threads in turn, which made the
        # swaps of one client take five times as long.
        self._threads = ThreadPoolExecutor(self.cfg.threads)
        quick_paths = ("/healthz", "/metrics", "/v1/info")
        self._monitor_threads = dict.fromkeys(quick_paths, ThreadPoolExecutor(1))
        # A separate thread, because /readyz may wait for a database that hangs.
        self._monitor_threads["/readyz"] = ThreadPoolExecutor(1)
        # Start a thread in each executor, to fail now if the system permits no more.
        for threads in {self._threads, *self._monitor_threads.values()}:
            threads.submit(self.notify).result()
        servers = [self._listen(listener) for listener in self.sockets]
        # A signal wakes up the loop.
        wake_up = servers[0].trigger.trigger
        os.set_blocking(wake_up, False)
        signal.set_wakeup_fd(wake_up, warn_on_full_buffer=False)
        while self._is_running():
            self._run_loop_once()
        self.alive = False
        deadline = time.monotonic() + self.cfg.graceful_timeout - CLOSING_SECONDS
        for server in servers:
            # server.close() would also close the trigger that wakes up the loop.
            wasyncore.dispatcher.close(server)
        while self._channels and time.monotonic() < deadline:
            self._run_loop_once()

    def _is_running(self) -> bool:
        """Return whether neither a signal nor the end of the master has stopped it."""
        return self.alive and self.ppid == os.getppid()

    def _listen(self, listener: Any) -> Any:
        settings = getattr(self.wsgi, "config", {})
        limit = settings.get("MAX_CONTENT_LENGTH", BODY_BYTES_MAX)
        server = waitress.create_server(
            self.wsgi,
            map=self._map,
            _start=False,  # gunicorn's socket listens already.
            _dispatcher=self,
            sockets=[listener.sock],
            # ProxyFix reads them; without them a proxy's clients would count as one.
            clear_untrusted_proxy_headers=False,
            channel_timeout=sys.maxsize,  # The worker closes connections itself.
            # One above the limit, because a connection is accepted before another is
            # closed. Two descriptors of each listener count too.
            connection_limit=self.cfg.worker_connections + 2 * len(self.sockets) + 1,
            ident=None,
            # waitress would write larger buffers to a disk.
            inbuf_overflow=sys.maxsize,
            outbuf_overflow=sys.maxsize,
            outbuf_high_watermark=sys.maxsize,
            send_bytes=sys.maxsize,  # The task sends the whole response at its end.
            log_socket_errors=False,
            max_request_header_size=HEAD_BYTES_MAX,
            # Counts chunk headers too.
            max_request_body_size=2 * limit + CHUNKS_BYTES_MAX,
        )
        server.adj.body_bytes_max = limit
        server.handle_accept = partial(self._accept, server.handle_accept)
        server.accept = partial(self._accept_or_make_room, server.accept)
        server.accepting = True
        server.server_name = server.effective_host
        server.channel_class = Channel
        server.active_channels = self._channels
        return server

    def add_task(self, channel: Channel) -> None:
        """Queue a request for a thread. waitress calls this."""
        threads = self._monitor_threads.get(channel.requests[0].path, self._threads)
        # If the system lets no more threads start, an existing one serves it.
        with suppress(RuntimeError):
            threads.submit(channel.service)

    def _run_loop_once(self) -> None:
        """Run waitress's loop once, and close connections that have timed out."""
        wasyncore.poll2(SCAN_SECONDS_MAX, self._map)
        excess = len(self._channels) - self.cfg.worker_connections
        if excess > 0:
            self._close_oldest(excess)
        now = time.monotonic()
        if now < self._next_scan_s:
            return
        self._next_scan_s = now + SCAN_SECONDS_MIN
        self.notify()
        while self._held_bytes() > HELD_BYTES_MAX:
            if not self._close_oldest(1, LARGE_BYTES):
                break
        for channel in list(self._channels.values()):
            if now - channel.waiting_since > self._seconds_max(channel):
                channel.linger() if channel.is_idle else channel.handle_close()

    def _held_bytes(self) -> int:
        return sum(channel.held_bytes for channel in self._channels.values())

    def _accept(self, accept_one: Callable[[], None]) -> None:
        """Accept waiting connections, up to an eighth of the number already open.

        This leaves the rest of the waiting connections to the other workers.
        """
        for _ in range(max(1, len(self._channels) // 8)):
            count = len(self._channels)
            accept_one()
            if len(self._channels) == count:
                break

    def _accept_or_make_room(self, accept: Callable[[], Any]) -> Any:
        """Accept a connection; close another one if no file descriptor is left."""
        try:
            return accept()
        except OSError as error:
            if error.errno in {EMFILE, ENFILE}:
                self._make_room()
            raise

    def _make_room(self) -> None:
        if not self._close_oldest(1):
            # Wait, or the loop would spin until a thread has closed something.
            time.sleep(SCAN_SECONDS_MIN)
        now = time.monotonic()
        if now > self._warned_at_s + SCAN_SECONDS_MAX:
            self._warned_at_s = now
            self.log.warning(
                "no file is left for a connection (ulimit -n): connections that wait"
                " for their clients are closed"
            )

    def _close_oldest(self, count: int, held_bytes_min: int = 0) -> bool:
        """Close `count` connections that wait for their clients.

        Considers only those that hold at least `held_bytes_min`. Closes first the
        oldest connections of the addresses that have the most. Returns False if there
        was none to close.
        """
        waiting = [
            channel
            for channel in self._channels.values()
            if not channel.requests and channel.held_bytes >= held_bytes_min
        ]
        waiting.sort(key=attrgetter("waiting_since"), reverse=True)
        # The rank of each among the connections of its address, newest first.
        ranks: dict[Channel, int] = {}
        counts: Counter[str] = Counter()
        for channel in waiting:
            counts[channel.addr[0]] += 1
            ranks[channel] = counts[channel.addr[0]]
        # The sort is stable, so the oldest of one rank comes last.
        for channel in sorted(waiting, key=ranks.__getitem__)[-count:]:
            channel.handle_close()
        return bool(waiting)

    def _seconds_max(self, channel: Channel) -> float:
        """Return how long a connection may wait for its client."""
        if channel.requests:
            return math.inf
        if channel.is_lingering or (channel.is_idle and not self.alive):
            return LINGER_SECONDS
        return float(self.cfg.keepalive) if channel.is_idle else self.client_seconds_max


def _redact(record: logging.LogRecord) -> bool:
    """Reduce waitress's errors to class and place: their texts quote requests."""
    record.msg, record.args = "a defect in serving HTTP", None
    record.exc_info = record.exc_info or sys.exc_info()
    return True
