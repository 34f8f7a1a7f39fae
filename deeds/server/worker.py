"""The gunicorn worker of this service.

Gunicorn keeps the processes, waitress serves in each.
"""

import logging
import math
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import attrgetter
from types import FrameType
from typing import Any

import waitress
from gunicorn.arbiter import Arbiter
from gunicorn.workers.base import Worker
from waitress import wasyncore

from deeds.domain.errors import StartError
from deeds.domain.model import BODY_BYTES_MAX
from deeds.server.http_server import Channel
from deeds.server.log import ServerLog

# As much as nginx allows by default.
HEAD_BYTES_MAX = 32_768

# What chunks may add to twice the length of a body.
CHUNKS_BYTES_MAX = 65_536

# All bodies on their way to a thread, and all answers that wait to be read. Where they
# are more, the oldest connection that holds as much as LARGE_BYTES and waits for its
# client is closed.
HELD_BYTES_MAX = 67_108_864
LARGE_BYTES = 65_536

# What a client gets to close after our last answer; when we stop, also to send another
# request.
LINGER_SECONDS = 1.0

# Connections are looked through so often: under load the loop turns more often, without
# it less.
LOOK_SECONDS_MIN, LOOK_SECONDS_MAX = 0.05, 1.0

# Until a new process has handlers of its own its signals wait: the master's would lose
# a stop.
_STOP_SIGNALS = frozenset({signal.SIGTERM, signal.SIGQUIT, signal.SIGINT})
_hold_signals = partial(signal.pthread_sigmask, signal.SIG_BLOCK, _STOP_SIGNALS)
_release_signals = partial(signal.pthread_sigmask, signal.SIG_UNBLOCK, _STOP_SIGNALS)
os.register_at_fork(before=_hold_signals, after_in_parent=_release_signals)


class WaitressWorker(Worker):
    """One process.

    A main thread that waits on all connections, and threads that serve requests.
    """

    # For the whole of a request, and for reading an answer.
    client_seconds_max = 60.0

    # How long a worker that fails waits before it ends: the master starts another at
    # once.
    retry_seconds = 5.0

    log: ServerLog
    _look_at = 0.0

    def init_process(self) -> None:
        """Load the application and serve.

        gunicorn would print what an exception says. A defect that one of the first
        workers meets before it serves ends the master too.
        """
        try:
            super().init_process()
            return
        except StartError as stop:
            self.log.say(stop)
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
        """Stop without waiting for clients, as Ctrl-C asks.

        Gunicorn's own breaks requests off.
        """
        self.alive, self.client_seconds_max = False, 0.0

    def run(self) -> None:
        """Serve until told to stop, then answer what has begun."""
        logging.getLogger("waitress").setLevel(logging.ERROR)
        logging.getLogger("waitress").addFilter(_quote_nothing)
        self._map: dict[int, Any] = {}  # What the loop waits for, as waitress wants it.
        self._channels: dict[int, Channel] = {}
        # They start threads as needed: the fewer, the warmer are their caches. One
        # client's swaps took five times as long with waitress's own, which take turns.
        self._threads, quick = (
            ThreadPoolExecutor(self.cfg.threads),
            ThreadPoolExecutor(1),
        )
        self._monitor_threads = dict.fromkeys(
            ("/healthz", "/metrics", "/v1/info"), quick
        )
        self._monitor_threads["/readyz"] = ThreadPoolExecutor(
            1
        )  # It waits for a stopped database.
        servers = [self._listen(each) for each in self.sockets]
        # A signal ends the waiting for connections.
        wake_up = servers[0].trigger.trigger
        os.set_blocking(wake_up, False)
        signal.set_wakeup_fd(wake_up, warn_on_full_buffer=False)
        while self._goes_on():
            self._turn()
        self.alive = False
        deadline = time.monotonic() + self.cfg.graceful_timeout - 1
        for server in servers:
            wasyncore.dispatcher.close(
                server
            )  # Its own would close what wakes the loop, too.
        while self._channels and time.monotonic() < deadline:
            self._turn()

    def _goes_on(self) -> bool:
        return self.alive and self.ppid == os.getppid()

    def _listen(self, listener: Any) -> Any:
        limit = getattr(self.wsgi, "config", {}).get(
            "MAX_CONTENT_LENGTH", BODY_BYTES_MAX
        )
        server = waitress.create_server(
            self.wsgi,
            map=self._map,
            _start=False,  # gunicorn has let it listen.
            _dispatcher=self,
            sockets=[listener.sock],
            clear_untrusted_proxy_headers=False,  # Or all who come by a proxy would be one client.
            channel_timeout=sys.maxsize,  # The worker sees to it.
            # One comes before another is closed for it. Two descriptors of each
            # listener count too.
            connection_limit=self.cfg.worker_connections + 2 * len(self.sockets) + 1,
            ident=None,
            # Larger ones would be written to a disk.
            inbuf_overflow=sys.maxsize,
            outbuf_overflow=sys.maxsize,
            outbuf_high_watermark=sys.maxsize,
            send_bytes=sys.maxsize,  # The task does it, when the answer is whole.
            log_socket_errors=False,
            max_request_header_size=HEAD_BYTES_MAX,
            max_request_body_size=2 * limit
            + CHUNKS_BYTES_MAX,  # As it is sent, in chunks.
        )
        server.adj.body_bytes_max = limit
        server.accepting = True
        server.server_name = server.effective_host
        server.channel_class = Channel
        server.active_channels = self._channels
        return server

    def add_task(self, channel: Channel) -> None:
        """Have a request served, as waitress asks for it."""
        threads = self._monitor_threads.get(channel.requests[0].path, self._threads)
        threads.submit(channel.service)

    def _turn(self) -> None:
        """Wait for connections, and close those that have had their time."""
        wasyncore.poll2(LOOK_SECONDS_MAX, self._map)
        if len(self._channels) > self.cfg.worker_connections:
            self._close_oldest()
        now = time.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + LOOK_SECONDS_MIN
        self.notify()
        while (
            sum(channel.held_bytes for channel in self._channels.values())
            > HELD_BYTES_MAX
        ):
            if not self._close_oldest(LARGE_BYTES):
                break
        for channel in list(self._channels.values()):
            if now - channel.waiting_since > self._seconds_max(channel):
                channel.linger() if channel.is_idle else channel.handle_close()

    def _close_oldest(self, held_bytes_min: int = 0) -> bool:
        """Close the connection that has waited longest for its client, and holds so much."""
        channels = (each for each in self._channels.values() if not each.requests)
        waiting = [each for each in channels if each.held_bytes >= held_bytes_min]
        if waiting:
            min(waiting, key=attrgetter("waiting_since")).handle_close()
        return bool(waiting)

    def _seconds_max(self, channel: Channel) -> float:
        """Return how long a connection may wait for its client."""
        if channel.requests:
            return math.inf
        if channel.is_lingering or (channel.is_idle and not self.alive):
            return LINGER_SECONDS
        return float(self.cfg.keepalive) if channel.is_idle else self.client_seconds_max


def _quote_nothing(record: logging.LogRecord) -> bool:
    """Log where waitress met a defect, and of what class.

    Its own texts quote requests.
    """
    record.msg, record.args = "a defect in serving HTTP", None
    record.exc_info = record.exc_info or sys.exc_info()
    return True
