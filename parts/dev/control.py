"""The endpoints below /_dev/, with which tests in any language control the service."""

import re
from collections.abc import Callable, Mapping

from flask import Flask, Response, request

from deeds.blueprints.answers import json_answer, register_answers
from deeds.blueprints.log import register_log
from deeds.blueprints.requests import read_request
from deeds.errors import InvalidRequestError, WrongMediaTypeError
from parts.dev.clock import Move
from parts.dev.faults import Fault
from parts.dev.requests import FaultSchema, MoveSchema
from parts.dev.sessions import Sessions

# Key of the WSGI environment for the error to respond with.
FAULT = "deeds.dev.fault"

_BODY_BYTES_MAX = 65_536

# Prevents DNS rebinding: a foreign page whose host name resolves here sends that name.
_OWN_HOST = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]+)?")

# Returns the places of violations by invariant.
Audit = Callable[[], Mapping[str, str]]


def control_app(sessions: Sessions, audit: Audit) -> Flask:
    """Return the application for /_dev/, and for requests that have a `FAULT`.

    Errors are rendered as in the service.
    """
    app = Flask("deeds_dev", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = _BODY_BYTES_MAX
    register_log(app)
    register_answers(app)
    app.before_request(_check_request)
    fault_schema, move_schema = FaultSchema(), MoveSchema()

    @app.post("/_dev/fail")
    def fail() -> Response:
        fault: Fault = read_request(request, fault_schema)
        faults = sessions.current.faults
        if fault.left:
            faults.put(fault)
            return json_answer({"left": fault.left})
        return json_answer({"left": faults.withdraw(fault.kind, fault.path)})

    @app.post("/_dev/clock")
    def move_clock() -> Response:
        move: Move = read_request(request, move_schema)
        clock = sessions.current.clock
        clock.move(move)
        return json_answer({"now": clock.now_text()})

    @app.post("/_dev/reset")
    def reset() -> Response:
        sessions.reset()
        return json_answer({"success": True})

    @app.get("/_dev/audit")
    def run_audit() -> Response:
        with sessions.running():
            violations = audit()
        if not violations:
            return json_answer({"ok": True})
        return json_answer({"ok": False, "violations": violations})

    return app


def _check_request() -> None:
    """Raise the error of a fault, or refuse a request from a foreign page.

    Browsers let pages send JSON to another origin only if that origin permits it.
    """
    if fault := request.environ.get(FAULT):
        raise fault
    if not _OWN_HOST.fullmatch(request.environ.get("HTTP_HOST", "").lower()):
        raise InvalidRequestError("Host must be 127.0.0.1 or localhost")
    if request.method == "POST" and request.mimetype != "application/json":
        raise WrongMediaTypeError
