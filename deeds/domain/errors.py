"""Every failure that a caller can act on, one class each.

The domain knows no HTTP status: `deeds.blueprints.problems` has one for each code.
No message here may hold a secret or the offending value.
"""

import re
import traceback
from typing import ClassVar


def places(error: BaseException) -> str:
    """Return where an error was raised, innermost first: files and lines, no values."""
    frames = traceback.extract_tb(error.__traceback__)
    return " < ".join(f"{frame.filename}:{frame.lineno}" for frame in reversed(frames))


class StartError(SystemExit):
    """The service cannot start.

    Ends the process with one line on stderr and exit code 1.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"deeds cannot start: {reason}")


class DeedError(Exception):
    """Base of all failures that are answered to a client.

    `detail` is a sentence for the client, where there is more to say than the code
    does; `index` the position of the element at fault; `failed_secrets_count` how many
    secrets of the request were wrong: guesses, maybe.
    """

    code: ClassVar[str]
    detail: str | None = None

    def __init_subclass__(cls) -> None:
        """Give the class its stable code.

        That of UnknownInputError is `unknown_input`.
        """
        words = re.findall("[A-Z][a-z]*", cls.__name__.removesuffix("Error"))
        cls.code = "_".join(words).lower()

    def __init__(
        self,
        detail: str | None = None,
        *,
        index: int | None = None,
        failed_secrets_count: int = 0,
        retry_after_s: int = 1,
    ) -> None:
        self.detail = detail or self.detail
        self.index = index
        self.failed_secrets_count = failed_secrets_count
        self.retry_after_s = max(1, retry_after_s)
        super().__init__(self.detail or self.code)


class WrongMediaTypeError(DeedError):
    """The body is not announced as application/json."""


class InvalidJsonError(DeedError):
    """The body is not JSON text in UTF-8."""


class BodyUnreadableError(DeedError):
    """The body broke off or its framing is wrong."""


class InvalidRequestError(DeedError):
    """The JSON is well-formed but not a request of this interface."""


class InvalidIdempotencyKeyError(DeedError):
    """The Idempotency-Key header is empty, too long or not printable ASCII."""


class IdempotencyKeyReusedError(DeedError):
    """The Idempotency-Key was used before, for another request."""


class TotalTooLargeError(DeedError):
    """The amounts of a mint, or of an item in an offer, are more than the item may hold or has."""


class UnbalancedError(DeedError):
    """Inputs and outputs of an item do not add up to the same amount."""


class NotAnOfferError(DeedError):
    """An offer wants nothing: of no item its outputs are more than its inputs."""


class WeakSecretError(DeedError):
    """The secret of an offer's output is not a strong one."""


class DuplicateInputError(DeedError):
    """An input is named twice."""


class DuplicateSecretError(DeedError):
    """A request names one secret of an item twice."""


class UnknownItemError(DeedError):
    """A swap or offer names an item that does not exist."""


class UnknownInputError(DeedError):
    """No output of the item has this amount and this secret."""


class SpentInputError(DeedError):
    """The output was spent before."""


class UsedSecretError(DeedError):
    """The secret of a new output was used in this item before."""


class ItemNotFoundError(DeedError):
    """No item has this id."""


class UnknownOfferError(DeedError):
    """No offer has this id."""


class OfferNotOpenError(DeedError):
    """The offer was completed, has expired, or cannot be completed any more."""


class RetryLaterError(DeedError):
    """Base of failures that pass by themselves, perhaps within `retry_after_s`."""


class OverloadedError(RetryLaterError):
    """More work is waiting than the service takes on."""


class TooManyFailuresError(RetryLaterError):
    """A client has presented too many wrong secrets, or may be doing so."""


class TooManyRequestsError(RetryLaterError):
    """A client asks a path more often than the operator allows."""


class LedgerUnavailableError(RetryLaterError):
    """The database does not answer; nothing was changed."""

    detail = "the database does not answer"


class LedgerInDoubtError(RetryLaterError):
    """The database broke off while committing.

    The operation is wholly there or wholly not.
    """


class LedgerRolledBackError(RetryLaterError):
    """The ledger lacks operations that were committed.

    Nothing is written until it is accepted.
    """


class SchemeUnavailableError(RetryLaterError):
    """An output is guarded by a pepper that this process was not given."""


class IdempotencyKeyTakenError(Exception):
    """Another request with the same Idempotency-Key was faster.

    Never leaves the service.
    """


class ItemSchemesChangedError(Exception):
    """An item got a hash scheme since it was read for a swap.

    Never leaves the service.
    """


class RawOutputError(ValueError):
    """A string is not a raw output.

    The message names the part at fault and never quotes it.
    """
