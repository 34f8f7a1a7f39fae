"""The service, which stays at one moment of a commit until it is killed. gunicorn imports this.

HOLD_FILE names the file of `tests.support.at_commit`.
"""

import os
import threading
from pathlib import Path

from flask import Flask

from tests.support.at_commit import create_app_at_commit


def create_held_app() -> Flask:
    """Return the service."""
    return create_app_at_commit(Path(os.environ["HOLD_FILE"]), threading.Event().wait)
