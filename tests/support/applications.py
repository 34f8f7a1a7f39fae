"""Variants of the service's worker and application, which gunicorn imports by name."""

import os
import signal
import threading
import warnings
from pathlib import Path

from app import create_app
from parts.postgresql import last_operations
from parts.server.worker import WaitressWorker
from tests.support.hooks import add_hook
from tests.support.marker import MARK

# Names of applications.
BREAKING = f"{__name__}:create_breaking_app()"
CROWDED = f"{__name__}:create_crowded_app()"
FAILING = f"{__name__}:create_failing_app()"
HELD = f"{__name__}:create_held_app()"
LASTING = f"{__name__}:lasting_app"
RASH = f"{__name__}:create_rash_app()"

# Arguments of gunicorn that select a worker.
_WORKER = f"--bind 127.0.0.1:0 --worker-class {__name__}."
HASTY = f"{_WORKER}HastyWorker"
IMPATIENT = f"{_WORKER}ImpatientWorker"
PATIENT = f"{_WORKER}PatientWorker"
STOPPED = f"{_WORKER}StoppedWorker"

# Moments of a commit. A test writes one into a file just before a request. The first
# commit that reaches it deletes the file.
BEFORE_COMMIT = "before commit"
AFTER_COMMIT = "after commit"

_go = threading.Condition()


class ImpatientWorker(WaitressWorker):
    """Cuts off a client that needs more than half a second for its request."""

    client_seconds_max = 0.5


class PatientWorker(WaitressWorker):
    """Waits an hour for each client and after a failed start, longer than any test."""

    client_seconds_max = 3600.0
    retry_seconds = 3600.0


class HastyWorker(WaitressWorker):
    """Waits a second after a failed start."""

    retry_seconds = 1.0


class StoppedWorker(WaitressWorker):
    """Gets a SIGTERM right after its fork, as by the master, if it is the first."""

    def init_process(self):
        if self.age == 1:
            os.kill(os.getpid(), signal.SIGTERM)
        super().init_process()


def lasting_app(environ, start_response):
    """Answer with the request's body.

    The query `last` waits for a query `go`, up to a limit. The query `exit` raises
    SystemExit.
    """
    if environ["QUERY_STRING"] == "exit":
        raise SystemExit(MARK)
    with _go:
        if environ["QUERY_STRING"] == "last":
            # The impatient worker looks for slow clients at least once a second.
            _go.wait(ImpatientWorker.client_seconds_max + 1.2)
        elif environ["QUERY_STRING"] == "go":
            _go.notify_all()
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [environ["wsgi.input"].read()]


def create_breaking_app():
    """Return the service after raising, uncaught, the errors that BREAKS names."""
    for name in os.environ["BREAKS"].split(", "):
        match name:
            case "a thread":
                thread = threading.Thread(target=break_here)
                thread.start()
                thread.join()
            case "a finalizer":
                _Breaking()
            case "a warning":
                warnings.warn("old", UserWarning, stacklevel=1)
            case "the start":
                break_here()
            case "a later start":
                # Otherwise write a file that says that this process continues.
                trigger = Path(os.environ["TRIGGER"])
                if trigger.exists():
                    break_here()
                trigger.with_name(f"unbroken-{os.getpid()}").touch()
    return create_app()


def break_here():
    raise ValueError(MARK)


class _Breaking:
    def __del__(self):
        break_here()


def create_failing_app():
    """Return the service; it is killed at the moment named in FAILPOINT_FILE."""
    armed = Path(os.environ["FAILPOINT_FILE"])
    return create_app_at_commit(armed, lambda: os.kill(os.getpid(), signal.SIGKILL))


def create_rash_app():
    """Return the service, which reports missing operations as lost after a second."""
    last_operations.DOUBT_SECONDS = 1.0
    return create_app()


def create_crowded_app():
    """Return the service in a process that may start one thread more than it needs.

    It needs five: one for itself, one for the log and three to begin to serve.
    """
    start = threading.Thread.start

    def start_if_permitted(thread):
        if threading.active_count() >= 6:
            raise RuntimeError("can't start new thread")
        start(thread)

    app = create_app()
    threading.Thread.start = start_if_permitted
    return app


def create_held_app():
    """Return the service; it stays at the moment in HOLD_FILE until it is killed."""
    return create_app_at_commit(Path(os.environ["HOLD_FILE"]), threading.Event().wait)


def create_app_at_commit(armed, happen):
    """Return the service, which calls `happen` at the moment in the file `armed`."""

    def meet_at(moment):
        def meet(*_):
            if armed.exists() and armed.read_text() == moment:
                armed.unlink()
                happen()

        return meet

    for moment in (BEFORE_COMMIT, AFTER_COMMIT):
        add_hook(moment, meet_at(moment))
    return create_app()
