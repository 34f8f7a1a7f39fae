"""The service, to which something happens at one moment of a commit. gunicorn imports this.

The moment is written into a file just before the request that is to meet it. It is met once: the
file is gone then.
"""

import os
import signal
import threading
from pathlib import Path

from sqlalchemy.engine.default import DefaultDialect

from app import create_app

BEFORE_COMMIT = "before commit"
AFTER_COMMIT = "after commit"

_commit = DefaultDialect.do_commit


def create_app_at_commit(armed, happen):
    """Return the service with its commits wrapped: `happen` is called at the moment in the file."""

    def meet(moment):
        if armed.exists() and armed.read_text() == moment:
            armed.unlink()
            happen()

    def do_commit(dialect, connection):
        meet(BEFORE_COMMIT)
        _commit(dialect, connection)
        meet(AFTER_COMMIT)

    DefaultDialect.do_commit = do_commit
    return create_app()


def create_failing_app():
    """Return the service, whose process dies at the moment in FAILPOINT_FILE."""
    armed = Path(os.environ["FAILPOINT_FILE"])
    return create_app_at_commit(armed, lambda: os.kill(os.getpid(), signal.SIGKILL))


def create_held_app():
    """Return the service, which stays at the moment in HOLD_FILE until it is killed."""
    return create_app_at_commit(Path(os.environ["HOLD_FILE"]), threading.Event().wait)
