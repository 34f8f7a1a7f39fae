"""gunicorn's hooks for the files in which its workers count.

Under the names of gunicorn's settings; gunicorn_conf.py takes them over.
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
    """Make the directory of the files, before any worker starts."""
    os.environ[DIRECTORY] = tempfile.mkdtemp(prefix="deeds-metrics-", dir=parent)


def pre_fork(server: Any, worker: Any) -> None:
    """Give a worker the first number that no other has, for its files."""
    taken = {each.metrics_number for each in server.WORKERS.values()}
    worker.metrics_number = next(each for each in count() if each not in taken)


def post_fork(_server: Any, worker: Any) -> None:
    """Let the worker count in files of its number, before it counts anything.

    One that follows a worker that died goes on in its files: there are never more files
    than workers, and no counter ever falls.
    """
    make_value: Any = values.MultiProcessValue
    values.ValueClass = make_value(lambda: worker.metrics_number)


def child_exit(_server: Any, worker: Any) -> None:
    """Keep what a worker that has ended has counted, for the one that replaces it."""
    mark_process_dead(worker.metrics_number)  # type: ignore[no-untyped-call]


def on_exit(_server: Any) -> None:
    """Remove the files."""
    if DIRECTORY in os.environ:
        shutil.rmtree(os.environ[DIRECTORY], ignore_errors=True)
