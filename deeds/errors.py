"""StartError, and one class for each error response.

A class holds everything about its error. No text here may contain a secret or the
offending value. Parts define further classes.
"""

from typing import ClassVar


class StartError(Exception):
    """The service or a command cannot start; its text is one line for the operator.

    Callers at startup turn it into exit code 1. A request never raises it.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"deeds: {reason}")


class NoFreeConnectionError(StartError):
    """The database has no free connection: a later try may get one."""


class DeedError(Exception):
    """Base of all error responses (RFC 9457).

    `code` is the stable name; `title` and `meaning` are human-readable. `is_final` says
    that the same request can never succeed. `detail` is a more specific sentence than
    `meaning`. `index` is the position of the invalid element in the request's `array`.
    `wrong_secrets` is the number of wrong secrets in the request, which may be guesses.
    """

    code: ClassVar[str]
    title: ClassVar[str]
    meaning: ClassVar[str]
    status: ClassVar[int] = 400
    is_final: ClassVar[bool] = True
    array: str | None = None

    def __init__(
        self,
        detail: str | None = None,
        *,
        index: int | None = None,
        array: str | None = None,
        wrong_secrets: int = 0,
    ) -> None:
        super().__init__(detail or self.meaning)
        self.index = index
        self.array = array or self.array
        self.wrong_secrets = wrong_secrets


class BadRequestError(DeedError):
    code = "bad_request"
    title = "Not an HTTP request"
    meaning = "The bytes do not form an HTTP request that this server understands."
    is_final = False


class BodyUnreadableError(DeedError):
    code = "body_unreadable"
    title = "Incomplete body"
    meaning = "The body ended before its announced length, or its chunks are malformed."
    is_final = False


class WrongMediaTypeError(DeedError):
    code = "wrong_media_type"
    title = "Wrong media type"
    meaning = "Send the body with the header Content-Type: application/json."


class InvalidJsonError(DeedError):
    code = "invalid_json"
    title = "Not JSON"
    meaning = (
        "The body is not JSON in UTF-8 (RFC 8259), an object names a key twice, or"
        " arrays and objects are nested too deeply."
    )


class InvalidRequestError(DeedError):
    code = "invalid_request"
    title = "Invalid request"
    meaning = (
        "The JSON is not of the shape that this path takes; detail names the field."
    )


class InvalidIdempotencyKeyError(DeedError):
    code = "invalid_idempotency_key"
    title = "Invalid Idempotency-Key"
    meaning = (
        "The key must have 1 to 255 printable ASCII characters, best a random UUID."
    )


class TotalTooLargeError(DeedError):
    code = "total_too_large"
    title = "Total too large"
    meaning = (
        "A mint of over 9007199254740991 units, or an offer of more than an item has."
    )


class WeakSecretError(DeedError):
    code = "weak_secret"
    title = "Weak secret"
    meaning = "A strong secret is needed here (docs/clients.md)."


class UnbalancedError(DeedError):
    code = "unbalanced"
    title = "Unbalanced"
    meaning = "For every item the amounts of inputs and outputs must be equal."


class DuplicateInputError(DeedError):
    code = "duplicate_input"
    title = "Input named twice"
    meaning = "The input is named twice, or in both halves of an offer."
    array = "inputs"


class DuplicateSecretError(DeedError):
    code = "duplicate_secret"
    title = "Secret named twice"
    meaning = "Every output of an item needs its own secret."
    array = "outputs"


class UnknownItemError(DeedError):
    code = "unknown_item"
    title = "Unknown item"
    meaning = "The item does not exist here."


class UnknownInputError(DeedError):
    code = "unknown_input"
    title = "Unknown input"
    meaning = "The item has no output with this amount and this secret."
    array = "inputs"


class SpentInputError(DeedError):
    code = "spent_input"
    title = "Input already spent"
    meaning = "The input was spent before. Its secret is worth nothing now."
    array = "inputs"


class UsedSecretError(DeedError):
    code = "used_secret"
    title = "Secret used before"
    meaning = "The new secret was used in this item before. Take a fresh one."
    array = "outputs"


class ItemNotFoundError(DeedError):
    code = "item_not_found"
    title = "No such item"
    meaning = "No item with this id exists here."
    status = 404


class PathNotFoundError(DeedError):
    code = "not_found"
    title = "No such path"
    meaning = "Nothing is served at this path."
    status = 404
    is_final = False


class MethodNotAllowedError(DeedError):
    code = "method_not_allowed"
    title = "Method not allowed"
    meaning = (
        "This path does not take this method; the header Allow names those it takes."
    )
    status = 405
    is_final = False


class BodyTooLargeError(DeedError):
    code = "body_too_large"
    title = "Body too large"
    meaning = (
        "The body is larger than this service reads; GET /v1/info tells the limit."
    )
    status = 413


class HeadersTooLargeError(DeedError):
    code = "headers_too_large"
    title = "Headers too large"
    meaning = "The header fields are more or longer than this service reads."
    status = 431
    is_final = False


class IdempotencyKeyReusedError(DeedError):
    """The key belongs to another request. It counts as a guess."""

    code = "idempotency_key_reused"
    title = "Idempotency-Key used before"
    meaning = (
        "The key was used for another request. Nothing was done; take a fresh key."
    )
    status = 422

    def __init__(self) -> None:
        super().__init__(wrong_secrets=1)


class RetryLaterError(DeedError):
    """Base of temporary errors. Clients may retry after `retry_after_s` seconds."""

    status = 503
    is_final = False

    def __init__(self, detail: str | None = None, *, retry_after_s: int = 1) -> None:
        super().__init__(detail)
        self.retry_after_s = retry_after_s


class TooManyFailuresError(RetryLaterError):
    code = "too_many_failures"
    title = "Too many wrong secrets"
    meaning = (
        "Too many secrets of this address are unknown, or may be. Nothing was done."
    )
    status = 429


class TooManyRequestsError(RetryLaterError):
    code = "too_many_requests"
    title = "Too many requests"
    meaning = (
        "This address asked more often than the operator allows. Nothing was done."
    )
    status = 429


class OverloadedError(RetryLaterError):
    code = "overloaded"
    title = "Too busy"
    meaning = "Nothing was done. Try again after the seconds that Retry-After names."


class LedgerUnavailableError(RetryLaterError):
    code = "ledger_unavailable"
    title = "Database unavailable"
    meaning = "Nothing was done. Try again after the seconds that Retry-After names."

    def __init__(self, detail: str = "the database does not answer") -> None:
        super().__init__(detail)


class LedgerInDoubtError(RetryLaterError):
    code = "ledger_in_doubt"
    title = "Outcome unknown"
    meaning = "Done as a whole or not. Repeat it with its Idempotency-Key, or check."


class LedgerRolledBackError(RetryLaterError):
    code = "ledger_rolled_back"
    title = "Ledger rolled back"
    meaning = (
        "The database is an older copy. Nothing is written until that is put right."
    )


class PepperMissingError(RetryLaterError):
    code = "scheme_unavailable"
    title = "Pepper missing"
    meaning = (
        "An output needs a pepper that this process was not given. Nothing was done."
    )


class InternalError(DeedError):
    code = "internal"
    title = "Internal error"
    meaning = "A defect of this service; its log says where. Check what was done."
    status = 500
    is_final = False


def problems(*modules: object) -> tuple[type[DeedError], ...]:
    """Return the error classes of modules, without base classes, sorted by status."""
    classes = [
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, type)
        and issubclass(each, DeedError)
        and "code" in vars(each)
    ]
    return tuple(sorted(dict.fromkeys(classes), key=lambda each: each.status))
