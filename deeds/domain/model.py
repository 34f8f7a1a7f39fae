"""Items, outputs, requests, records of the ledger, and the bounds of what a client may send.

The type says what is secret: a `RawOutput` and a `NewOutput` hold a secret and hide it
from their repr; an `Output` holds a digest at most.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Generic, TypeVar

Answer = TypeVar("Answer")

# 2**53 - 1: the largest integer that every reader of JSON sees exactly (contract 2.2).
AMOUNT_MAX = 9_007_199_254_740_991

# Unicode code points of a secret (contract 2.2).
SECRET_LENGTH_MAX = 32

# Elements of `inputs` and `outputs` unless DEEDS_MAX_ARRAY says otherwise (contract
# part 2).
ARRAY_LENGTH_MAX = 256

# Bytes of a request body unless DEEDS_MAX_BODY_BYTES says otherwise: 1 MiB (contract
# part 2).
BODY_BYTES_MAX = 1_048_576

# Seconds for which an offer can be completed (contract part 3): a minute to 30 days, or
# a week.
OFFER_EXPIRES_IN_S = (60, 2_592_000)
OFFER_EXPIRES_IN_S_DEFAULT = 604_800

# Characters of an Idempotency-Key. A UUID has 36; longer than this no client has a use
# for.
IDEMPOTENCY_KEY_LENGTH_MAX = 255


class OutputState(StrEnum):
    """What the ledger knows of an output."""

    UNSPENT = "unspent"
    SPENT = "spent"
    UNKNOWN = "unknown"


class OfferState(StrEnum):
    """What can become of an offer.

    It is void where the ledger cannot take its half any more.
    """

    OPEN = "open"
    COMPLETED = "completed"
    VOID = "void"
    EXPIRED = "expired"


class SecretClass(StrEnum):
    """How hard a secret is to guess, which decides what its hash costs."""

    ORDINARY = "ordinary"
    STRONG = "strong"


class SchemeUse(StrEnum):
    """What a hash scheme guards."""

    NOTHING = "nothing"
    SPENT = "spent"
    UNSPENT = "unspent"


class OperationKind(StrEnum):
    """What changed the ledger."""

    MINT = "mint"
    SWAP = "swap"
    OFFER = "offer"


@dataclass(frozen=True, slots=True)
class NewOutput:
    """Units to be minted: 1 to AMOUNT_MAX, and a secret of 1 to 32 code points."""

    amount: int
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class RawOutput:
    """Units of an item and the secret bound to them (contract 2.1)."""

    amount: int
    item_id: str
    secret: str = field(repr=False)

    def __str__(self) -> str:
        """Return the raw output string.

        It holds the secret: for answers to its owner only.
        """
        return f"+{self.amount}.{self.item_id}.{self.secret}"


@dataclass(frozen=True, slots=True)
class MintRequest:
    """The outputs of a new item, and its metadata as compact JSON text or None."""

    outputs: tuple[NewOutput, ...]
    metadata: str | None


@dataclass(frozen=True, slots=True)
class SwapRequest:
    """The raw outputs to spend and those to create."""

    inputs: tuple[RawOutput, ...]
    outputs: tuple[RawOutput, ...]


@dataclass(frozen=True, slots=True)
class OfferRequest(SwapRequest):
    """The maker's half of a swap, and for how many seconds it can be completed."""

    expires_in_s: int


@dataclass(frozen=True, slots=True)
class Done(Generic[Answer]):
    """What a request that changes the ledger has done, or had done when it was sent before."""

    operation_id: int
    answer: Answer
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Minted:
    """What a mint answers: the new item's outputs in request order."""

    item_id: str
    outputs: tuple[RawOutput, ...]


@dataclass(frozen=True, slots=True)
class Units:
    """Some units of an item."""

    item_id: str
    amount: int


@dataclass(frozen=True, slots=True)
class Offer:
    """What anybody may know of an offer (contract part 3).

    Units in order of item id.
    """

    id: str
    state: OfferState
    gives: tuple[Units, ...]
    wants: tuple[Units, ...]
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Item:
    """A registry item (contract 2.4)."""

    id: str
    total: int
    metadata: str | None


@dataclass(frozen=True, slots=True)
class Argon2Cost:
    """Cost of one Argon2id evaluation (RFC 9106): KiB of memory, passes, lanes."""

    memory_cost_kib: int
    time_cost: int
    parallelism: int

    def __str__(self) -> str:
        """Return the form that DEEDS_ARGON2 takes."""
        return f"m={self.memory_cost_kib},t={self.time_cost},p={self.parallelism}"


@dataclass(frozen=True, slots=True)
class SchemeSpec:
    """What a hash scheme is made of.

    `pepper_fingerprint` is empty where there is no pepper.
    """

    secret_class: SecretClass
    cost: Argon2Cost
    pepper_fingerprint: str


@dataclass(frozen=True, slots=True)
class HashScheme:
    """A scheme as the ledger knows it, with the 16-byte salt of its idempotency keys."""

    id: int
    spec: SchemeSpec
    key_salt: bytes


@dataclass(frozen=True, slots=True)
class ItemSchemes:
    """What hashing needs of an item.

    Its 16-byte salt and the schemes of its outputs.
    """

    salt: bytes
    scheme_ids: frozenset[int]
    total: int


@dataclass(frozen=True, slots=True, order=True)
class OutputKey:
    """The primary key of an output: item id and 32-byte digest of the secret."""

    item_id: str
    digest: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Output:
    """An output as the ledger keeps it, with no secret in it."""

    key: OutputKey
    scheme_id: int
    amount: int

    @property
    def item_id(self) -> str:
        """Return the id of the item that the units belong to."""
        return self.key.item_id


@dataclass(frozen=True, slots=True)
class RecordedOutput:
    """An output found in the ledger and the operations that created and spent it."""

    output: Output
    created_by: int
    spent_by: int | None


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation found by its idempotency key.

    `item_id` is that of a mint, `offer_id` that of the offer which it made or
    completed.
    """

    id: int
    kind: OperationKind
    inputs_count: int
    outputs_count: int
    item_id: str | None
    offer_id: str | None


@dataclass(frozen=True, slots=True)
class MintRecord:
    """All that one mint writes.

    `idempotency_key_hashes` are empty without a key. The first one, of 32 bytes, is
    recorded; the others are those under which a process with other settings may record
    the same key.
    """

    item: Item
    salt: bytes = field(repr=False)
    outputs: tuple[Output, ...]
    idempotency_key_hashes: tuple[bytes, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class SwapRecord:
    """All that one swap writes.

    `outputs_forbidden` holds the keys that outputs would have under older schemes, each
    with the index of its output: where one exists, the secret was used in this item
    before. `schemes_counts` holds for each item how many schemes its outputs had when
    it was hashed for; `schemes_added` the pairs of item and scheme id that the outputs
    bring. `idempotency_key_hashes` are as those of a mint. `offer_id` is that of the
    offer which the swap completes.
    """

    inputs: tuple[Output, ...]
    outputs: tuple[Output, ...]
    outputs_forbidden: Mapping[OutputKey, int]
    schemes_counts: Mapping[str, int]
    schemes_added: frozenset[tuple[str, int]]
    idempotency_key_hashes: tuple[bytes, ...] = field(repr=False)
    offer_id: str | None = None


@dataclass(frozen=True, slots=True)
class OfferRecord:
    """An offer as its making writes it, but for `expires_at_s` and `state`, which the ledger tells.

    `scheme_id` is the strong scheme of the half's outputs. Read from the ledger, the
    half says nothing of schemes and keys.
    """

    id: str
    half: SwapRecord
    scheme_id: int
    expires_in_s: int
    expires_at_s: int = 0
    state: OfferState = OfferState.OPEN
