"""What the service asks of the ledger, and of what counts its work."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from deeds.domain.model import (
    HashScheme,
    Item,
    ItemSchemes,
    MintRecord,
    Operation,
    OutputKey,
    RecordedOutput,
    SchemeSpec,
    SchemeUse,
    SecretClass,
    SwapRecord,
)


class SchemeLedger(Protocol):
    """The part that knows hash schemes."""

    def register_schemes(self, specs: Sequence[SchemeSpec]) -> None:
        """Record those schemes that are new; any number of processes may do so at once."""

    def read_schemes(self) -> tuple[HashScheme, ...]:
        """Return every scheme ever recorded."""

    def read_scheme_use(self, scheme_id: int) -> SchemeUse:
        """Return what was hashed under the scheme. May read the whole ledger."""


class Ledger(SchemeLedger, Protocol):
    """The whole ledger."""

    def read_item(self, item_id: str) -> Item | None:
        """Return the item, or None if there is none."""

    def read_item_schemes(self, item_ids: Iterable[str]) -> dict[str, ItemSchemes]:
        """Return the guards of those of the items that exist."""

    def recall_item_schemes(self, item_ids: Iterable[str]) -> dict[str, ItemSchemes]:
        """Return the same, perhaps as it was before another process added a scheme to an item.

        For a swap, which then ends with `ItemSchemesChangedError`.
        """

    def read_outputs(self, keys: Iterable[OutputKey]) -> dict[OutputKey, RecordedOutput]:
        """Return those of the outputs that exist, spent or not."""

    def read_operation(self, key_hashes: Sequence[bytes]) -> Operation | None:
        """Return the operation recorded under one of the idempotency key hashes."""

    def record_mint(self, record: MintRecord) -> int:
        """Create an item and its outputs; return the operation's id.

        Raises:
            IdempotencyKeyTakenError: an operation with this key hash was recorded meanwhile.
        """

    def record_swap(self, record: SwapRecord) -> int:
        """Spend the inputs and create the outputs, all or nothing; return the operation's id.

        Raises:
            IdempotencyKeyTakenError: an operation with this key hash was recorded meanwhile.
            ItemSchemesChangedError: an item has other schemes than the record was hashed for.
            UnknownInputError: an input is not in the ledger with this digest and amount.
            SpentInputError: an input was spent before.
            UsedSecretError: an output, or one of its forbidden keys, is in the ledger already.
            UnbalancedError: the amounts do not balance.
        """


class Measures(Protocol):
    """Takes figures; any thread may call it, and no call may fail."""

    def count_request(self, route: str, method: str, seconds: float) -> None:
        """Count a request of a route and how long it took."""

    def count_operation(self, kind: str, outcome: str) -> None:
        """Count what came of a mint, swap, check or read of an item."""

    def count_refusal(self, code: str) -> None:
        """Count an answer that is a problem."""

    def count_hashes(self, lane: SecretClass, count: int, seconds: float) -> None:
        """Count evaluations and the time they took together."""

    def set_queue(self, requests_count: int, hashes_count: int) -> None:
        """Tell what is in the lane of ordinary secrets, running or waiting."""

    def count_retry(self, reason: str) -> None:
        """Count a transaction that is tried again."""


class NoMeasures:
    """Counts nothing."""

    def count_request(self, route: str, method: str, seconds: float) -> None:
        """Do nothing."""

    def count_operation(self, kind: str, outcome: str) -> None:
        """Do nothing."""

    def count_refusal(self, code: str) -> None:
        """Do nothing."""

    def count_hashes(self, lane: SecretClass, count: int, seconds: float) -> None:
        """Do nothing."""

    def set_queue(self, requests_count: int, hashes_count: int) -> None:
        """Do nothing."""

    def count_retry(self, reason: str) -> None:
        """Do nothing."""
