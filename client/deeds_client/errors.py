"""The errors of this package.

The text of an error is written for people and never contains a secret.
"""

from dataclasses import dataclass, field
from typing import Any


def plain(value: Any, length_max: int = 200) -> str:
    """Return untrusted text as one line of at most `length_max` characters.

    Control and format characters (ANSI, bidi), white space, and the quotation marks “
    and ” become single spaces.
    """
    shown = ""
    for character in str(value):
        is_harmless = character.isprintable() and character not in "“”"
        shown += character if is_harmless else " "
    line = " ".join(shown.split())
    return line[:length_max]


class DeedsError(Exception):
    """The base class of all errors. Its text is one or two sentences."""

    code = ""  # A stable code, if the wallet or the service refused.
    is_final = False  # The service says that no repetition can succeed.


class InvalidInputError(DeedsError):
    """An argument or environment variable is invalid, such as an amount or a link."""


class WalletFileError(DeedsError):
    """A wallet or backup is locked, damaged or too new, or the passphrase is wrong."""


class FindingError(DeedsError):
    """The service's answers about the wallet's secrets contradict each other."""

    def __str__(self) -> str:
        return "The service's answers contradict each other. Nothing was changed."


class WalletError(DeedsError):
    """The wallet cannot do this with the units it has. Nothing was written or sent.

    `code` is a stable text, such as "not_enough".
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(eq=False)
class CallError(DeedsError):
    """A call to the service failed.

    To retry a change, send the same body with the same `key`. A failed mint's `outputs`
    contain their secrets; the repr omits them.
    """

    status: int = 0  # HTTP status; 0 without a complete answer.
    retry_after_s: float = 0.0  # At most a day.
    key: str | None = None  # None if the call changes nothing.
    base_url: str = ""
    attempts: int = 1  # Number of requests sent.
    outputs: tuple[Any, ...] = field(default=(), repr=False)
    why: str = ""  # A sentence, if the cause is known.
    is_final: bool = False


class NoAnswerError(CallError):
    """No valid answer arrived. The change may have been made."""

    def __str__(self) -> str:
        text = self.why or f"{self.base_url} did not answer."
        if self.key:
            text += " It may have been done."
        return text


@dataclass(eq=False)
class ProblemError(CallError):
    """The service refused, and nothing changed. It lists the codes at /problems."""

    code: str = ""  # Up to 64 lower-case letters, digits and _.
    title: str = ""  # One line of at most 200 characters.
    detail: str = ""  # One line of at most 500 characters.
    index: int | None = None  # Index of the element at fault.

    def __str__(self) -> str:
        return f"{self.title}. {self.detail}"
