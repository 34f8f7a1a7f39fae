"""Runs something in a process of its own that has all that this one has."""

import multiprocessing
import os
import signal
from contextlib import suppress

FORKS = multiprocessing.get_context("fork")


class forked:  # noqa: N801 - read as a function
    """Runs a function in a process group of its own; it is given the end of a pipe to send to."""

    def __init__(self, function, *arguments):
        self._receiver, self._sender = FORKS.Pipe(duplex=False)
        self._process = FORKS.Process(target=self._run, args=(function, arguments))

    def _run(self, function, arguments):
        os.setsid()
        function(*arguments, self._sender)
        # Threads that a mutant left waiting would keep the process from its end.
        signal.pause()

    def __enter__(self):
        self._process.start()
        self._sender.close()
        return self._receiver

    def __exit__(self, *_):
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()
        self._receiver.close()
