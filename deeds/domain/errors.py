"""Every failure that a caller can act on, one class each.

The domain knows no HTTP status: `deeds.blueprints.problems` has one for each code.
No message here may hold a secret or the offending value.
"""

import traceback
from typing import ClassVar

from deeds.domain.model import Operation


def places(error: BaseException) -> str:
    """Return where an error was raised, innermost first: files and lines, no values."""
    frames = traceback.extract_tb(error.__traceback__)
    return " < ".join(f"{frame.filename}:{frame.lineno}" for frame in reversed(frames))


class StartError(Exception):
    """The service or a command cannot start; its text is one line for the operator.

    What starts a process turns it into an exit with code 1. A request never ends with
    it.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"deeds: {reason}")


class DeedError(Exception):
    """Base of all failures that are answered to a client.

    `code` is the stable name of each, which its class states. `detail` is a sentence
    for the client, where there is more to say than the code does; `index` the position
    of the element at fault, in the `array` of the request; `failed_secrets_count` how
    many secrets of the request were wrong: guesses, maybe.
    """

    code: ClassVar[str]
    detail: str | None = None
    array: str | None = None

    def __init__(
        self,
        detail: str | None = None,
        *,
        index: int | None = None,
        array: str | None = None,
        failed_secrets_count: int = 0,
        retry_after_s: int = 1,
    ) -> None:
        self.detail = detail or self.detail
        self.index = index
        self.array = array or self.array
        self.failed_secrets_count = failed_secrets_count
        self.retry_after_s = max(1, retry_after_s)
        super().__init__(self.detail or self.code)


class WrongMediaTypeError(DeedError):
    """The body is not announced as application/json."""

    code = "wrong_media_type"


class InvalidJsonError(DeedError):
    """The body is not JSON text in UTF-8."""

    code = "invalid_json"


class BodyUnreadableError(DeedError):
    """The body broke off or its framing is wrong."""

    code = "body_unreadable"


class InvalidRequestError(DeedError):
    """The JSON is well-formed but not a request of this interface."""

    code = "invalid_request"


class InvalidIdempotencyKeyError(DeedError):
    """The Idempotency-Key header is empty, too long or not printable ASCII."""

    code = "invalid_idempotency_key"


class IdempotencyKeyReusedError(DeedError):
    """The Idempotency-Key was used before, for another request."""

    code = "idempotency_key_reused"


class TotalTooLargeError(DeedError):
    """A mint adds up to more than an item may hold, or an offer to more than it has."""

    code = "total_too_large"


class UnbalancedError(DeedError):
    """Inputs and outputs of an item do not add up to the same amount."""

    code = "unbalanced"


class NotAnOfferError(DeedError):
    """An offer wants nothing: of no item its outputs are more than its inputs."""

    code = "not_an_offer"


class WeakSecretError(DeedError):
    """The secret of an offer's output is not a strong one."""

    code = "weak_secret"


class DuplicateInputError(DeedError):
    """An input is named twice."""

    code = "duplicate_input"
    array = "inputs"


class DuplicateSecretError(DeedError):
    """A request names one secret of an item twice."""

    code = "duplicate_secret"
    array = "outputs"


class UnknownItemError(DeedError):
    """A swap or offer names an item that does not exist."""

    code = "unknown_item"


class UnknownInputError(DeedError):
    """No output of the item has this amount and this secret."""

    code = "unknown_input"
    array = "inputs"


class SpentInputError(DeedError):
    """The output was spent before."""

    code = "spent_input"
    array = "inputs"


class UsedSecretError(DeedError):
    """The secret of a new output was used in this item before."""

    code = "used_secret"
    array = "outputs"


class ItemNotFoundError(DeedError):
    """No item has this id."""

    code = "item_not_found"


class UnknownOfferError(DeedError):
    """No offer has this id."""

    code = "unknown_offer"


class OfferNotOpenError(DeedError):
    """The offer was completed, has expired, or cannot be completed any more."""

    code = "offer_not_open"


class RetryLaterError(DeedError):
    """Base of failures that pass by themselves, perhaps within `retry_after_s`."""


class OverloadedError(RetryLaterError):
    """More work is waiting than the service takes on."""

    code = "overloaded"


class TooManyFailuresError(RetryLaterError):
    """A client has presented too many wrong secrets, or may be doing so."""

    code = "too_many_failures"


class TooManyRequestsError(RetryLaterError):
    """A client asks a path more often than the operator allows."""

    code = "too_many_requests"


class LedgerUnavailableError(RetryLaterError):
    """The database does not answer; nothing was changed."""

    code = "ledger_unavailable"
    detail = "the database does not answer"


class LedgerInDoubtError(RetryLaterError):
    """The database broke off at COMMIT: the operation is there as a whole or not."""

    code = "ledger_in_doubt"


class LedgerRolledBackError(RetryLaterError):
    """The ledger lacks committed operations; nothing is written until accepted."""

    code = "ledger_rolled_back"


class SchemeUnavailableError(RetryLaterError):
    """An output is guarded by a pepper that this process was not given."""

    code = "scheme_unavailable"


class IdempotencyKeyTakenError(Exception):
    """Another request with the same key was faster. Never leaves the service."""

    def __init__(self, operation: Operation) -> None:
        super().__init__()
        self.operation = operation


class RawOutputError(ValueError):
    """A string is not a raw output: the message names the part, and quotes nothing."""
