"""The four things this service does: mint, swap, check and read an item.

Each goes the same way: rules that need no ledger, reads, hashing with no transaction open, and at
most one short transaction.
"""

import secrets
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from deeds.domain.errors import (
    IdempotencyKeyReusedError,
    IdempotencyKeyTakenError,
    ItemNotFoundError,
    ItemSchemesChangedError,
    LedgerUnavailableError,
    OverloadedError,
    UnknownInputError,
    UnknownItemError,
    UsedSecretError,
)
from deeds.domain.hashing import SALT_BYTES, Hasher
from deeds.domain.idempotency import KeyHashes, hash_key
from deeds.domain.model import (
    CheckRequest,
    Item,
    Minted,
    MintRecord,
    MintRequest,
    Operation,
    OutputState,
    RawOutput,
    RecordedOutput,
    Swapped,
    SwapRecord,
    SwapRequest,
)
from deeds.domain.outputs import Locator, OutputLedger, check_found
from deeds.domain.raw_output import is_item_id, is_strong_secret, make_item_id
from deeds.domain.rules import check_mint, check_swap
from deeds.domain.schemes import HashSchemes

# An item gets a scheme only after a change of settings, so a second try is already rare.
TRIES_MAX = 3

Answer = TypeVar("Answer")


class Ledger(OutputLedger, Protocol):
    """The ledger. Every method is one transaction of its own.

    All of them raise `LedgerUnavailableError` when the database does not answer, and those that
    write `LedgerInDoubtError` when it broke off while committing.
    """

    def read_item(self, item_id: str) -> Item:
        """Return the item; raise ItemNotFoundError if there is none."""

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


class DeedService:
    """Joins the rules, the hashing and the ledger. Stateless; any thread may call it.

    The ledger itself records what was answered under an Idempotency-Key: an operation is replayed
    for a request that names the very outputs which that operation spent and created. So nothing is
    stored that a secret could be guessed from (docs/decisions/0003-idempotency-in-the-ledger.md).
    """

    def __init__(self, ledger: Ledger, schemes: HashSchemes, hasher: Hasher) -> None:
        self._ledger = ledger
        self._schemes = schemes
        self._hasher = hasher
        self._locator = Locator(ledger, schemes, hasher)

    def mint(self, request: MintRequest, idempotency_key: str | None = None) -> Minted:
        """Create an item with the outputs of the request.

        Raises:
            DeedError: the request breaks a rule, or the service cannot take it now. Nothing moved.
        """
        check_mint(request)
        return self._once(
            idempotency_key, partial(self._mint, request), partial(self._replay_mint, request)
        )

    def swap(self, request: SwapRequest, idempotency_key: str | None = None) -> Swapped:
        """Replace the secrets of the inputs by those of the outputs, all or nothing.

        Raises:
            DeedError: the request breaks a rule, an input cannot be spent, a secret was used
                before, or the service cannot take it now. Nothing moved.
        """
        check_swap(request)
        return self._once(
            idempotency_key, partial(self._swap, request), partial(self._replay_swap, request)
        )

    def check(self, request: CheckRequest) -> list[OutputState]:
        """Return the state of each raw output, in order. Changes nothing."""
        items = self._locator.read_items(request.outputs)
        return [_state(recorded) for recorded in self._locator.find(request.outputs, items)]

    def item(self, item_id: str) -> Item:
        """Return the item.

        Raises:
            ItemNotFoundError: no item has this id.
        """
        if not is_item_id(item_id):
            raise ItemNotFoundError
        return self._ledger.read_item(item_id)

    def _once(
        self,
        key: str | None,
        work: Callable[[KeyHashes], Answer],
        replay: Callable[[Operation], Answer],
    ) -> Answer:
        """Return what the work answers, or the first answer to a request with this key."""
        hashes = () if key is None else hash_key(key, self._schemes, self._hasher)
        operation = self._ledger.read_operation(hashes) if hashes else None
        if operation is None:
            try:
                return work(hashes)
            except IdempotencyKeyTakenError:
                operation = self._ledger.read_operation(hashes)
        if operation is None:
            # Only if the ledger was put back to an older state in between.
            raise LedgerUnavailableError("the ledger has lost the record of this Idempotency-Key")
        return replay(operation)

    def _mint(self, request: MintRequest, key_hashes: KeyHashes) -> Minted:
        item_id, salt = make_item_id(), secrets.token_bytes(SALT_BYTES)
        raws = _outputs_of(request, item_id)
        outputs = self._locator.hash([self._locator.new_candidate(raw, salt) for raw in raws])
        item = Item(item_id, sum(raw.amount for raw in raws), request.metadata)
        record = MintRecord(item, salt, tuple(outputs), key_hashes)
        return Minted(item_id, raws, self._ledger.record_mint(record))

    def _swap(self, request: SwapRequest, key_hashes: KeyHashes) -> Swapped:
        for tries_count in range(TRIES_MAX):
            items = self._locator.read_items(request.inputs, may_be_stale=tries_count == 0)
            # The swap balances, so its outputs name no item that its inputs do not.
            check_found([raw.item_id in items for raw in request.inputs], UnknownItemError)
            try:
                record = self._locator.hash_swap(request, items, key_hashes)
                return Swapped(self._ledger.record_swap(record))
            except ItemSchemesChangedError:
                continue
            except UnknownInputError:
                if items == self._locator.read_items(request.inputs):
                    raise
            except UsedSecretError as error:
                # A client learns from it that somebody may have that secret: a guess like others.
                is_guess = not is_strong_secret(request.outputs[error.index or 0].secret)
                error.failed_secrets_count = int(is_guess)
                raise
        raise OverloadedError("the hash schemes of an item change faster than it can be read")

    def _replay_mint(self, request: MintRequest, operation: Operation) -> Minted:
        item = self._ledger.read_item(operation.item_id) if operation.item_id else None
        if item is None or item.metadata != request.metadata:
            raise IdempotencyKeyReusedError(failed_secrets_count=1)
        raws = _outputs_of(request, item.id)
        self._check_same(operation, (), raws)
        return Minted(item.id, raws, operation.id, replayed=True)

    def _replay_swap(self, request: SwapRequest, operation: Operation) -> Swapped:
        self._check_same(operation, request.inputs, request.outputs)
        return Swapped(operation.id, replayed=True)

    def _check_same(
        self, operation: Operation, inputs: Sequence[RawOutput], outputs: Sequence[RawOutput]
    ) -> None:
        """Raise IdempotencyKeyReusedError unless the operation spent and created just these."""
        if (len(inputs), len(outputs)) != (operation.inputs_count, operation.outputs_count):
            raise IdempotencyKeyReusedError(failed_secrets_count=1)
        raws = [*inputs, *outputs]
        found = self._locator.find(raws, self._locator.read_items(raws))
        operation_ids = {each and each.spent_by for each in found[: len(inputs)]}
        operation_ids |= {each and each.created_by for each in found[len(inputs) :]}
        if operation_ids != {operation.id}:
            raise IdempotencyKeyReusedError(failed_secrets_count=max(1, found.count(None)))


def _outputs_of(request: MintRequest, item_id: str) -> tuple[RawOutput, ...]:
    return tuple(RawOutput(new.amount, item_id, new.secret) for new in request.outputs)


def _state(recorded: RecordedOutput | None) -> OutputState:
    if recorded is None:
        return OutputState.UNKNOWN
    return OutputState.UNSPENT if recorded.spent_by is None else OutputState.SPENT
