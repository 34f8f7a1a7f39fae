"""Holds back signals while a worker process begins. Used by gunicorn.conf.py and the worker.

Between the fork and the moment at which gunicorn sets a worker's handlers, a signal to the worker
meets the master's handlers in it and is lost. The master sends SIGTERM once: it would wait for that
worker for graceful_timeout and then kill it. Must import nothing of ours.
"""

import os
import signal

_STOP_SIGNALS = frozenset({signal.SIGTERM, signal.SIGQUIT, signal.SIGINT})


def hold() -> None:
    """Let signals that stop a process wait; the fork that comes next ends that in the parent."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)


def release() -> None:
    """Deliver what has waited, to the handlers that are set by now."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)


# Called where the fork failed, too.
os.register_at_fork(after_in_parent=release)
