"""gunicorn's configuration for the service.

Read by `deeds serve`, and by `gunicorn "app:create_app()"` in a directory with
gunicorn.conf.py.
"""

import gc
import os
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from deeds.errors import RetryLaterError, StartError
from deeds.process import (
    CONNECTIONS_MAX,
    CONNECTIONS_MIN,
    LOG_STREAM,
    OTHER_FILES_MAX,
    THREADS_COUNT,
    default_processes_count,
    keep_exit_code,
    open_files_max,
)
from deeds.settings import read_setting

keep_exit_code()


def _setting(name: str) -> Any:
    try:
        return read_setting(os.environ, name)
    except StartError as stop:
        raise SystemExit(str(stop)) from None


def _has_part(part: str, package: str) -> bool:
    """Return whether a part and the package it needs are installed."""
    return all(find_spec(name) for name in ("parts", f"parts.{part}", package))


def _directory_for_files(first: str) -> str | None:
    """Return `first` if it is writable, else the directory for temporary files.

    Returns None if neither is writable.
    """
    for directory in (first, None):
        with (
            suppress(OSError),
            tempfile.NamedTemporaryFile(dir=directory, buffering=0) as file,
        ):
            file.write(b"deeds")
            return str(Path(file.name).parent)
    return None


# IPv6 addresses need brackets; gunicorn accepts them around IPv4 addresses too.
bind = f"[{_setting('host')}]:{_setting('port')}"

workers = _setting("processes_count") or default_processes_count()

# Without parts/server, gunicorn's own worker serves. It needs a proxy that buffers
# requests and responses.
worker_class = "gthread"
if _has_part("server", "waitress"):
    worker_class = "parts.server.worker.WaitressWorker"
    logger_class = "parts.server.log.ServerLog"
threads = THREADS_COUNT

_open_files = open_files_max()
worker_connections = min(CONNECTIONS_MAX, _open_files - OTHER_FILES_MAX)
if worker_connections < CONNECTIONS_MIN:
    raise SystemExit(
        f"deeds: the limit of open files is {_open_files} (ulimit -n):"
        f" at least {CONNECTIONS_MIN + OTHER_FILES_MAX} are needed"
    )

keepalive = _setting("keepalive_s")

# Seconds after which a worker whose main thread hangs is replaced. Slow requests run in
# other threads and do not count.
timeout = 30
# Seconds to finish requests. The last few are for closing connections to a database
# that may hang. A stop then takes at most 10 s.
graceful_timeout = 9

# Workers touch a heartbeat file here, which must not wait for a disk.
worker_tmp_dir = _directory_for_files("/dev/shm")  # noqa: S108

# Operators may turn it on: the application opens nothing and starts no thread before
# its first use. New code needs a restart in any case, because the master imports it
# too.
preload_app = False
control_socket_disable = True

# Validate it here: ServerLog reads it before an error could be logged.
_setting("log_form")

# At "debug" gunicorn logs its whole configuration.
_level = _setting("log_level")
loglevel = "info" if _level == "debug" else _level

_is_measured = _setting("metrics") == "on" and _has_part("metrics", "prometheus_client")
if _is_measured:
    from parts.metrics.gunicorn_hooks import (  # noqa: F401  (gunicorn calls them)
        child_exit,
        make_directory,
        on_exit,
        post_fork,
        pre_fork,
    )


# The settings above that operators should not change.
_FIXED_SETTINGS = (
    "worker_class",
    "logger_class",
    "threads",
    "timeout",
    "graceful_timeout",
)


def _overridden(settings: Mapping[str, Any]) -> str:
    """Return the _FIXED_SETTINGS whose values were overridden, as text."""
    ours = globals()
    return ", ".join(
        f"{name} {settings[name].get()}"
        for name in _FIXED_SETTINGS
        if name in ours and settings[name].get() != ours[name]
    )


def _check_server(cfg: Any) -> None:
    """Raise StartError if the workers could not start or serve.

    Otherwise sets WEB_CONCURRENCY to the number of workers that gunicorn starts,
    because the application divides CPUs and database connections among them.
    """
    if worker_tmp_dir is None:
        raise StartError("TMPDIR and /tmp are no directories that can be written")
    if cfg.preload_app and cfg.workers != workers:
        raise StartError(
            f"--preload and {cfg.workers} workers: set WEB_CONCURRENCY instead of"
            " --workers"
        )
    os.environ["WEB_CONCURRENCY"] = str(cfg.workers)


def on_starting(server: Any) -> None:
    """Check the settings and prepare the database once, before any worker starts.

    An invalid setting stops the master with a one-line error. Workers would otherwise
    fail one after the other, each with a traceback.
    """
    from app import prepare  # noqa: PLC0415  (slow, and not needed before)

    try:
        _check_server(server.cfg)
        prepare()
    except StartError as stop:
        # One line, without a traceback.
        server.log.error(str(stop), extra={"event": "cannot_start"})  # noqa: TRY400
        raise SystemExit(1) from None
    if changes := _overridden(server.cfg.settings):
        server.log.warning(
            "GUNICORN_CMD_ARGS or the command line changes what keeps slow and hostile"
            " clients from stopping the service: %s",
            changes,
        )
    if worker_connections < CONNECTIONS_MAX:
        server.log.warning(
            "the limit of open files is %d (ulimit -n): each process takes %d"
            " connections instead of %d",
            _open_files,
            worker_connections,
            CONNECTIONS_MAX,
        )
    if _is_measured:
        make_directory(worker_tmp_dir)


def post_worker_init(worker: Any) -> None:
    """Start metrics and the log thread, open the SQLite file, and freeze objects.

    A full garbage collection visits all objects and pauses the worker for 60 to 90 ms,
    a few times a minute under load. Objects created at startup are never freed, so
    gc.freeze() exempts them.
    """
    extensions = getattr(worker.wsgi, "extensions", {})
    if create_metrics := extensions.get("deeds_metrics"):
        create_metrics()
    if open_file := extensions.get("deeds_open_file"):
        with suppress(RetryLaterError):
            open_file()
    LOG_STREAM.start()
    gc.collect()
    gc.freeze()


def when_ready(server: Any) -> None:
    """Print the URL and a command to try, if the log goes to a terminal."""
    url = str(server.LISTENERS[0]).replace("//0.0.0.0:", "//127.0.0.1:")
    is_console = getattr(server.log, "is_console", False)
    if not (is_console and url.startswith("http")):
        return  # gunicorn logs the address. A unix socket is only for a proxy.
    token = ""
    if _setting("mint_token_digests"):
        token = " -H 'Authorization: Bearer TOKEN'"
    print(
        f"\nThe deed service listens at {url}  (Ctrl-C stops it)."
        " Mint a first deed:\n\n"
        f"curl -s {url}/v1/mint -H 'Content-Type: application/json'{token}"
        """ -d '{"outputs":["+5.my-secret"]}'\n""",
        file=sys.stderr,
    )
