"""The WSGI application of `deeds dev`: the service, and its faults around it.

The service itself knows nothing of them.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from waitress.channel import ClientDisconnected

from parts.dev.control import FAULT, Audit, control_app
from parts.dev.faults import LOST, REFUSALS
from parts.dev.sessions import Session, Sessions

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment


class DevService:
    """Answers requests to the service, and those to /_dev/.

    `audit` looks at the ledger of the session that serves.
    """

    def __init__(self, sessions: Sessions, audit: Audit) -> None:
        self._sessions = sessions
        self._control = control_app(sessions, audit)

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Answer a request."""
        if environ["PATH_INFO"].startswith("/_dev/"):
            return self._control(environ, start_response)
        with self._sessions.running() as session:
            return self._answer(session, environ, start_response)

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
