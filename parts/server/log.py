"""gunicorn's log, in the format of the service's log.

gunicorn_conf.py names it as `logger_class`.
"""

import logging
import os
import re
import sys
import threading
from typing import Any

from gunicorn.config import Config
from gunicorn.glogging import Logger

from deeds.blueprints.log import configure_log, is_console
from deeds.settings import read_setting

# Prefixes of the messages that gunicorn logs at each attempt, if it cannot listen.
_CANNOT_LISTEN = ("Connection in use: ", "Invalid address: ", "connection to ")
_ADDRESS = re.compile(r"\('(.+?)', ([0-9]+)")


class ServerLog(Logger):
    """gunicorn's logger. It is created before the application and its settings."""

    def setup(self, cfg: Config) -> None:
        """Configure the logs of gunicorn, libraries and Python as the service's log."""
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

    def info(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        """Log a message, but not "Starting gunicorn": the ledger's line comes first."""
        if msg != "Starting gunicorn %s":
            super().info(msg, *args, **kwargs)

    def error(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        """Log an error; if gunicorn cannot listen, exit instead of trying again."""
        message = str(msg) % args if args else str(msg)
        if message.startswith(_CANNOT_LISTEN):
            line = f"deeds: {_reason(message)}"
            super().error(line, extra={"event": "cannot_start"})
            raise SystemExit(1)
        super().error(msg, *args, **kwargs)


def _reason(message: str) -> str:
    """Return why gunicorn cannot listen, and what to do."""
    address = _ADDRESS.search(message)
    if address is None:
        return f"cannot listen: {message}"
    host, port = address[1], int(address[2])
    if message.startswith("Connection in use"):
        return f"port {port} is taken; choose another: PORT={port + 1}"
    if message.startswith("Invalid address"):
        return f"{host} is not an address of this machine: set DEEDS_HOST"
    return f"cannot listen at DEEDS_HOST and PORT: {message}"


def _log_uncaught(*arguments: Any) -> None:
    """Log an uncaught exception."""
    # The hooks for threads and finalizers get a single argument.
    error = arguments if len(arguments) > 1 else arguments[0][:3]
    if issubclass(error[0], Exception):
        logging.getLogger("deeds").error(
            "uncaught exception", exc_info=error, extra={"event": "defect"}
        )
