"""Everything that can go wrong.

The text of an error is for people and never holds a secret.
"""

from dataclasses import dataclass
from typing import Any


class DeedsError(Exception):
    """Any failure of this package. Its text is a plain sentence or two."""


class InvalidInputError(DeedsError):
    """What was passed is not valid: an amount, a raw output, a link or an address."""


class WalletFileError(DeedsError):
    """A wallet or backup is locked, damaged or newer, or the passphrase is wrong."""


class FindingError(DeedsError):
    """What the service answers about our secrets cannot be true."""

    def __str__(self) -> str:
        return "The answer of the service does not add up. Nothing was changed."


class WalletError(DeedsError):
    """The wallet cannot do this with what it has. Nothing was written or sent."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(eq=False)
class CallError(DeedsError):
    """A call did not return.

    The same body under the same `key` goes on with a change.
    """

    status: int = 0  # what was answered
    retry_after_s: float = 0.0
    key: str | None = None
    base_url: str = ""
    attempts: int = 1  # requests that were sent
    outputs: tuple[Any, ...] = ()  # what a mint was asked for, with its secrets


class NoAnswerError(CallError):
    """No answer came, or one that is not the service's: a change may have been made."""

    def __str__(self) -> str:
        return f"{self.base_url} did not answer." + (
            " It may have been done." if self.key else ""
        )


@dataclass(eq=False)
class ProblemError(CallError):
    """The service refused, and nothing was done: docs/problems.md has the codes."""

    code: str = ""
    title: str = ""
    detail: str = ""
    index: int | None = None  # of the element at fault, from 0
    is_final: bool = False  # The request can never be carried out, as the service says.

    def __str__(self) -> str:
        return f"{self.title}. {self.detail}"
