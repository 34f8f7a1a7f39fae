"""What the service asks of storage. Every method is one transaction of its own.

All of them raise `LedgerUnavailableError` when the database does not answer, and those that write
`LedgerInDoubtError` when it broke off while committing.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from deeds.domain.records import (
    HashScheme,
    ItemGuard,
    MintRecord,
    Operation,
    OutputKey,
    RecordedOutput,
    SchemeSpec,
    SchemeUse,
    SwapRecord,
)
from deeds.domain.values import Item


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

    def read_guards(self, item_ids: Iterable[str]) -> dict[str, ItemGuard]:
        """Return the guards of those of the items that exist."""

    def recall_guards(self, item_ids: Iterable[str]) -> dict[str, ItemGuard]:
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
