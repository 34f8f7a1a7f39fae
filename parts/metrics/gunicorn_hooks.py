"""Hooks of gunicorn that manage the files with the metrics of its workers.

gunicorn_conf.py imports them, and gunicorn finds them there by their names.
"""

import os
import shutil
import tempfile
from itertools import count
from typing import Any

from prometheus_client import values
from prometheus_client.multiprocess import mark_process_dead

from parts.metrics.metrics import DIRECTORY


def make_directory(parent: str | None) -> None:
    """Create the directory of the files, before any worker starts."""
    os.environ[DIRECTORY] = tempfile.mkdtemp(prefix="deeds-metrics-", dir=parent)


def pre_fork(server: Any, worker: Any) -> None:
    """Give a worker the lowest free number, for the names of its files."""
    taken = {other.metrics_number for other in server.WORKERS.values()}
    worker.metrics_number = next(number for number in count() if number not in taken)


def post_fork(_server: Any, worker: Any) -> None:
    """Let the worker write its metrics to the files with its number, from the start.

    A worker continues in the files of the one that it replaces, so there are never more
    files than workers, and no counter decreases.
    """
    make_value: Any = values.MultiProcessValue
    values.ValueClass = make_value(lambda: worker.metrics_number)


def child_exit(_server: Any, worker: Any) -> None:
    """Remove the gauges of a worker that has ended; its replacement keeps the rest."""
    mark_process_dead(worker.metrics_number)  # type: ignore[no-untyped-call]


def on_exit(_server: Any) -> None:
    """Remove the files."""
    if DIRECTORY in os.environ:
        shutil.rmtree(os.environ[DIRECTORY], ignore_errors=True)
