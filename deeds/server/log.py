"""The log: one JSON object a line, or columns for eyes. Every line has an `event` of few words.

No line may hold a secret, a body, a path or a query, nor the message of an exception: it may quote
one. `deeds.server.gthread_worker.server_log` brings the lines of gunicorn and of libraries in here.
"""

import json
import logging
import os
import traceback
from contextlib import suppress
from types import TracebackType
from typing import Any

import structlog
from structlog.typing import EventDict, Processor

from deeds.log_style import LogStyle

_STDERR = 2

# Made once: json.dumps would make one for every line.
_encode = json.JSONEncoder(separators=(",", ":"), default=str).encode


class StderrLogger:
    """Writes lines to stderr, each in one piece: processes that share it do not mix them up.

    A line that cannot be written, to a full disk say, is lost: no request may fail for it.
    """

    def msg(self, line: str) -> None:
        """Write the line."""
        with suppress(OSError):
            os.write(_STDERR, line.encode("utf-8", "backslashreplace") + b"\n")

    debug = info = warning = error = msg


def configure_log(style: LogStyle) -> None:
    """Make all loggers of structlog in this process write in this style."""
    structlog.configure(
        processors=[*_first_processors(style), renderer(style)],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelName(style.level.upper())
        ),
        logger_factory=lambda *_: StderrLogger(),
        cache_logger_on_first_use=False,
    )


def formatter(style: LogStyle) -> logging.Formatter:
    """Return what gives lines of the standard library's loggers the same style."""
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[_name_event, *_first_processors(style)],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            renderer(style),
        ],
    )


def is_for_eyes(style: LogStyle) -> bool:
    """Tell whether lines are for somebody at a terminal."""
    return style.form == "console" or (style.form == "auto" and os.isatty(_STDERR))


def renderer(style: LogStyle) -> Processor:
    """Return what turns an event into its line."""
    if is_for_eyes(style):
        return structlog.dev.ConsoleRenderer(colors=os.isatty(_STDERR), sort_keys=False)
    return structlog.processors.JSONRenderer(serializer=_compact)


def places(trace: TracebackType | None) -> str:
    """Return where an exception arose, innermost first: file and line, no values."""
    found = [f"{place.filename}:{place.lineno}" for place in traceback.extract_tb(trace)]
    return " < ".join(reversed(found))


def _compact(event: EventDict, **_options: Any) -> str:
    return _encode(event)


def _first_processors(style: LogStyle) -> list[Processor]:
    time_format = "%H:%M:%S" if is_for_eyes(style) else "iso"
    return [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt=time_format, utc=not is_for_eyes(style), key="time"),
    ]


def _name_event(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """Make the text of a line its `message`: no two of those are alike.

    Our own lines bring the name of their event with them, as an extra of the record.
    """
    record: logging.LogRecord = event["_record"]
    event["message"] = event["event"]
    if named := getattr(record, "event", None):
        event["event"] = named
    elif record.name.startswith("gunicorn"):
        event["event"] = "server"
    else:
        event["event"], event["logger"] = "library", record.name
    event.update(getattr(record, "fields", {}))
    exception = event.pop("exc_info", None)
    if isinstance(exception, tuple) and exception[0] is not None:
        event["error"] = exception[0].__name__
        event["places"] = places(exception[2])
    return event
