"""Plain values: items, outputs, requests, ledger records.

Values that hold a secret omit it from their repr. An `Output` holds a digest, never a
secret.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

# 2**53 - 1, the largest integer that every JSON parser reads exactly (contract 2.2).
AMOUNT_MAX = 9_007_199_254_740_991

# Unicode code points (contract 2.2).
SECRET_LENGTH_MAX = 32

# Default limits of array elements and body bytes (contract 7).
ARRAY_LENGTH_MAX = 256
BODY_BYTES_MAX = 1_048_576

# Characters of an Idempotency-Key. A UUID has 36.
IDEMPOTENCY_KEY_LENGTH_MAX = 255


@dataclass(frozen=True, slots=True)
class NewOutput:
    """Units to be minted, and the secret that will own them."""

    amount: int
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class RawOutput:
    """Units of an item and the secret that owns them (contract 2.1)."""

    amount: int
    item_id: str
    secret: str = field(repr=False)

    def __str__(self) -> str:
        """Return the raw output string, secret included: for its owner only."""
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
        """Return the inputs, followed by the outputs."""
        return self.inputs + self.outputs


@dataclass(frozen=True, slots=True)
class FindRequest:
    """Strong secrets of an item, to find their outputs (contract 4.5)."""

    item_id: str
    secrets: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Item:
    """A registry item (contract 2.4)."""

    id: str
    total: int
    metadata: str | None


class HashPolicy(NamedTuple):
    """How an item's secrets are hashed; fixed at its mint.

    The cost parameters are those of Argon2id (RFC 9106): KiB of memory, passes, lanes.
    """

    memory_cost_kib: int
    time_cost: int
    parallelism: int
    # Empty without a pepper: NULL would defeat the table's UNIQUE constraint.
    pepper_fingerprint: str = ""

    def __str__(self) -> str:
        """Return the cost in the form that DEEDS_ARGON2 takes."""
        return f"m={self.memory_cost_kib},t={self.time_cost},p={self.parallelism}"


@dataclass(frozen=True, slots=True)
class ItemHashing:
    """The 16-byte salt of an item's secrets, their policy, and the item's total.

    All three are fixed at the mint.
    """

    salt: bytes = field(repr=False)
    policy: HashPolicy
    total: int


class Output(NamedTuple):
    """An output as stored in the ledger: its primary key and its amount."""

    item_id: str
    digest: bytes
    amount: int

    @property
    def key(self) -> tuple[str, bytes]:
        """Return the primary key: item id and 32-byte digest of the secret."""
        return self[:2]

    def __repr__(self) -> str:
        """Return the output without its digest."""
        return f"Output(item_id={self.item_id!r}, amount={self.amount})"


class FoundOutput(NamedTuple):
    """An output found in the ledger by its key."""

    amount: int
    spent_by: int | None

    @property
    def state(self) -> str:
        """Return "spent" or "unspent"."""
        return "unspent" if self.spent_by is None else "spent"


class IdempotencyKey(NamedTuple):
    """An Idempotency-Key as stored in the ledger: hash, and fingerprint of the request.

    Requests with equal fingerprints are the same request.
    """

    hash: bytes
    fingerprint: bytes

    def __repr__(self) -> str:
        """Return the name alone, without hash and fingerprint."""
        return "IdempotencyKey()"


@dataclass(frozen=True, slots=True)
class MintRecord:
    """All that a mint writes."""

    item: Item
    hashing: ItemHashing
    outputs: tuple[Output, ...]
    idempotency_key: IdempotencyKey | None = None


@dataclass(frozen=True, slots=True)
class SwapRecord:
    """All that a swap writes."""

    inputs: tuple[Output, ...]
    outputs: tuple[Output, ...]
    idempotency_key: IdempotencyKey | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """A recorded change of the ledger.

    `replayed` says that an earlier request with the same Idempotency-Key made it.
    """

    id: int
    created_at_ms: int
    replayed: bool = False

    @property
    def created_at(self) -> str:
        """Return the time in UTC (RFC 3339), or "?" if it is out of range."""
        try:
            time = datetime.fromtimestamp(self.created_at_ms / 1000, UTC)
        except (OSError, OverflowError, ValueError):
            return "?"
        return f"{time:%Y-%m-%dT%H:%M:%SZ}"
