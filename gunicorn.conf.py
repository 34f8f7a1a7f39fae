"""How gunicorn runs the service. `gunicorn "app:create_app()"` in this directory finds it.

Run as a script it only checks PORT and WEB_CONCURRENCY: gunicorn itself reads the second before
this file, and dies with a traceback when it is odd. `make run` does so first.
"""

import gc
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from gunicorn.errors import HaltServer

from deeds.domain.errors import StartError
from deeds.server.cpus import default_processes_count
from deeds.server.metrics_files import MetricsFiles, count_in
from deeds.settings import read_server_settings

_settings = read_server_settings(os.environ)

# Where metrics have an address of their own, the same processes listen there too.
_metrics = _settings.metrics
bind = [_settings.address, *([_metrics.address] if _metrics.address else [])]

workers = _settings.processes_count or default_processes_count()

# Argon2id runs without holding the GIL, so threads that wait for it cost little. How many hash at
# once is bounded in deeds/domain/hash_pool.py, not here.
worker_class = "deeds.server.worker.WaitressWorker"
threads = 32

# Open connections a process holds. Who keeps it waiting does so without a thread, and where all are
# taken, who has kept it waiting longest is closed to let another in. One file each, so it stays
# well below the usual limit of 1024 open files with the database's beside it.
worker_connections = 512

# Files are sent like other answers: by nothing that waits for the client.
sendfile = False

# Longer than the 60 s after which AWS's and most other proxies drop an idle connection: they must
# be the ones to close it, or they send a request into a connection that we are just closing.
keepalive = 65

# A worker whose main thread has not moved for this long is replaced. Slow requests do not count.
timeout = 30
graceful_timeout = 30

# The longest path of ours has 41 characters; headers leave room for what proxies add. All of a head
# together may have 32 KiB (deeds/server/gthread_worker/endings.py).
limit_request_line = 4094
limit_request_fields = 100
limit_request_field_size = 8190

# One parser and one protocol, whatever else is installed: the tests know these.
http_parser = "python"
http_protocols = "h1"

# Headers of proxies are not read: nothing here depends on who the client is. gunicorn's own reading
# of them lets a client that sends SCRIPT_NAME draw a 500.
forwarded_allow_ips = ""
forwarder_headers = ""
secure_scheme_headers: dict[str, str] = {}
header_map = "drop"

# A file that a worker touches to show it lives must not wait for a disk.
_in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108
worker_tmp_dir = _in_memory

# Each worker opens its own database connections: none may be carried across a fork.
preload_app = False
control_socket_disable = True

# The service logs its requests itself, without what could be a secret.
accesslog = None
errorlog = "-"
# At "debug" gunicorn logs the bytes of requests that broke off.
_level = _settings.log.level
loglevel = "info" if _level == "debug" else _level
logger_class = "deeds.server.log.ServerLog"


def on_starting(server: Any) -> None:
    """Check the settings and prepare the database once, before any worker starts.

    A wrong setting ends the master with one line here. Found by the workers, it would end them
    one after the other, each with a traceback.
    """
    from app import prepare  # noqa: PLC0415  (the directory is importable only by now)

    server.stop = _stop_of(server.stop)

    try:
        prepare()
    except StartError as stop:
        server.log.say(stop)
        raise SystemExit(1) from None
    if _metrics.is_on:
        server.metrics_files = MetricsFiles.create(_in_memory or tempfile.gettempdir())


def _stop_of(stop: Callable[..., None]) -> Callable[..., None]:
    """Return gunicorn's stop, gone on with where a worker fails to start meanwhile.

    The stop itself would raise HaltServer for that. The master would end with 1 and no line that
    says why, before `on_exit` and before the workers that are left.
    """

    def stop_all(*graceful: bool) -> None:
        is_stopped = False
        while not is_stopped:
            with suppress(HaltServer):
                stop(*graceful)
                is_stopped = True

    return stop_all


def pre_fork(server: Any, worker: Any) -> None:
    """Give a worker its place among the files of metrics."""
    files = getattr(server, "metrics_files", None)
    worker.metrics_place = None
    if files is not None:
        try:
            worker.metrics_place = files.take_place()
        except OSError as error:
            server.log.warning("a worker's metrics are not counted: %s", error.strerror)


def post_fork(server: Any, worker: Any) -> None:
    """Let the worker count there, before it loads the application."""
    if worker.metrics_place is not None:
        count_in(server.metrics_files.directory, worker.metrics_place)


def post_worker_init(worker: Any) -> None:
    """Set apart what the start has made.

    A full collection looks through all that was ever made, and nobody is served meanwhile: 60 to
    90 ms, a few times a minute under load. What is there now stays, so it need not be looked at.
    """
    gc.collect()
    gc.freeze()


def child_exit(server: Any, worker: Any) -> None:
    """Keep what a worker that has ended has counted, for the one that takes its place."""
    if worker.metrics_place is not None:
        server.metrics_files.free_place(worker.metrics_place)


def on_exit(server: Any) -> None:
    """Remove the files of metrics."""
    files = getattr(server, "metrics_files", None)
    if files is not None:
        files.remove()


def when_ready(server: Any) -> None:
    """Say where the service is and give a line to try it with."""
    address = server.LISTENERS[0].getsockname()
    if not isinstance(address, tuple):
        return  # A unix socket: only a proxy can reach it.
    host = "127.0.0.1" if address[0] == "0.0.0.0" else address[0]  # noqa: S104
    url = f"http://{host}:{address[1]}"
    if not server.log.is_console:
        server.log.info("the deed service listens at %s", url)
        return
    print(
        f"\nThe deed service listens at {url}  (Ctrl-C stops it). Mint a first deed:\n\n"
        f"curl -s {url}/v1/mint -H 'Content-Type: application/json'"
        """ -d '{"outputs":["+5.my-secret"]}'\n""",
        file=sys.stderr,
        flush=True,
    )
