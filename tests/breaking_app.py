"""The service, in which something breaks that nobody catches. gunicorn imports this."""

import os
import threading
import warnings

from flask import Flask

from app import create_app
from tests.marker import MARK

BREAKING = "tests.breaking_app:create_breaking_app()"


def create_breaking_app() -> Flask:
    """Return the service, after what BREAKS names has broken."""
    {
        "a thread": break_in_a_thread,
        "a finalizer": break_in_a_finalizer,
        "the start": break_here,
        "a warning": warn,
    }[os.environ["BREAKS"]]()
    return create_app()


def break_here() -> None:
    raise ValueError(MARK)


def break_in_a_thread() -> None:
    thread = threading.Thread(target=break_here)
    thread.start()
    thread.join()


class _Breaking:
    def __del__(self) -> None:
        break_here()


def break_in_a_finalizer() -> None:
    _Breaking()


def warn() -> None:
    warnings.warn("old", UserWarning, stacklevel=1)
