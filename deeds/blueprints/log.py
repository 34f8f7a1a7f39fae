"""The log: one line for each request, in JSON or in human-readable columns.

All code uses the standard library's logging. Our records have an event and further
fields: `extra={"event": "database", "fields": {…}}`. No line may contain a secret, a
body, a path or a query, nor the message of an exception, which may quote one.
"""

import json
import logging
import os
import re
import secrets
import time
import traceback
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from flask import Flask, Response, g, request

from deeds.model import Operation
from deeds.process import LOG_STREAM, STDERR

REQUEST_ID = "X-Request-ID"

# Matches UUIDs, ULIDs, W3C trace ids and nginx's $request_id, but no raw output, which
# starts with "+".
_HARMLESS_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

# Requested by monitors every few seconds, so logged at debug level.
_MONITORED_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})

# Other methods are not logged: a client could send a secret as the method.
_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})

_LEVELS = {500: logging.ERROR, 503: logging.WARNING}

# Created once: json.dumps would create one for every line.
_encode = json.JSONEncoder(separators=(",", ":"), default=str).encode

_log = logging.getLogger("deeds.request")


@dataclass(slots=True)
class RequestNotes:
    """Facts about the current request, for log and metrics, without secret or path."""

    request_id: str
    started_s: float
    problem_code: str | None = None
    operation: Operation | None = None


class StderrHandler(logging.Handler):
    """Writes each record to stderr as one line."""

    def __init__(self, *, is_console: bool) -> None:
        super().__init__()
        self._is_console = is_console

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line of the record."""
        line = self.format(record).encode("utf-8", "backslashreplace")
        LOG_STREAM.write_line(line + b"\n")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line without a newline."""
        level, fields = record.levelname.lower(), _fields(record)
        if self._is_console:
            written = time.strftime("%H:%M:%S", time.localtime(record.created))
            event = fields.pop("event")
            if event == "cannot_start":
                return str(fields["message"])
            rest = " ".join(f"{name}={_shown(value)}" for name, value in fields.items())
            return f"{written} {level:<8} {event:<14} {rest}"
        written = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        micros = int(record.created % 1 * 1_000_000)
        return _encode({"time": f"{written}.{micros:06}Z", "level": level, **fields})


def configure_log(form: str, level_name: str) -> None:
    """Configure all loggers of this process by DEEDS_LOG and DEEDS_LOG_LEVEL."""
    level = logging.getLevelName(level_name.upper())
    root = logging.getLogger()
    others = [each for each in root.handlers if not isinstance(each, StderrHandler)]
    root.handlers[:] = [*others, StderrHandler(is_console=is_console(form))]
    root.setLevel(max(level, logging.WARNING))
    logging.getLogger("deeds").setLevel(level)
    # Do not look up names of threads and processes for each record: none is logged.
    logging.logThreads = logging.logMultiprocessing = False


def is_console(form: str) -> bool:
    """Return whether lines are human-readable columns, not JSON."""
    return form == "console" or (form == "auto" and os.isatty(STDERR))


def register_log(app: Flask) -> None:
    """Log every request of the app. Call this before registering anything else."""

    def begin() -> None:
        header = request.environ.get("HTTP_X_REQUEST_ID", "")
        # The id is written to a response header and to logs.
        request_id = header if _HARMLESS_ID.fullmatch(header) else secrets.token_hex(16)
        g.notes = RequestNotes(request_id, perf_counter())

    def end(answer: Response) -> Response:
        notes = request_notes()
        answer.headers[REQUEST_ID] = notes.request_id
        fields: dict[str, object] = {
            "request_id": notes.request_id,
            "route": route_of_request(),
            "method": method_of_request(),
            "status": answer.status_code,
            "duration_ms": round((perf_counter() - notes.started_s) * 1000, 3),
        }
        if notes.operation is not None:
            fields["operation_id"] = notes.operation.id
            fields["replayed"] = notes.operation.replayed
        if notes.problem_code is not None:
            fields["problem"] = notes.problem_code
        is_monitored = fields["route"] in _MONITORED_PATHS
        level = logging.DEBUG if is_monitored else logging.INFO
        level = _LEVELS.get(answer.status_code, level)
        if _log.isEnabledFor(level):
            # Not `_log.log`, which searches the stack for its caller.
            extra = {"event": "request", "fields": fields}
            record = _log.makeRecord(_log.name, level, "", 0, "", (), None, extra=extra)
            _log.handle(record)
        return answer

    app.before_request(begin)
    app.after_request(end)


def request_notes() -> RequestNotes:
    """Return the notes of the request being answered."""
    notes: RequestNotes = g.notes
    return notes


def route_of_request() -> str:
    """Return the URL rule of the request, which contains no id."""
    return request.url_rule.rule if request.url_rule else "unmatched"


def method_of_request() -> str:
    """Return the method of the request, or "other"."""
    return request.method if request.method in _METHODS else "other"


def places(error: BaseException) -> str:
    """Return where an error was raised, innermost first: files and lines, no values."""
    frames = traceback.extract_tb(error.__traceback__)
    return " < ".join(f"{frame.filename}:{frame.lineno}" for frame in reversed(frames))


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    """Return the event of a record, its message and its further fields."""
    attributes = vars(record)
    fields: dict[str, Any] = {"event": attributes.get("event", "server")}
    if not record.name.startswith(("deeds", "gunicorn")):
        fields = {"event": "library", "logger": record.name}
    if message := record.getMessage():
        fields["message"] = message
    fields |= attributes.get("fields", {})
    if record.exc_info and (error := record.exc_info[1]) is not None:
        fields |= {"error": type(error).__name__, "places": places(error)}
    return fields


def _shown(value: object) -> str:
    """Return the text of a value, quoted unless it is a single printable word."""
    text = str(value)
    return text if text.isprintable() and " " not in text else repr(text)
