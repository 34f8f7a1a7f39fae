"""Every problem that this service answers: code, HTTP status, title. Must import no library.

The one place where errors meet HTTP. `meaning` is what the page /problems and OpenAPI say of it.
"""

from dataclasses import dataclass
from http import HTTPStatus


@dataclass(frozen=True, slots=True)
class Problem:
    """A kind of problem (RFC 9457); `code` is its stable slug."""

    code: str
    status: HTTPStatus
    title: str
    meaning: str

    @property
    def type(self) -> str:
        """Return the URI reference of the problem's description."""
        return f"/problems#{self.code}"


_ROWS = (
    # What is wrong with the bytes.
    Problem(
        "bad_request",
        HTTPStatus.BAD_REQUEST,
        "Not an HTTP request",
        "The bytes do not form an HTTP request that this server understands.",
    ),
    Problem(
        "body_unreadable",
        HTTPStatus.BAD_REQUEST,
        "Body broken off",
        "The body ended before its announced length, or its chunks are malformed.",
    ),
    Problem(
        "wrong_media_type",
        HTTPStatus.BAD_REQUEST,
        "Wrong media type",
        "Send the body with the header Content-Type: application/json.",
    ),
    Problem(
        "invalid_json",
        HTTPStatus.BAD_REQUEST,
        "Not JSON",
        "The body is not JSON text in UTF-8 (RFC 8259), or an object names a key twice.",
    ),
    Problem(
        "invalid_request",
        HTTPStatus.BAD_REQUEST,
        "Invalid request",
        "The body is JSON but not of the shape that this path takes; detail names the field.",
    ),
    Problem(
        "invalid_idempotency_key",
        HTTPStatus.BAD_REQUEST,
        "Invalid Idempotency-Key",
        "The key must have 1 to 255 printable ASCII characters. A random UUID is a good one.",
    ),
    # What is wrong with the request.
    Problem(
        "total_too_large",
        HTTPStatus.BAD_REQUEST,
        "Total too large",
        "The amounts of a mint add up to more than 9007199254740991 units.",
    ),
    Problem(
        "unbalanced",
        HTTPStatus.BAD_REQUEST,
        "Unbalanced",
        "For every item the amounts of inputs and outputs must be equal.",
    ),
    Problem(
        "duplicate_input",
        HTTPStatus.BAD_REQUEST,
        "Input named twice",
        "The swap names one input twice; index is the second place.",
    ),
    Problem(
        "duplicate_secret",
        HTTPStatus.BAD_REQUEST,
        "Secret named twice",
        "Every output of an item needs a secret of its own; index is the output at fault.",
    ),
    Problem(
        "unknown_item",
        HTTPStatus.BAD_REQUEST,
        "Unknown item",
        "The item of the input at index does not exist here.",
    ),
    Problem(
        "unknown_input",
        HTTPStatus.BAD_REQUEST,
        "Unknown input",
        "The item has no output with the amount and secret of the input at index.",
    ),
    Problem(
        "spent_input",
        HTTPStatus.BAD_REQUEST,
        "Input already spent",
        "The input at index was spent by an earlier swap. Its secret is worth nothing now.",
    ),
    Problem(
        "used_secret",
        HTTPStatus.BAD_REQUEST,
        "Secret used before",
        "The secret of the output at index was used in this item before. Take a fresh one.",
    ),
    # What is wrong with the address or the size.
    Problem(
        "item_not_found",
        HTTPStatus.NOT_FOUND,
        "No such item",
        "No item with this id exists here.",
    ),
    Problem("not_found", HTTPStatus.NOT_FOUND, "No such path", "Nothing is served at this path."),
    Problem(
        "method_not_allowed",
        HTTPStatus.METHOD_NOT_ALLOWED,
        "Method not allowed",
        "This path does not take this method; the header Allow names those it takes.",
    ),
    Problem(
        "body_too_large",
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "Body too large",
        "The body is larger than this service reads; GET /v1/info tells the limit.",
    ),
    Problem(
        "uri_too_long",
        HTTPStatus.REQUEST_URI_TOO_LONG,
        "Address too long",
        "The request line is longer than this service reads.",
    ),
    Problem(
        "expectation_failed",
        HTTPStatus.EXPECTATION_FAILED,
        "Expectation failed",
        "The only expectation that this service meets is 100-continue.",
    ),
    Problem(
        "headers_too_large",
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
        "Headers too large",
        "The header fields are more or longer than this service reads.",
    ),
    Problem(
        "idempotency_key_reused",
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "Idempotency-Key used before",
        "The key was used for another request before. Nothing was done; take a fresh key.",
    ),
    # What passes by itself, and what should not be.
    Problem(
        "too_many_failures",
        HTTPStatus.TOO_MANY_REQUESTS,
        "Too many wrong secrets",
        "Too many secrets from this address were unknown, or are just being looked at; nothing "
        "was done. Try again after the seconds that Retry-After names.",
    ),
    Problem(
        "too_many_requests",
        HTTPStatus.TOO_MANY_REQUESTS,
        "Too many requests",
        "This address asks this path more often than the operator allows; nothing was done. Try "
        "again after the seconds that Retry-After names.",
    ),
    Problem(
        "overloaded",
        HTTPStatus.SERVICE_UNAVAILABLE,
        "Too busy",
        "Nothing was done. Try again after the seconds that Retry-After names.",
    ),
    Problem(
        "ledger_unavailable",
        HTTPStatus.SERVICE_UNAVAILABLE,
        "Database away",
        "Nothing was done. Try again after the seconds that Retry-After names.",
    ),
    Problem(
        "ledger_in_doubt",
        HTTPStatus.SERVICE_UNAVAILABLE,
        "Outcome unknown",
        "The database broke off while committing: the operation is wholly there or wholly not. "
        "Send it again with the same Idempotency-Key, or ask POST /v1/check.",
    ),
    Problem(
        "ledger_rolled_back",
        HTTPStatus.SERVICE_UNAVAILABLE,
        "Ledger rolled back",
        "The database was replaced by an older state of it. Nothing was done, and nothing is "
        "written until the operator has put it right.",
    ),
    Problem(
        "scheme_unavailable",
        HTTPStatus.SERVICE_UNAVAILABLE,
        "Pepper missing",
        "An output is guarded by a pepper that this process was not given; nothing was done.",
    ),
    Problem(
        "internal",
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "Internal error",
        "A defect of this service, whose log says where. POST /v1/check tells what was made.",
    ),
)

PROBLEMS = {problem.code: problem for problem in _ROWS}
