"""Everything that can go wrong.

The text of an error is for people and never holds a secret.
"""

from dataclasses import dataclass, field
from typing import Any


def plain(value: Any, length_max: int = 200) -> str:
    """Return a text of a stranger in one line of at most `length_max` characters.

    Control and format characters (ANSI, bidi), other white space, and the “ and ” that
    would end quotation marks around it, become single spaces.
    """
    shown = ""
    for each in str(value):
        is_harmless = each.isprintable() and each not in "“”"
        shown += each if is_harmless else " "
    line = " ".join(shown.split())
    return line[:length_max]


class DeedsError(Exception):
    """Any failure of this package. Its text is a plain sentence or two."""

    code = ""  # A word for programs, of what the wallet or the service refuses.
    is_final = False  # The request can never be carried out, as the service says.


class InvalidInputError(DeedsError):
    """What was passed is not valid: an amount, a raw output, a link or an address."""


class WalletFileError(DeedsError):
    """A wallet or backup is locked, damaged or newer, or the passphrase is wrong."""


class FindingError(DeedsError):
    """What the service answers about our secrets cannot be true."""

    def __str__(self) -> str:
        return "The answer of the service does not add up. Nothing was changed."


class WalletError(DeedsError):
    """The wallet cannot do this with what it has. Nothing was written or sent.

    `code` is a word for programs, such as "not_enough".
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(eq=False)
class CallError(DeedsError):
    """A call did not return.

    The same body under the same `key` goes on with a change. `outputs` are those that a
    mint was asked for, with their secrets, which no repr shows.
    """

    status: int = 0  # HTTP's, 0 if no whole answer came.
    retry_after_s: float = 0.0  # At most a day.
    key: str | None = None  # None of what changes nothing.
    base_url: str = ""
    attempts: int = 1  # Requests that were sent.
    outputs: tuple[Any, ...] = field(default=(), repr=False)
    why: str = ""  # A sentence, where it is known why no answer came.
    is_final: bool = False


class NoAnswerError(CallError):
    """No answer came, or one that is not the service's: a change may have been made."""

    def __str__(self) -> str:
        text = self.why or f"{self.base_url} did not answer."
        if self.key:
            text += " It may have been done."
        return text


@dataclass(eq=False)
class ProblemError(CallError):
    """The service refused, and nothing was done. It lists the codes at /problems."""

    code: str = ""  # Lower-case letters, digits and _, at most 64.
    title: str = ""  # One line of at most 200 characters.
    detail: str = ""  # One line of at most 500 characters.
    index: int | None = None  # Of the element at fault, from 0.

    def __str__(self) -> str:
        return f"{self.title}. {self.detail}"
