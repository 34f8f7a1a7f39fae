"""Sessions of the service: a reset ends one and begins another."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from flask import Flask

from parts.dev.clock import Clock
from parts.dev.faults import Faults

# How long a stop waits for requests that are being served.
_STOP_S_MAX = 0.5


@dataclass(frozen=True, slots=True)
class Session:
    """The service between two resets. `ended` ends the delay of slow responses."""

    app: Flask
    clock: Clock
    faults: Faults = field(default_factory=Faults)
    ended: threading.Event = field(default_factory=threading.Event)

    def close(self) -> None:
        """End the threads of the service and close its ledger."""
        self.app.extensions["deeds"].close()


class Sessions:
    """The current session, which a reset replaces.

    A request runs within one session: a reset waits for running requests, and new
    requests wait for the reset. `open_empty` returns a session with an empty ledger.
    """

    def __init__(self, first: Session, open_empty: Callable[[], Session]) -> None:
        self.current = first
        self._open_empty = open_empty
        self._condition = threading.Condition()
        self._requests_count = 0
        self._is_resetting = False

    @contextmanager
    def running(self) -> Iterator[Session]:
        """Yield the session, which does not end within the block."""
        with self._condition:
            self._condition.wait_for(lambda: not self._is_resetting)
            self._requests_count += 1
            session = self.current
        try:
            yield session
        finally:
            with self._condition:
                self._requests_count -= 1
                self._condition.notify_all()

    def reset(self) -> None:
        """Begin a new session, with an empty ledger."""
        with self._condition:
            self._condition.wait_for(lambda: not self._is_resetting)
            self._is_resetting = True
            self.current.ended.set()
            self._condition.wait_for(lambda: not self._requests_count)
        try:
            self.current.close()
            self.current = self._open_empty()
        finally:
            with self._condition:
                self._is_resetting = False
                self._condition.notify_all()

    def close(self) -> None:
        """Stop serving, wait briefly for running requests, and close the ledger."""
        with self._condition:
            self._is_resetting = True
            self.current.ended.set()
            self._condition.wait_for(lambda: not self._requests_count, _STOP_S_MAX)
        self.current.close()
