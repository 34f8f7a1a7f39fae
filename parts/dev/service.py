"""The WSGI application of `deeds dev`, which wraps the service to inject faults."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from waitress.channel import ClientDisconnected

from parts.dev.control import FAULT, Audit, control_app
from parts.dev.faults import LOST, REFUSALS
from parts.dev.sessions import Session, Sessions

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment


class DevService:
    """Dispatches requests to the service or to /_dev/.

    `audit` audits the ledger of the current session.
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
        # The fault is for the request that follows a browser's preflight request.
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
            # waitress closes the connection, before any of the response was sent.
            raise ClientDisconnected
        session.ended.wait(fault.delay_s)
        return [answer]


def _whole(answer: Iterable[bytes]) -> bytes:
    """Read the whole body of a response, so that the request has ended."""
    try:
        return b"".join(answer)
    finally:
        if close := getattr(answer, "close", None):
            close()
