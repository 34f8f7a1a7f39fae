"""What this service does with deeds: mint, swap, check and find outputs, read an item.

Each reads from top to bottom: the rules that need no ledger, the idempotency key, what
is read of items, hashing with no transaction open, and at most one short transaction.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from deeds.domain import errors
from deeds.domain.hashing import SALT_BYTES, Hasher
from deeds.domain.idempotency import check_same
from deeds.domain.model import (
    Done,
    FindRequest,
    FoundOutput,
    Item,
    ItemHashing,
    Minted,
    MintRecord,
    MintRequest,
    Operation,
    OutputState,
    RawOutput,
    SwapRecord,
    SwapRequest,
)
from deeds.domain.outputs import OutputFinder, OutputLedger
from deeds.domain.raw_output import ITEM_ID_PREFIX, is_id, is_strong_secret, make_id
from deeds.domain.rules import (
    check_items,
    check_mint,
    check_strong,
    check_swap,
    item_ids_of,
)


class Ledger(OutputLedger, Protocol):
    """The ledger. Every method is one transaction of its own.

    All of them raise `LedgerUnavailableError` when the database does not answer. Those
    that write raise `LedgerInDoubtError` when it broke off while committing, and
    `IdempotencyKeyTakenError` with the operation that was recorded under their key.
    """

    def read_item(self, item_id: str) -> Item:
        """Return the item; raise ItemNotFoundError if there is none."""

    def read_operation(self, idempotency_key_hash: bytes | None) -> Operation | None:
        """Return the operation recorded under the hash of a key, if any."""

    def record_mint(self, record: MintRecord) -> int:
        """Create an item and its outputs; return the operation's id."""

    def record_swap(self, record: SwapRecord) -> int:
        """Spend the inputs and create the outputs, all or nothing.

        Returns the operation's id.

        Raises:
            OfferNotOpenError: the offer that it completes was completed before or has
                expired.
            UnknownInputError: the ledger has no such input, or of another amount.
            SpentInputError: an input was spent before.
            UsedSecretError: an output is in the ledger already.
            UnbalancedError: the amounts do not balance.
        """


@dataclass(frozen=True, slots=True)
class DeedService:
    """Joins the rules, the hashing and the ledger. Stateless; any thread may call it.

    `client` is whom a request counts for: clients share the hash pool fairly. A
    DeedError says that a request breaks a rule or cannot be carried out; then nothing
    moved.
    """

    ledger: Ledger
    hasher: Hasher
    finder: OutputFinder

    def mint(
        self, request: MintRequest, idempotency_key: str | None, client: str
    ) -> Done[Minted]:
        """Create an item with the outputs of the request."""
        check_mint(request)
        key_hash = self.hasher.hash_key(idempotency_key, client)
        operation = self.ledger.read_operation(key_hash)
        if operation is not None:
            return self._replay_mint(request, operation, client)
        item_id = make_id(ITEM_ID_PREFIX)
        raws = _outputs_of(request, item_id)
        item = Item(item_id, sum(raw.amount for raw in raws), request.metadata)
        salt = secrets.token_bytes(SALT_BYTES)
        hashing = ItemHashing(salt, self.hasher.policy, item.total)
        outputs = self.hasher.hash_outputs(raws, {item_id: hashing}, client)
        record = MintRecord(item, hashing, outputs, key_hash)
        try:
            operation_id = self.ledger.record_mint(record)
        except errors.IdempotencyKeyTakenError as taken:
            return self._replay_mint(request, taken.operation, client)
        return Done(operation_id, Minted(item_id, raws))

    def swap(
        self, request: SwapRequest, idempotency_key: str | None, client: str
    ) -> Done[None]:
        """Replace the secrets of the inputs by those of the outputs, all or nothing."""
        check_swap(request)
        key_hash = self.hasher.hash_key(idempotency_key, client)
        operation = self.ledger.read_operation(key_hash)
        if operation is not None:
            return self._replay_swap(request, operation, client)
        items = self.ledger.read_items(item_ids_of(request.raws))
        check_items(request, items)
        record = self.hasher.hash_swap(request, items, key_hash, client)
        try:
            operation_id = self.ledger.record_swap(record)
        except errors.IdempotencyKeyTakenError as taken:
            return self._replay_swap(request, taken.operation, client)
        except errors.UsedSecretError as error:
            count_used_guess(error, request.outputs)
            raise
        return Done(operation_id, None)

    def check(self, raws: Sequence[RawOutput], client: str) -> list[OutputState]:
        """Return the state of each raw output, in order. Changes nothing."""
        found = self.finder.find(raws, client)
        return [each.state if each else OutputState.UNKNOWN for each in found]

    def find(self, request: FindRequest, client: str) -> list[FoundOutput | None]:
        """Return what is recorded under each strong secret, in order, or None.

        Changes nothing. Only somebody who knows such a secret can ask for it.
        """
        check_strong(request.secrets, "secrets")
        # Their amounts are what is asked for.
        raws = [RawOutput(1, request.item_id, each) for each in request.secrets]
        if not self.ledger.read_items(item_ids_of(raws)):
            raise errors.UnknownItemError
        found = self.finder.find_secrets(raws, client)
        return [
            FoundOutput(each.output.amount, each.state) if each else None
            for each in found
        ]

    def item(self, item_id: str) -> Item:
        """Return the item; raise ItemNotFoundError."""
        if not is_id(ITEM_ID_PREFIX, item_id):
            raise errors.ItemNotFoundError
        return self.ledger.read_item(item_id)

    def _replay_mint(
        self, request: MintRequest, operation: Operation, client: str
    ) -> Done[Minted]:
        if operation.item_id is None:
            raise errors.IdempotencyKeyReusedError(failed_secrets_count=1)
        item = self.ledger.read_item(operation.item_id)
        if item.metadata != request.metadata:
            raise errors.IdempotencyKeyReusedError(failed_secrets_count=1)
        raws = _outputs_of(request, item.id)
        check_same(operation, SwapRequest((), raws), self.finder, client)
        return Done(operation.id, Minted(item.id, raws), replayed=True)

    def _replay_swap(
        self, request: SwapRequest, operation: Operation, client: str
    ) -> Done[None]:
        if operation.offer_id is not None:
            raise errors.IdempotencyKeyReusedError(failed_secrets_count=1)
        check_same(operation, request, self.finder, client)
        return Done(operation.id, None, replayed=True)


def count_used_guess(
    error: errors.UsedSecretError, outputs: Sequence[RawOutput]
) -> None:
    """Count the output at fault as a guess, unless its secret is a strong one.

    A client learns from the error that somebody may have that secret.
    """
    index = error.index
    if index is not None and index < len(outputs):
        is_guess = not is_strong_secret(outputs[index].secret)
        error.failed_secrets_count = int(is_guess)


def _outputs_of(request: MintRequest, item_id: str) -> tuple[RawOutput, ...]:
    return tuple(RawOutput(new.amount, item_id, new.secret) for new in request.outputs)
