"""The log: one JSON object per line on stderr, or columns for a person at a terminal.

Everybody logs through the standard library. A record of ours names its event, and
fields beside it: `extra={"event": "database", "fields": {…}}`. No line may hold a
secret, a body, a path or a query, nor the message of an exception, which may quote one.
"""

import json
import logging
import os
import sys
import threading
import time
from ast import literal_eval
from contextlib import suppress
from typing import Any

from gunicorn.config import Config
from gunicorn.glogging import Logger

from deeds.domain.errors import places
from deeds.settings import read_setting

_STDERR = 2

# What gunicorn says where it cannot listen, at each of its tries, and what we say once.
_CANNOT_LISTEN = {
    "Connection in use: %s": "port {1} is taken: make run PORT={2}",
    "Invalid address: %s": "HOST {0} is not an address of this machine",
}

# Created once: json.dumps would create one for every line.
_encode = json.JSONEncoder(separators=(",", ":"), default=str).encode


class StderrHandler(logging.Handler):
    """Writes each line to stderr in one piece, so that processes do not mix them up.

    A line that cannot be written, to a full disk say, is lost: no request fails for it.
    """

    def __init__(self, *, is_console: bool) -> None:
        super().__init__()
        self._is_console = is_console

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line of the record."""
        line = self.format(record).encode("utf-8", "backslashreplace")
        with suppress(OSError):
            os.write(_STDERR, line + b"\n")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without its end."""
        level, fields = record.levelname.lower(), _fields(record)
        if self._is_console:
            written = time.strftime("%H:%M:%S", time.localtime(record.created))
            event = fields.pop("event")
            rest = " ".join(f"{name}={_shown(value)}" for name, value in fields.items())
            return f"{written} {level:<8} {event:<14} {rest}"
        written = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        micros = int(record.created % 1 * 1_000_000)
        return _encode({"time": f"{written}.{micros:06}Z", "level": level, **fields})


class ServerLog(Logger):
    """gunicorn's logger, created before the application and its settings are."""

    def setup(self, cfg: Config) -> None:
        """Make gunicorn, libraries and Python itself log as the service does."""
        super().setup(cfg)
        form = read_setting(os.environ, "log_form")
        level = read_setting(os.environ, "log_level")
        configure_log(form, level)
        self.is_console = is_console(form)
        self.error_log.handlers.clear()
        self.error_log.propagate = True
        # Python would print these with messages that may quote a secret.
        logging.captureWarnings(capture=True)
        sys.excepthook = threading.excepthook = sys.unraisablehook = _log_uncaught

    def error(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        """Log an error; end the start where gunicorn would only try again."""
        if reason := _CANNOT_LISTEN.get(msg):
            host, port = literal_eval(args[0])
            self.say(f"deeds: {reason.format(host, port, port + 1)}")
            raise SystemExit(1)
        super().error(msg, *args, **kwargs)

    def say(self, reason: str) -> None:
        """Log why a process cannot start."""
        if self.is_console:
            sys.stderr.write(f"{reason}\n")
        else:
            self.error(reason, extra={"event": "cannot_start"})


def configure_log(form: str, level_name: str) -> None:
    """Make all loggers of this process write in this form, from this level on."""
    level = logging.getLevelName(level_name.upper())
    root = logging.getLogger()
    others = [each for each in root.handlers if not isinstance(each, StderrHandler)]
    root.handlers[:] = [*others, StderrHandler(is_console=is_console(form))]
    root.setLevel(max(level, logging.WARNING))
    logging.getLogger("deeds").setLevel(level)


def is_console(form: str) -> bool:
    """Return whether lines are for a person at a terminal."""
    return form == "console" or (form == "auto" and os.isatty(_STDERR))


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    """Return the event of a record, its message and what else it tells."""
    said = vars(record)
    fields: dict[str, Any] = {"event": said.get("event", "server")}
    if not record.name.startswith(("deeds", "gunicorn")):
        fields = {"event": "library", "logger": record.name}
    if message := record.getMessage():
        fields["message"] = message
    fields |= said.get("fields", {})
    if record.exc_info and (error := record.exc_info[1]) is not None:
        fields |= {"error": type(error).__name__, "places": places(error)}
    return fields


def _shown(value: object) -> str:
    """Return a value as one word, or quoted."""
    text = str(value)
    return text if text.isprintable() and " " not in text else repr(text)


def _log_uncaught(*raised: Any) -> None:
    """Log an exception that nobody caught."""
    # That of a thread or a finalizer comes as one object.
    error = raised if len(raised) > 1 else raised[0][:3]
    if issubclass(error[0], Exception):
        said = "an exception that nobody caught"
        logging.getLogger("deeds").error(
            said, exc_info=error, extra={"event": "defect"}
        )
