"""gunicorn's log, in the form in which the service logs."""

import logging
import os
import sys
import threading
from ast import literal_eval
from typing import Any

from gunicorn.config import Config
from gunicorn.glogging import Logger

from deeds.blueprints.log import configure_log, is_console
from deeds.settings import read_setting

# What gunicorn says where it cannot listen, at each of its tries, and what we say once.
_CANNOT_LISTEN = {
    "Connection in use: %s": "port {1} is taken: make run PORT={2}",
    "Invalid address: %s": "{0} is not an address of this machine: set DEEDS_HOST",
}


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

    def info(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        """Log what gunicorn says, after the line that names the ledger."""
        if msg != "Starting gunicorn %s":
            super().info(msg, *args, **kwargs)

    def error(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        """Log an error; end the start where gunicorn would only try again."""
        if reason := _CANNOT_LISTEN.get(msg):
            host, port = literal_eval(args[0])
            line = f"deeds: {reason.format(host, port, port + 1)}"
            super().error(line, extra={"event": "cannot_start"})
            raise SystemExit(1)
        super().error(msg, *args, **kwargs)


def _log_uncaught(*raised: Any) -> None:
    """Log an exception that nobody caught."""
    # That of a thread or a finalizer comes as one object.
    error = raised if len(raised) > 1 else raised[0][:3]
    if issubclass(error[0], Exception):
        said = "an exception that nobody caught"
        logging.getLogger("deeds").error(
            said, exc_info=error, extra={"event": "defect"}
        )
