"""The settings of the log, DEEDS_LOG and DEEDS_LOG_LEVEL. Must import no library."""

from collections.abc import Mapping
from dataclasses import dataclass

from deeds.domain.errors import StartError

_STYLES = ("auto", "json", "console")
_LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True, slots=True)
class LogStyle:
    """How lines look, `auto`, `json` or `console`, and from which level on they are written.

    `auto` is for eyes on a terminal and JSON everywhere else.
    """

    form: str = "auto"
    level: str = "info"


def read_log_style(environ: Mapping[str, str]) -> LogStyle:
    """Return the settings of the log.

    Raises:
        StartError: a value is odd. The message names the variable.
    """
    return LogStyle(
        _read_word(environ, "DEEDS_LOG", _STYLES, LogStyle().form),
        _read_word(environ, "DEEDS_LOG_LEVEL", _LEVELS, LogStyle().level),
    )


def _read_word(environ: Mapping[str, str], name: str, words: tuple[str, ...], default: str) -> str:
    word = environ.get(name) or default
    if word not in words:
        raise StartError(f"{name} must be one of {', '.join(words)}")
    return word
