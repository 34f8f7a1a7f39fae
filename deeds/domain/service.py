"""The four things this service does: mint, swap, check and read an item.

Each goes the same way: rules that need no ledger, reads, hashing with no transaction open, and at
most one short transaction.
"""

import secrets

from deeds.domain.errors import (
    IdempotencyKeyTakenError,
    ItemNotFoundError,
    ItemSchemesChangedError,
    OverloadedError,
    UnknownInputError,
    UnknownItemError,
    UsedSecretError,
)
from deeds.domain.hashing import SALT_BYTES
from deeds.domain.idempotency import KeyHashes, Replayer
from deeds.domain.model import (
    CheckRequest,
    Item,
    Minted,
    MintRecord,
    MintRequest,
    OutputState,
    RawOutput,
    RecordedOutput,
    Swapped,
    SwapRecord,
    SwapRequest,
)
from deeds.domain.outputs import Locator
from deeds.domain.protocols import Ledger
from deeds.domain.raw_output import is_item_id, is_strong_secret, make_item_id
from deeds.domain.rules import check_mint, check_swap

# An item gets a scheme only after a change of settings, so a second try is already rare.
TRIES_MAX = 3


class DeedService:
    """Joins the rules, the hashing and the ledger. Stateless; any thread may call it."""

    def __init__(self, ledger: Ledger, locator: Locator, replayer: Replayer) -> None:
        self._ledger = ledger
        self._locator = locator
        self._replayer = replayer

    def mint(self, request: MintRequest, idempotency_key: str | None = None) -> Minted:
        """Create an item with the outputs of the request.

        Raises:
            DeedError: the request breaks a rule, or the service cannot take it now. Nothing moved.
        """
        check_mint(request)
        hashes = self._replayer.hash_key(idempotency_key)
        if operation := self._replayer.find(hashes):
            return self._replayer.replay_mint(operation, request)
        item_id, salt = make_item_id(), secrets.token_bytes(SALT_BYTES)
        raws = tuple(RawOutput(new.amount, item_id, new.secret) for new in request.outputs)
        outputs = self._locator.hash([self._locator.new_candidate(raw, salt) for raw in raws])
        item = Item(item_id, sum(raw.amount for raw in raws), request.metadata)
        try:
            operation_id = self._ledger.record_mint(MintRecord(item, salt, tuple(outputs), hashes))
        except IdempotencyKeyTakenError:
            return self._replayer.replay_mint(self._replayer.get(hashes), request)
        return Minted(item_id, raws, operation_id)

    def swap(self, request: SwapRequest, idempotency_key: str | None = None) -> Swapped:
        """Replace the secrets of the inputs by those of the outputs, all or nothing.

        Raises:
            DeedError: the request breaks a rule, an input cannot be spent, a secret was used
                before, or the service cannot take it now. Nothing moved.
        """
        check_swap(request)
        hashes = self._replayer.hash_key(idempotency_key)
        if operation := self._replayer.find(hashes):
            return self._replayer.replay_swap(operation, request)
        for tries_count in range(TRIES_MAX):
            try:
                record = self._hash(request, hashes, may_be_stale=tries_count == 0)
                return Swapped(self._ledger.record_swap(record))
            except IdempotencyKeyTakenError:
                return self._replayer.replay_swap(self._replayer.get(hashes), request)
            except ItemSchemesChangedError:
                continue
            except UsedSecretError as error:
                # A client learns from it that somebody may have that secret: a guess like others.
                is_guess = not is_strong_secret(request.outputs[error.index or 0].secret)
                error.failed_secrets_count = int(is_guess)
                raise
        raise OverloadedError("the hash schemes of an item change faster than it can be read")

    def check(self, request: CheckRequest) -> list[OutputState]:
        """Return the state of each raw output, in order. Changes nothing."""
        items = self._locator.read_items(request.outputs)
        return [_state(recorded) for recorded in self._locator.find(request.outputs, items)]

    def item(self, item_id: str) -> Item:
        """Return the item.

        Raises:
            ItemNotFoundError: no item has this id.
        """
        item = self._ledger.read_item(item_id) if is_item_id(item_id) else None
        if item is None:
            raise ItemNotFoundError
        return item

    def _hash(
        self, request: SwapRequest, key_hashes: KeyHashes, *, may_be_stale: bool
    ) -> SwapRecord:
        """Return what the swap writes.

        Raises:
            ItemSchemesChangedError: what is remembered of an item is out of date.
        """
        items = self._locator.read_items(request.inputs, may_be_stale=may_be_stale)
        # The swap balances, so its outputs name no item that its inputs do not.
        unknown = [index for index, raw in enumerate(request.inputs) if raw.item_id not in items]
        if unknown:
            raise UnknownItemError(index=unknown[0], failed_secrets_count=len(unknown))
        try:
            return self._locator.hash_swap(request, items, key_hashes)
        except UnknownInputError:
            if items == self._locator.read_items(request.inputs):
                raise
            raise ItemSchemesChangedError from None


def _state(recorded: RecordedOutput | None) -> OutputState:
    if recorded is None:
        return OutputState.UNKNOWN
    return OutputState.UNSPENT if recorded.spent_by is None else OutputState.SPENT
