"""Standard streams at the end of a process. Must not import gunicorn.

Its import reads WEB_CONCURRENCY, which `gunicorn.conf.py` checks before.
"""

import atexit
import os
import sys


def keep_exit_code() -> None:
    """Let this process end with its exit code where a stream is full or closed.

    Python keeps what a standard stream did not take, tries to write it once more when
    it ends, and exits with 120.
    """
    atexit.register(_drop_unwritten)


def _drop_unwritten() -> None:
    for stream in filter(None, (sys.__stdout__, sys.__stderr__)):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
