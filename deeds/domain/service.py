"""What this service does with deeds: mint, swap, check and read an item.

Each goes the same way: rules that need no ledger, reads, hashing with no transaction
open, and at most one short transaction.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from deeds.domain import errors
from deeds.domain.hashing import SALT_BYTES
from deeds.domain.idempotency import KeyHashes, Replays
from deeds.domain.model import (
    Answer,
    Done,
    Item,
    ItemSchemes,
    Minted,
    MintRecord,
    MintRequest,
    Operation,
    OutputState,
    RawOutput,
    RecordedOutput,
    SwapRecord,
    SwapRequest,
)
from deeds.domain.outputs import Locator, OutputLedger, check_items
from deeds.domain.raw_output import ITEM_ID_PREFIX, is_id, is_strong_secret, make_id
from deeds.domain.rules import check_mint, check_swap

# An item gets a scheme only after a change of settings, so a second try is already
# rare.
TRIES_MAX = 3


class Ledger(OutputLedger, Protocol):
    """The ledger. Every method is one transaction of its own.

    All of them raise `LedgerUnavailableError` when the database does not answer, and
    those that write `LedgerInDoubtError` when it broke off while committing, and
    `IdempotencyKeyTakenError` when an operation with their key hash was recorded
    meanwhile.
    """

    def read_item(self, item_id: str) -> Item:
        """Return the item; raise ItemNotFoundError if there is none."""

    def record_mint(self, record: MintRecord) -> int:
        """Create an item and its outputs; return the operation's id."""

    def record_swap(self, record: SwapRecord) -> int:
        """Spend the inputs and create the outputs, all or nothing.

        Return the operation's id.

        Raises:
            ItemSchemesChangedError: an item has other schemes than the record was
                hashed for.
            OfferNotOpenError: the offer that it completes was completed before or has
                expired.
            UnknownInputError: an input is not in the ledger with this digest and
                amount.
            SpentInputError: an input was spent before.
            UsedSecretError: an output, or one of its forbidden keys, is in the ledger
                already.
            UnbalancedError: the amounts do not balance.
        """


@dataclass(frozen=True, slots=True)
class DeedService:
    """Joins the rules, the hashing and the ledger. Stateless; any thread may call it.

    A DeedError says that a request breaks a rule or cannot be carried out; then nothing
    moved.
    """

    ledger: Ledger
    locator: Locator
    replays: Replays

    def mint(
        self, request: MintRequest, idempotency_key: str | None = None
    ) -> Done[Minted]:
        """Create an item with the outputs of the request."""
        check_mint(request)
        return self.replays.once(
            idempotency_key,
            partial(self._mint, request),
            partial(self._replay_mint, request),
        )

    def swap(
        self, request: SwapRequest, idempotency_key: str | None = None
    ) -> Done[None]:
        """Replace the secrets of the inputs by those of the outputs, all or nothing."""
        check_swap(request)
        return self.replays.once(
            idempotency_key,
            partial(self._swap, request),
            partial(self._replay_swap, request),
        )

    def check(self, raws: Sequence[RawOutput]) -> list[OutputState]:
        """Return the state of each raw output, in order. Changes nothing."""
        found = self.locator.find(raws, self.locator.read_items(raws))
        return [_state(recorded) for recorded in found]

    def item(self, item_id: str) -> Item:
        """Return the item; raise ItemNotFoundError."""
        if not is_id(ITEM_ID_PREFIX, item_id):
            raise errors.ItemNotFoundError
        return self.ledger.read_item(item_id)

    def write_swap(
        self,
        request: SwapRequest,
        items: Mapping[str, ItemSchemes],
        key_hashes: KeyHashes,
        join: Callable[[SwapRecord], SwapRecord] = lambda record: record,
    ) -> int:
        """Hash a request, join the half of an offer to it, and record both as one swap.

        `items` holds the items of both, or ItemSchemesChangedError is raised. An error
        of the half that joined has an index past the end of the request's array.
        """
        try:
            record = self.locator.hash_swap(request, items, key_hashes)
            return self.ledger.record_swap(join(record))
        except errors.UsedSecretError as error:
            # A client learns from it that somebody may have that secret: a guess like
            # others.
            at_fault = () if error.index is None else request.outputs[error.index :][:1]
            error.failed_secrets_count = sum(
                not is_strong_secret(raw.secret) for raw in at_fault
            )
            raise

    def _mint(self, request: MintRequest, key_hashes: KeyHashes) -> Done[Minted]:
        item_id, salt = make_id(ITEM_ID_PREFIX), secrets.token_bytes(SALT_BYTES)
        raws = _outputs_of(request, item_id)
        outputs = self.locator.hash(
            [self.locator.new_candidate(raw, salt) for raw in raws]
        )
        item = Item(item_id, sum(raw.amount for raw in raws), request.metadata)
        record = MintRecord(item, salt, tuple(outputs), key_hashes)
        return Done(self.ledger.record_mint(record), Minted(item_id, raws))

    def _swap(self, request: SwapRequest, key_hashes: KeyHashes) -> Done[None]:
        def attempt(*, may_be_stale: bool) -> Done[None]:
            items = self.locator.read_items(request.inputs, may_be_stale=may_be_stale)
            check_items(request, items)
            return Done(self.write_swap(request, items, key_hashes), None)

        return retry_schemes(attempt)

    def _replay_mint(self, request: MintRequest, operation: Operation) -> Done[Minted]:
        item = self.ledger.read_item(operation.item_id) if operation.item_id else None
        if item is None or item.metadata != request.metadata:
            raise errors.IdempotencyKeyReusedError(failed_secrets_count=1)
        raws = _outputs_of(request, item.id)
        self.replays.check_same(operation, (), raws)
        return Done(operation.id, Minted(item.id, raws), replayed=True)

    def _replay_swap(self, request: SwapRequest, operation: Operation) -> Done[None]:
        if operation.offer_id is not None:
            raise errors.IdempotencyKeyReusedError(failed_secrets_count=1)
        self.replays.check_same(operation, request.inputs, request.outputs)
        return Done(operation.id, None, replayed=True)


def retry_schemes(attempt: Callable[..., Answer]) -> Answer:
    """Return what the attempt answers, trying again where the schemes of an item have changed.

    It is called with `may_be_stale`: whether what it reads of items may be.
    """
    for tries_count in range(TRIES_MAX):
        try:
            return attempt(may_be_stale=tries_count == 0)
        except errors.ItemSchemesChangedError:
            continue
    raise errors.OverloadedError(
        "the hash schemes of an item change faster than it can be read"
    )


def _outputs_of(request: MintRequest, item_id: str) -> tuple[RawOutput, ...]:
    return tuple(RawOutput(new.amount, item_id, new.secret) for new in request.outputs)


def _state(recorded: RecordedOutput | None) -> OutputState:
    if recorded is None:
        return OutputState.UNKNOWN
    return OutputState.UNSPENT if recorded.spent_by is None else OutputState.SPENT
