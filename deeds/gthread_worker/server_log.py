"""gunicorn's own log lines, and those of libraries, in the style of the service's.

gunicorn.conf.py names it. Must import only gunicorn, `deeds.log_style` and `deeds.watching.log`.
"""

import logging
import os

from gunicorn.config import Config
from gunicorn.glogging import Logger

from deeds.log_style import read_log_style
from deeds.watching.log import formatter, is_for_eyes


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
        of_libraries.setLevel(logging.WARNING)
        of_libraries.setFormatter(formatter(style))
        logging.basicConfig(handlers=[of_libraries], force=True)
