"""Items, outputs, requests, records of the ledger, and the bounds of a request.

The type says what is secret: a `RawOutput` and a `NewOutput` hold a secret and hide it
from their repr; an `Output` holds a digest at most.
"""

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
    metadata: str | None = None


@dataclass(frozen=True, slots=True)
class SwapRequest:
    """The raw outputs to spend and those to create."""

    inputs: tuple[RawOutput, ...]
    outputs: tuple[RawOutput, ...]

    @property
    def raws(self) -> tuple[RawOutput, ...]:
        """Return both, inputs first."""
        return self.inputs + self.outputs


@dataclass(frozen=True, slots=True)
class OfferRequest(SwapRequest):
    """The maker's half of a swap, and for how many seconds it can be completed."""

    expires_in_s: int = OFFER_EXPIRES_IN_S_DEFAULT


@dataclass(frozen=True, slots=True)
class FindRequest:
    """An item, and secrets whose outputs of it are asked for (contract part 4)."""

    item_id: str
    secrets: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class FoundOutput:
    """What is told of an output to somebody who knows its secret."""

    amount: int
    state: OutputState


@dataclass(frozen=True, slots=True)
class Done(Generic[Answer]):
    """What a request has done to the ledger, or had done when it was sent before."""

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
class HashPolicy:
    """How the secrets of an item are hashed: that of its mint, for its life.

    The cost is that of an ordinary secret. `pepper_fingerprint` is empty where there is
    no pepper.
    """

    cost: Argon2Cost
    pepper_fingerprint: str


@dataclass(frozen=True, slots=True)
class ItemHashing:
    """What a request needs to know of an item: its 16-byte salt, its policy, its total.

    None of these ever changes.
    """

    salt: bytes = field(repr=False)
    policy: HashPolicy
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

    @property
    def state(self) -> OutputState:
        """Return whether it is spent."""
        return OutputState.UNSPENT if self.spent_by is None else OutputState.SPENT


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation found by its idempotency key.

    `item_id` is that of a mint, `offer_id` that of the offer that it made or completed.
    """

    id: int
    kind: OperationKind
    inputs_count: int
    outputs_count: int
    item_id: str | None
    offer_id: str | None


@dataclass(frozen=True, slots=True)
class MintRecord:
    """All that one mint writes. The key's hash has 32 bytes; None is no key."""

    item: Item
    hashing: ItemHashing
    outputs: tuple[Output, ...]
    idempotency_key_hash: bytes | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class SwapRecord:
    """All that one swap writes.

    `offer_id` is that of the offer which the swap completes.
    """

    inputs: tuple[Output, ...]
    outputs: tuple[Output, ...]
    idempotency_key_hash: bytes | None = field(default=None, repr=False)
    offer_id: str | None = None


@dataclass(frozen=True, slots=True)
class OfferRecord:
    """An offer as its making writes it.

    `expires_at_s` and `state` are the ledger's to tell. Read from the ledger, the half
    has no idempotency key.
    """

    id: str
    half: SwapRecord
    expires_in_s: int
    expires_at_s: int = 0
    state: OfferState = OfferState.OPEN
