"""Everything that can go wrong. The text of an error is for people and never holds a secret."""

import re
from dataclasses import dataclass

# What a terminal would obey instead of showing it: control and formatting characters.
_UNSHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]+")


class DeedsError(Exception):
    """Any failure of this package. Its text is a plain sentence or two."""


class InvalidInputError(DeedsError):
    """What was passed makes no sense: an amount, a raw output, a link or a text."""


class WrongServiceError(DeedsError):
    """The address is not valid, or it answers, but not as a deed service does."""


class WalletFileError(DeedsError):
    """A wallet or backup is locked, damaged, of another version, or the passphrase is wrong."""


class WalletError(DeedsError):
    """The wallet cannot do this with what it has. Nothing was written or sent."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(eq=False)
class ProblemError(DeedsError):
    """The service refused, and nothing was done. See docs/problems.md for the codes.

    `index` counts from 0 and is the element at fault; `retry_after_s` is the service's own wish;
    `key` is the Idempotency-Key of a change; `attempts` is how many requests were sent.
    """

    code: str
    status: int
    title: str = ""
    detail: str = ""
    index: int | None = None
    retry_after_s: float | None = None
    key: str | None = None
    attempts: int = 1

    @property
    def is_final(self) -> bool:
        """Whether the request can never be carried out; any other may be sent again."""
        is_unread = self.code in ("bad_request", "body_unreadable")
        return self.status in range(400, 500) and self.status != 429 and not is_unread  # noqa: PLR2004

    def __str__(self) -> str:
        """Return what the service said, without what a terminal would obey."""
        said = ". ".join(
            text.rstrip(".") for text in (self.title or self.code, self.detail) if text
        )
        return _UNSHOWN.sub(" ", said[:500]) + "."


@dataclass(eq=False)
class NoAnswerError(DeedsError):
    """No answer came, or one that is not the service's: a change may have been made.

    The same body under the same `key` goes on with it. `status` is what was answered in the
    service's place, or 0.
    """

    key: str | None = None
    attempts: int = 1
    status: int = 0
    retry_after_s: float | None = None

    def __str__(self) -> str:
        """Return what a person should know."""
        may_be_done = " It may have been done: repeat it with the same key." if self.key else ""
        return f"The service did not answer.{may_be_done}"
