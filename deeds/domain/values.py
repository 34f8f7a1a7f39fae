"""The values that cross the border between schemas and service.

Must import nothing of the project. The type says what is secret: a `RawOutput` and a
`NewOutput` hold a secret and hide it from their repr; an `Output` of `deeds.domain.records` holds
none.
"""

from dataclasses import dataclass, field
from enum import StrEnum


class OutputState(StrEnum):
    """What the ledger knows of an output."""

    UNSPENT = "unspent"
    SPENT = "spent"
    UNKNOWN = "unknown"


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
        """Return the raw output string. It holds the secret: for answers to its owner only."""
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
class CheckRequest:
    """The raw outputs whose state is asked for."""

    outputs: tuple[RawOutput, ...]


@dataclass(frozen=True, slots=True)
class QrRequest:
    """What a QR code is to say: mostly a claim link, which holds a secret."""

    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Minted:
    """What a mint answers: the new item's outputs in request order."""

    item_id: str
    outputs: tuple[RawOutput, ...]
    operation_id: int
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Swapped:
    """What a swap answers."""

    operation_id: int
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """A registry item (contract 2.4)."""

    id: str
    total: int
    metadata: str | None
