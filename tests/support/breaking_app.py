"""The service, in which something breaks that nobody catches. gunicorn imports this."""

import os
import threading
import warnings
from pathlib import Path

from app import create_app
from tests.support.marker import MARK

BREAKING = "tests.support.breaking_app:create_breaking_app()"


def create_breaking_app():
    """Return the service, after what BREAKS names has broken."""
    ways = {
        "a thread": break_in_a_thread,
        "a finalizer": break_in_a_finalizer,
        "the start": break_here,
        "a later start": break_where_triggered,
        "a warning": warn,
    }
    for name in os.environ["BREAKS"].split(", "):
        ways[name]()
    return create_app()


def break_here():
    raise ValueError(MARK)


def break_where_triggered():
    """Break if the trigger is there; else leave a file that says this process goes on."""
    trigger = Path(os.environ["TRIGGER"])
    if trigger.exists():
        break_here()
    trigger.with_name(f"unbroken-{os.getpid()}").touch()


def break_in_a_thread():
    thread = threading.Thread(target=break_here)
    thread.start()
    thread.join()


class _Breaking:
    def __del__(self):
        break_here()


def break_in_a_finalizer():
    _Breaking()


def warn():
    warnings.warn("old", UserWarning, stacklevel=1)
