"""How gunicorn runs the service.

`deeds serve` reads it, and so does `gunicorn "app:create_app()"` in a directory with
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


def _is_there(part: str, package: str) -> bool:
    """Return whether a part is there, and the package that it needs."""
    return all(find_spec(each) for each in ("parts", f"parts.{part}", package))


def _directory_for_files(first: str) -> str | None:
    """Return this directory if files can be written there, another one, or None."""
    for directory in (first, None):
        with (
            suppress(OSError),
            tempfile.NamedTemporaryFile(dir=directory, buffering=0) as file,
        ):
            file.write(b"deeds")
            return str(Path(file.name).parent)
    return None


# IPv6 needs the brackets, and gunicorn takes them around IPv4 too.
bind = f"[{_setting('host')}]:{_setting('port')}"

workers = _setting("processes_count") or default_processes_count()

# waitress serves in each; without that part gunicorn itself, which needs a proxy that
# buffers requests and answers.
worker_class = "gthread"
if _is_there("server", "waitress"):
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

# A worker whose main thread has not moved for this long is replaced. Slow requests do
# not count.
timeout = 30
# Of it the last seconds are for the connections to a database that hangs. A stop ends
# within 10 s.
graceful_timeout = 9

# A file that a worker touches to show it lives must not wait for a disk.
worker_tmp_dir = _directory_for_files("/dev/shm")  # noqa: S108

# It may be turned on: the application opens nothing and starts no thread before it is
# used. New code needs a restart in any case: the master imports it, too.
preload_app = False
control_socket_disable = True

# ServerLog reads it before there is a log to say that it is invalid.
_setting("log_form")

# At "debug" gunicorn logs its whole configuration.
_level = _setting("log_level")
loglevel = "info" if _level == "debug" else _level

_is_measured = _setting("metrics") == "on" and _is_there("metrics", "prometheus_client")
if _is_measured:
    from parts.metrics.gunicorn_hooks import (  # noqa: F401  (settings, all but one)
        child_exit,
        make_directory,
        on_exit,
        post_fork,
        pre_fork,
    )


# Of the settings above those that are not for an operator to choose.
_TRIED_SETTINGS = (
    "worker_class",
    "logger_class",
    "threads",
    "timeout",
    "graceful_timeout",
)


def _changes(settings: Mapping[str, Any]) -> str:
    """Return which of these settings gunicorn was told otherwise."""
    ours = globals()
    return ", ".join(
        f"{name} {settings[name].get()}"
        for name in _TRIED_SETTINGS
        if name in ours and settings[name].get() != ours[name]
    )


def _check_server(cfg: Any) -> None:
    """Raise StartError where the workers could not start or serve.

    The application is told how many they are: it divides CPUs and connections.
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

    A wrong setting ends the master with one line here. Found by the workers, it would
    end them one after the other, each with a traceback.
    """
    from app import prepare  # noqa: PLC0415  (the directory is importable only by now)

    try:
        _check_server(server.cfg)
        prepare()
    except StartError as stop:
        # One line, without the places in the code.
        server.log.error(str(stop), extra={"event": "cannot_start"})  # noqa: TRY400
        raise SystemExit(1) from None
    if changes := _changes(server.cfg.settings):
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
    """Let the worker count and log from now on, and set apart what the start has made.

    A full collection looks through all that was ever made, and nobody is served
    meanwhile: 60 to 90 ms, a few times a minute under load. What is there now stays, so
    it need not be looked at.
    """
    extensions = getattr(worker.wsgi, "extensions", {})
    if metrics := extensions.get("deeds_metrics"):
        metrics()
    if open_file := extensions.get("deeds_open_file"):
        with suppress(RetryLaterError):
            open_file()
    LOG_STREAM.start()
    gc.collect()
    gc.freeze()


def when_ready(server: Any) -> None:
    """Tell a person at a terminal where the service is, and a line to try it with."""
    url = str(server.LISTENERS[0]).replace("//0.0.0.0:", "//127.0.0.1:")
    is_console = getattr(server.log, "is_console", False)
    if not (is_console and url.startswith("http")):
        return  # gunicorn's own line says enough. Only a proxy can reach a unix socket.
    needs_token = bool(_setting("mint_token_digests"))
    token = " -H 'Authorization: Bearer TOKEN'" * needs_token
    print(
        f"\nThe deed service listens at {url}  (Ctrl-C stops it)."
        " Mint a first deed:\n\n"
        f"curl -s {url}/v1/mint -H 'Content-Type: application/json'{token}"
        """ -d '{"outputs":["+5.my-secret"]}'\n""",
        file=sys.stderr,
    )
