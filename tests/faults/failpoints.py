"""The service, whose process dies at one moment of a commit. gunicorn imports this.

FAILPOINT_FILE names the file of `tests.support.at_commit`.
"""

import os
import signal
from pathlib import Path

from flask import Flask

from tests.support.at_commit import create_app_at_commit


def create_failing_app() -> Flask:
    """Return the service."""
    return create_app_at_commit(Path(os.environ["FAILPOINT_FILE"]), _die)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
