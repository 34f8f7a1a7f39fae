"""Every problem that this service answers (RFC 9457)."""

from dataclasses import dataclass

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Problem:
    """A kind of problem: its stable name, and what the page /problems says of it.

    It is final where the request can never be carried out, whenever it is sent again:
    a wallet may then give up what it has written down of it.
    """

    code: str
    status: int
    is_final: bool
    title: str
    meaning: str


_TABLE = (
    Problem(
        "bad_request",
        400,
        False,
        "Not an HTTP request",
        "The bytes do not form an HTTP request that this server understands.",
    ),
    Problem(
        "body_unreadable",
        400,
        False,
        "Body broken off",
        "The body ended before its announced length, or its chunks are malformed.",
    ),
    Problem(
        "wrong_media_type",
        400,
        True,
        "Wrong media type",
        "Send the body with the header Content-Type: application/json.",
    ),
    Problem(
        "invalid_json",
        400,
        True,
        "Not JSON",
        "The body is not JSON in UTF-8 (RFC 8259), an object names a key twice, or"
        " arrays and objects are nested more than 512 deep.",
    ),
    Problem(
        "invalid_request",
        400,
        True,
        "Invalid request",
        "The JSON is not of the shape that this path takes; detail names the field.",
    ),
    Problem(
        "invalid_idempotency_key",
        400,
        True,
        "Invalid Idempotency-Key",
        "The key must have 1 to 255 printable ASCII characters, best a random UUID.",
    ),
    Problem(
        "total_too_large",
        400,
        True,
        "Total too large",
        "A mint of over 9007199254740991 units, or an offer of more than an item has.",
    ),
    Problem(
        "not_an_offer",
        400,
        True,
        "Not an offer",
        "An offer must want something: of at least one item more outputs than inputs.",
    ),
    Problem(
        "weak_secret",
        400,
        True,
        "Weak secret",
        "A strong secret is needed here (docs/clients.md); index tells which.",
    ),
    Problem(
        "unbalanced",
        400,
        True,
        "Unbalanced",
        "For every item the amounts of inputs and outputs must be equal.",
    ),
    Problem(
        "duplicate_input",
        400,
        True,
        "Input named twice",
        "An input is named twice, or in both halves of an offer; index names it.",
    ),
    Problem(
        "duplicate_secret",
        400,
        True,
        "Secret named twice",
        "Every output of an item needs its own secret; index is the output at fault.",
    ),
    Problem(
        "unknown_item",
        400,
        True,
        "Unknown item",
        "The item of the element at index does not exist here.",
    ),
    Problem(
        "offer_not_open",
        400,
        True,
        "Offer not open",
        "The offer is completed, expired or void, as detail says. Nothing moved.",
    ),
    Problem(
        "unknown_input",
        400,
        True,
        "Unknown input",
        "The item has no output with the amount and secret of the input at index.",
    ),
    Problem(
        "spent_input",
        400,
        True,
        "Input already spent",
        "The input at index was spent before. Its secret is worth nothing now.",
    ),
    Problem(
        "used_secret",
        400,
        True,
        "Secret used before",
        "The new secret at index was used in this item before. Take a fresh one.",
    ),
    Problem(
        "item_not_found",
        404,
        True,
        "No such item",
        "No item with this id exists here.",
    ),
    Problem(
        "unknown_offer",
        404,
        True,
        "No such offer",
        "No offer with this id exists here.",
    ),
    Problem(
        "not_found",
        404,
        False,
        "No such path",
        "Nothing is served at this path.",
    ),
    Problem(
        "method_not_allowed",
        405,
        False,
        "Method not allowed",
        "This path does not take this method; the header Allow names those it takes.",
    ),
    Problem(
        "body_too_large",
        413,
        True,
        "Body too large",
        "The body is larger than this service reads; GET /v1/info tells the limit.",
    ),
    Problem(
        "headers_too_large",
        431,
        False,
        "Headers too large",
        "The header fields are more or longer than this service reads.",
    ),
    Problem(
        "idempotency_key_reused",
        422,
        True,
        "Idempotency-Key used before",
        "The key was used for another request. Nothing was done; take a fresh key.",
    ),
    Problem(
        "too_many_failures",
        429,
        False,
        "Too many wrong secrets",
        "Too many secrets of this address are unknown, or may be. Nothing was done.",
    ),
    Problem(
        "too_many_requests",
        429,
        False,
        "Too many requests",
        "This address asked more often than the operator allows. Nothing was done.",
    ),
    Problem(
        "overloaded",
        503,
        False,
        "Too busy",
        "Nothing was done. Try again after the seconds that Retry-After names.",
    ),
    Problem(
        "ledger_unavailable",
        503,
        False,
        "Database away",
        "Nothing was done. Try again after the seconds that Retry-After names.",
    ),
    Problem(
        "ledger_in_doubt",
        503,
        False,
        "Outcome unknown",
        "Done as a whole or not. Repeat it with its Idempotency-Key, or check.",
    ),
    Problem(
        "ledger_rolled_back",
        503,
        False,
        "Ledger rolled back",
        "The database is an older copy. Nothing is written until that is put right.",
    ),
    Problem(
        "scheme_unavailable",
        503,
        False,
        "Pepper missing",
        "An output needs a pepper that this process was not given. Nothing was done.",
    ),
    Problem(
        "internal",
        500,
        False,
        "Internal error",
        "A defect of this service; its log says where. A check tells what was made.",
    ),
)

PROBLEMS = {problem.code: problem for problem in _TABLE}
