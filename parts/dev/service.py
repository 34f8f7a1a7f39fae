"""The WSGI application of `deeds dev`: the service, its faults, and its resets.

The service itself knows nothing of them.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flask import Flask
from waitress.channel import ClientDisconnected

from parts.dev.clock import Clock
from parts.dev.control import FAULT, Audit, control_app
from parts.dev.faults import LOST, REFUSALS, Faults

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

# How long a stop waits for requests that are being served.
_STOP_S_MAX = 0.5


@dataclass(frozen=True, slots=True)
class Session:
    """The service between two resets. `ended` wakes up answers that are slow."""

    app: Flask
    clock: Clock
    faults: Faults = field(default_factory=Faults)
    ended: threading.Event = field(default_factory=threading.Event)

    def close(self) -> None:
        """End the threads of the service and close its ledger."""
        self.app.extensions["deeds"].close()


class DevService:
    """Serves one session after the other.

    A request belongs to one of them as a whole: a reset waits for those that are being
    served, and others wait for the reset. `begin` returns a session with an empty
    ledger, `audit` looks at that of the session.
    """

    def __init__(
        self, session: Session, begin: Callable[[], Session], audit: Audit
    ) -> None:
        self.session = session
        self._begin = begin
        self._control = control_app(self, audit)
        self._turn = threading.Condition()
        self._requests_count = 0
        self._is_resetting = False

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Answer a request."""
        if environ["PATH_INFO"].startswith("/_dev/"):
            return self._control(environ, start_response)
        with self.running() as session:
            return self._answer(session, environ, start_response)

    @contextmanager
    def running(self) -> Iterator[Session]:
        """Yield the session, which does not end within the block."""
        with self._turn:
            self._turn.wait_for(lambda: not self._is_resetting)
            self._requests_count += 1
            session = self.session
        try:
            yield session
        finally:
            with self._turn:
                self._requests_count -= 1
                self._turn.notify_all()

    def reset(self) -> None:
        """Begin a new session, with an empty ledger."""
        with self._turn:
            self._turn.wait_for(lambda: not self._is_resetting)
            self._is_resetting = True
            self.session.ended.set()
            self._turn.wait_for(lambda: not self._requests_count)
        try:
            self.session.close()
            self.session = self._begin()
        finally:
            with self._turn:
                self._is_resetting = False
                self._turn.notify_all()

    def close(self) -> None:
        """Serve no more, once what is being served has ended, and close the ledger."""
        with self._turn:
            self._is_resetting = True
            self.session.ended.set()
            self._turn.wait_for(lambda: not self._requests_count, _STOP_S_MAX)
        self.session.close()

    def _answer(
        self,
        session: Session,
        environ: "WSGIEnvironment",
        start_response: "StartResponse",
    ) -> Iterable[bytes]:
        # A browser asks by OPTIONS before a request that is to meet the fault.
        is_preflight = environ["REQUEST_METHOD"] == "OPTIONS"
        path = environ["PATH_INFO"]
        fault = None if is_preflight else session.faults.take(path)
        if fault is None:
            return [_whole(session.app(environ, start_response))]
        if fault.kind in REFUSALS:
            environ[FAULT] = REFUSALS[fault.kind]()
            return self._control(environ, start_response)
        answer = _whole(session.app(environ, start_response))
        if fault.kind == LOST:
            # waitress closes the connection; nothing of the answer was sent yet.
            raise ClientDisconnected
        session.ended.wait(fault.delay_s)
        return [answer]


def _whole(answer: Iterable[bytes]) -> bytes:
    """Return the body of an answer: when it is read, the request has ended."""
    try:
        return b"".join(answer)
    finally:
        if close := getattr(answer, "close", None):
            close()
