"""gunicorn's settings, but the first worker is told to stop while it starts. gunicorn reads this.

That is where a stop of the master finds it that comes just after the fork.
"""

import os
import signal
from runpy import run_path
from typing import Any

globals().update(run_path("gunicorn.conf.py"))


def post_fork(server: Any, worker: Any) -> None:
    """Send the signal in the new process, before gunicorn has set its handlers there."""
    if worker.age == 1:
        os.kill(os.getpid(), signal.SIGTERM)
