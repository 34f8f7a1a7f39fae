"""The service, whose process dies at one moment of a commit. gunicorn imports this.

The moment is written into the file that FAILPOINT_FILE names, just before the request that is to
meet it. It is met once: the file is gone then.
"""

import os
import signal
from pathlib import Path
from typing import Any

from flask import Flask
from sqlalchemy.engine.default import DefaultDialect

from app import create_app

BEFORE_COMMIT = "before commit"
AFTER_COMMIT = "after commit"

_commit = DefaultDialect.do_commit


def create_failing_app() -> Flask:
    """Return the service with its commits wrapped."""
    armed = Path(os.environ["FAILPOINT_FILE"])

    def do_commit(dialect: DefaultDialect, connection: Any) -> None:
        _die_if(armed, BEFORE_COMMIT)
        _commit(dialect, connection)
        _die_if(armed, AFTER_COMMIT)

    DefaultDialect.do_commit = do_commit  # type: ignore[method-assign]
    return create_app()


def _die_if(armed: Path, moment: str) -> None:
    if armed.exists() and armed.read_text() == moment:
        armed.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
