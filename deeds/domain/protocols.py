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


class Ledger(Protocol):
    """The ledger. Every method is one transaction of its own.

    All of them raise `LedgerUnavailableError` when the database does not answer, and those that
    write `LedgerInDoubtError` when it broke off while committing.
    """

    def register_schemes(self, specs: Sequence[SchemeSpec]) -> None:
        """Record those schemes that are new; any number of processes may do so at once."""

    def read_schemes(self) -> tuple[HashScheme, ...]:
        """Return every scheme ever recorded."""

    def read_scheme_use(self, scheme_id: int) -> SchemeUse:
        """Return what was hashed under the scheme. May read the whole ledger."""

    def read_item(self, item_id: str) -> Item | None:
        """Return the item, or None where no item has this id."""

    def read_item_schemes(self, item_ids: Iterable[str]) -> dict[str, ItemSchemes]:
        """Return the salt and schemes of those of the items that exist."""

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
    """Receives figures; any thread may call it, and no call may fail.

    No argument may be anything but a word of a short list or a number: never an id, an address or a
    path. `deeds.server.metrics` counts for Prometheus; the methods here do nothing.
    """

    def count_request(self, route: str, method: str, seconds: float) -> None:
        """Count a request of a route and how long it took."""
        return

    def count_operation(self, kind: str, outcome: str) -> None:
        """Count the outcome of a mint, swap, check or read of an item."""
        return

    def count_refusal(self, code: str) -> None:
        """Count an answer that is a problem."""
        return

    def count_hashes(self, secret_class: SecretClass, count: int, seconds: float) -> None:
        """Count evaluations and the time they took together."""
        return

    def set_queue(self, requests_count: int, hashes_count: int) -> None:
        """Set how many requests and evaluations the pool has admitted."""
        return

    def count_retry(self, reason: str) -> None:
        """Count a transaction that is tried again."""
        return


class NoMeasures(Measures):
    """Counts nothing."""
