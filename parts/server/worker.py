"""The gunicorn worker: gunicorn keeps the processes, waitress serves in each."""

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

# As much as nginx allows by default.
HEAD_BYTES_MAX = 32_768

# Bytes that chunk headers may add to twice the length of a body.
CHUNKS_BYTES_MAX = 65_536

# All bodies that wait for a thread, and all answers that wait to be read. Above it the
# oldest connection that holds LARGE_BYTES and waits for its client is closed.
HELD_BYTES_MAX = 67_108_864
LARGE_BYTES = 65_536

# Seconds a client has to close after our last answer; while we stop, also to send
# another request.
LINGER_SECONDS = 1.0

# Part of graceful_timeout reserved for closing the application.
CLOSING_SECONDS = 3.0

# Interval between timeout scans: under load the loop turns more often, without it less.
LOOK_SECONDS_MIN, LOOK_SECONDS_MAX = 0.05, 1.0

# Until a new process has handlers of its own its signals wait: the master's would lose
# a stop.
_STOP_SIGNALS = frozenset({signal.SIGTERM, signal.SIGQUIT, signal.SIGINT})
_hold_signals = partial(signal.pthread_sigmask, signal.SIG_BLOCK, _STOP_SIGNALS)
_release_signals = partial(signal.pthread_sigmask, signal.SIG_UNBLOCK, _STOP_SIGNALS)
os.register_at_fork(before=_hold_signals, after_in_parent=_release_signals)


class WaitressWorker(Worker):
    """A process: its main thread waits on all connections, others serve requests."""

    # For the whole of a request, and for reading an answer.
    client_seconds_max = 60.0

    # Before a worker that failed ends: the master starts another at once.
    retry_seconds = 5.0

    _look_at = 0.0
    _said_at_s = 0.0

    def init_process(self) -> None:
        """Load the application and serve.

        gunicorn would print what an exception says. A defect that one of the first
        workers meets before it serves ends the master too.
        """
        try:
            super().init_process()
            return
        except SystemExit:
            # What cannot start has said why.
            if self.booted:
                raise
        except Exception:
            self.log.exception("Exception in worker process")
            if not self.booted and self.age <= self.cfg.workers:
                sys.exit(Arbiter.WORKER_BOOT_ERROR)
        retry_at = time.monotonic() + self.retry_seconds
        while self._goes_on() and time.monotonic() < retry_at:
            self.notify()
            time.sleep(0.1)

    def init_signals(self) -> None:
        """Set the handlers, and meet the signals that came before."""
        super().init_signals()
        _release_signals()

    def handle_quit(self, sig: int, frame: FrameType | None) -> None:
        """Stop without waiting for clients; gunicorn's own breaks requests off."""
        self.alive, self.client_seconds_max = False, 0.0

    def run(self) -> None:
        """Serve until told to stop, then answer what has begun."""
        logging.getLogger("waitress").setLevel(logging.ERROR)
        logging.getLogger("waitress").addFilter(_quote_nothing)
        self._map: dict[int, Any] = {}  # What the loop waits for, as waitress wants it.
        self._channels: dict[int, Channel] = {}
        # They start threads as needed: the fewer, the warmer are their caches. One
        # client's swaps took five times as long with waitress's own, which take turns.
        self._threads = ThreadPoolExecutor(self.cfg.threads)
        quick_paths = ("/healthz", "/metrics", "/v1/info")
        self._monitor_threads = dict.fromkeys(quick_paths, ThreadPoolExecutor(1))
        # It waits for a stopped database.
        self._monitor_threads["/readyz"] = ThreadPoolExecutor(1)
        # Without one thread of each the worker could not serve.
        for threads in {self._threads, *self._monitor_threads.values()}:
            threads.submit(self.notify).result()
        servers = [self._listen(each) for each in self.sockets]
        # A signal ends the waiting for connections.
        wake_up = servers[0].trigger.trigger
        os.set_blocking(wake_up, False)
        signal.set_wakeup_fd(wake_up, warn_on_full_buffer=False)
        while self._goes_on():
            self._turn()
        self.alive = False
        deadline = time.monotonic() + self.cfg.graceful_timeout - CLOSING_SECONDS
        for server in servers:
            # Its own would close what wakes the loop, too.
            wasyncore.dispatcher.close(server)
        while self._channels and time.monotonic() < deadline:
            self._turn()

    def _goes_on(self) -> bool:
        return self.alive and self.ppid == os.getppid()

    def _listen(self, listener: Any) -> Any:
        settings = getattr(self.wsgi, "config", {})
        limit = settings.get("MAX_CONTENT_LENGTH", BODY_BYTES_MAX)
        server = waitress.create_server(
            self.wsgi,
            map=self._map,
            _start=False,  # gunicorn has let it listen.
            _dispatcher=self,
            sockets=[listener.sock],
            # Or all who come by a proxy would be one client.
            clear_untrusted_proxy_headers=False,
            channel_timeout=sys.maxsize,  # The worker sees to it.
            # One above the limit, because a connection is accepted before another is
            # closed. Two descriptors of each listener count too.
            connection_limit=self.cfg.worker_connections + 2 * len(self.sockets) + 1,
            ident=None,
            # Larger ones would be written to a disk.
            inbuf_overflow=sys.maxsize,
            outbuf_overflow=sys.maxsize,
            outbuf_high_watermark=sys.maxsize,
            send_bytes=sys.maxsize,  # The task does it, when the answer is whole.
            log_socket_errors=False,
            max_request_header_size=HEAD_BYTES_MAX,
            # As it is sent, in chunks.
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
        """Have a request served, as waitress asks for it."""
        threads = self._monitor_threads.get(channel.requests[0].path, self._threads)
        # Where the system lets no more threads start, those that there are serve it.
        with suppress(RuntimeError):
            threads.submit(channel.service)

    def _turn(self) -> None:
        """Wait for connections, and close those that have had their time."""
        wasyncore.poll2(LOOK_SECONDS_MAX, self._map)
        excess = len(self._channels) - self.cfg.worker_connections
        if excess > 0:
            self._close_oldest(excess)
        now = time.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + LOOK_SECONDS_MIN
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
        """Accept connections until there is none, an eighth of those held at most.

        More would leave other processes none.
        """
        for _ in range(max(1, len(self._channels) // 8)):
            count = len(self._channels)
            accept_one()
            if len(self._channels) == count:
                break

    def _accept_or_make_room(self, accept: Callable[[], Any]) -> Any:
        """Accept a connection; where no file is left for it, close another one."""
        try:
            return accept()
        except OSError as error:
            if error.errno in {EMFILE, ENFILE}:
                self._make_room()
            raise

    def _make_room(self) -> None:
        if not self._close_oldest(1):
            # The loop would spin until a thread has closed something.
            time.sleep(LOOK_SECONDS_MIN)
        now = time.monotonic()
        if now > self._said_at_s + LOOK_SECONDS_MAX:
            self._said_at_s = now
            self.log.warning(
                "no file is left for a connection (ulimit -n): connections that wait"
                " for their clients are closed"
            )

    def _close_oldest(self, count: int, held_bytes_min: int = 0) -> bool:
        """Close connections that wait for their clients, and hold at least so much.

        The oldest each time of the address that has most.
        """
        channels = (each for each in self._channels.values() if not each.requests)
        waiting = [each for each in channels if each.held_bytes >= held_bytes_min]
        waiting.sort(key=attrgetter("waiting_since"), reverse=True)
        # The place of each among the connections of its address, the newest first.
        places: dict[Channel, int] = {}
        counts: Counter[str] = Counter()
        for channel in waiting:
            counts[channel.addr[0]] += 1
            places[channel] = counts[channel.addr[0]]
        # Of those in the same place the oldest comes last.
        for channel in sorted(waiting, key=places.__getitem__)[-count:]:
            channel.handle_close()
        return bool(waiting)

    def _seconds_max(self, channel: Channel) -> float:
        """Return how long a connection may wait for its client."""
        if channel.requests:
            return math.inf
        if channel.is_lingering or (channel.is_idle and not self.alive):
            return LINGER_SECONDS
        return float(self.cfg.keepalive) if channel.is_idle else self.client_seconds_max


def _quote_nothing(record: logging.LogRecord) -> bool:
    """Log where waitress met a defect, and of what class: its texts quote requests."""
    record.msg, record.args = "a defect in serving HTTP", None
    record.exc_info = record.exc_info or sys.exc_info()
    return True
