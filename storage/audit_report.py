"""What an audit found: for each invariant that is broken, where, and how often."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from storage.counts import LedgerCounts

# More than anybody reads; the rest is counted.
IDS_KEPT_MAX = 20


class Invariant(StrEnum):
    """What must be true of every ledger at every moment."""

    DATABASE = "the database itself is not damaged"
    ITEM_TOTAL = "the live outputs of an item sum to its total"
    ITEM_FORM = "an item has a total of 1 to 2^53 - 1 and a salt of 16 bytes"
    ITEM_SCHEMES = "an item names exactly the hash schemes of its outputs"
    OUTPUT_ITEM = "an output belongs to an item that exists"
    OUTPUT_FORM = "an output has an amount of 1 to 2^53 - 1 and a digest of 32 bytes"
    OUTPUT_SCHEME = "an output is hashed under a scheme that is known"
    OUTPUT_ORDER = "an output is spent by a later operation than created it"
    OUTPUT_ONCE = "a secret is used once in an item"
    OPERATION_BALANCE = "an operation gives as many units of an item as it takes, or mints"
    OPERATION_COUNTS = "an operation has as many inputs and outputs as it says"
    OPERATION_KNOWN = "items and outputs name only operations that exist"
    OPERATION_KIND = "a mint makes one item and spends nothing, a swap makes none"
    KEY_ONCE = "an Idempotency-Key makes one operation"
    SCHEME_FORM = "a hash scheme has a class, a cost and a salt of 16 bytes"


@dataclass(slots=True)
class Finding:
    """Where an invariant is broken: the first places, and how many there are."""

    places: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, place: str) -> None:
        """Count a place, and keep it if it is one of the first."""
        self.count += 1
        if len(self.places) < IDS_KEPT_MAX:
            self.places.append(place)

    def __str__(self) -> str:
        """Return the places in one line."""
        more = self.count - len(self.places)
        return ", ".join(self.places) + (f" and {more:,} more" if more else "")


@dataclass(slots=True)
class AuditReport:
    """What an audit counted and what it found to be broken."""

    counts: LedgerCounts
    findings: dict[Invariant, Finding] = field(default_factory=dict)

    @property
    def is_clean(self) -> bool:
        """Tell whether every invariant holds."""
        return not self.findings

    def add(self, invariant: Invariant, places: Iterable[object]) -> None:
        """Add places where the invariant is broken; none of them is no finding."""
        for place in places:
            self.findings.setdefault(invariant, Finding()).add(str(place))
