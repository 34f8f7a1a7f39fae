"""gunicorn's own log lines, and those of libraries, in the style of the service's.

gunicorn.conf.py names it. Must import only gunicorn, `deeds.domain.errors`, `deeds.log_style` and
`deeds.server.log`.
"""

import logging
import os
import sys
import threading
from typing import Any

from gunicorn.config import Config
from gunicorn.glogging import Logger

from deeds.domain.errors import StartError
from deeds.log_style import read_log_style
from deeds.server.log import formatter, is_for_eyes


class ServerLog(Logger):
    """gunicorn's logger, which gunicorn makes before the application and its settings are there."""

    def setup(self, cfg: Config) -> None:
        """Bring all loggers of the standard library to the style of the settings."""
        super().setup(cfg)
        style = read_log_style(os.environ)
        self.is_for_eyes = is_for_eyes(style)
        for handler in self.error_log.handlers:
            handler.setFormatter(formatter(style))
        of_libraries = logging.StreamHandler()
        of_libraries.setLevel(max(logging.WARNING, logging.getLevelName(style.level.upper())))
        of_libraries.setFormatter(formatter(style))
        logging.basicConfig(handlers=[of_libraries], force=True)
        # Python writes these to stderr by itself, with messages that may quote a secret.
        logging.captureWarnings(capture=True)
        sys.excepthook = _say_defect
        threading.excepthook = _say_failure
        sys.unraisablehook = _say_failure

    def say(self, stop: StartError) -> None:
        """Say why a process cannot start, as the log says everything."""
        if self.is_for_eyes:
            sys.stderr.write(f"{stop.code}\n")
        else:
            self.error(str(stop.code), extra={"event": "cannot_start"})


def _say_defect(*error: Any) -> None:
    """Take what Python tells of an exception that nobody catches: class, exception, traceback."""
    if issubclass(error[0], Exception):
        logging.getLogger("deeds").error(
            "an exception that nobody caught", exc_info=error, extra={"event": "defect"}
        )


def _say_failure(failure: Any) -> None:
    """Take the same as one object: of a thread, or of a finalizer."""
    _say_defect(failure.exc_type, failure.exc_value, failure.exc_traceback)
