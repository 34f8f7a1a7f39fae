"""Offers (contract part 3): half a swap that somebody else completes.

An offer reserves nothing and moves nothing. Its completion is the swap of both halves,
recorded as any other swap (docs/decisions/0012-offers-reserve-nothing.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from deeds.domain import errors
from deeds.domain.hashing import Hasher
from deeds.domain.idempotency import check_same
from deeds.domain.model import (
    Done,
    Offer,
    OfferRecord,
    OfferRequest,
    OfferState,
    Operation,
    OperationKind,
    Output,
    SwapRecord,
    SwapRequest,
    Units,
)
from deeds.domain.outputs import OutputFinder
from deeds.domain.raw_output import (
    OFFER_ID_PREFIX,
    is_id,
    is_strong_secret,
    make_id,
)
from deeds.domain.rules import (
    check_balance,
    check_items,
    check_named_once,
    check_offer,
    excess,
    item_ids_of,
)
from deeds.domain.service import Ledger, count_used_guess


class OfferLedger(Ledger, Protocol):
    """What the ledger keeps of offers. Every method is one transaction of its own."""

    def record_offer(self, record: OfferRecord) -> tuple[int, int]:
        """Record the offer.

        Returns the operation's id and the second in which the offer expires. Raises
        what `Ledger.record_swap` does for a half that cannot be a part of a swap now.
        """

    def read_offer(self, offer_id: str) -> OfferRecord | None:
        """Return the offer in its state."""


@dataclass(frozen=True, slots=True)
class OfferService:
    """Makes, reads and completes offers. Stateless; any thread may call it."""

    ledger: OfferLedger
    hasher: Hasher
    finder: OutputFinder

    def make(
        self, request: OfferRequest, idempotency_key: str | None, client: str
    ) -> Done[Offer]:
        """Record the half of a swap as an offer."""
        check_offer(request)
        key_hash = self.hasher.hash_key(idempotency_key, client)
        operation = self.ledger.read_operation(key_hash)
        if operation is not None:
            return self._replay_making(request, operation, client)
        items = self.ledger.read_items(item_ids_of(request.raws))
        check_items(request, items)
        for item_id, units in excess(request.outputs).items():
            if units > items[item_id].total:
                raise errors.TotalTooLargeError(
                    "the outputs are more units of an item than there are"
                )
        half = self.hasher.hash_swap(request, items, key_hash, client)
        record = OfferRecord(make_id(OFFER_ID_PREFIX), half, request.expires_in_s)
        try:
            operation_id, expires_at_s = self.ledger.record_offer(record)
        except errors.IdempotencyKeyTakenError as taken:
            return self._replay_making(request, taken.operation, client)
        made = replace(record, expires_at_s=expires_at_s)
        return Done(operation_id, _told(made))

    def read(self, offer_id: str) -> Offer:
        """Return the offer as it is now; raise UnknownOfferError."""
        return _told(self._read(offer_id))

    def complete(
        self,
        offer_id: str,
        request: SwapRequest,
        idempotency_key: str | None,
        client: str,
    ) -> Done[None]:
        """Swap the request and the half of the offer as one, all or nothing."""
        check_named_once(request)
        key_hash = self.hasher.hash_key(idempotency_key, client)
        operation = self.ledger.read_operation(key_hash)
        if operation is not None:
            return self._replay_completion(offer_id, request, operation, client)
        offer = self._read(offer_id)
        if offer.state is not OfferState.OPEN:
            return self._replay_or_refuse(offer, request, key_hash, client)
        half = offer.half
        items = self.ledger.read_items(item_ids_of(request.raws))
        check_items(request, items)
        check_balance(
            (*request.inputs, *half.inputs), (*request.outputs, *half.outputs)
        )
        mine = self.hasher.hash_swap(request, items, key_hash, client)
        try:
            operation_id = self.ledger.record_swap(join(mine, offer))
        except errors.IdempotencyKeyTakenError as taken:
            return self._replay_completion(offer_id, request, taken.operation, client)
        except _EITHER_HALF as error:
            if not _is_of(request, error):
                ended = self._read(offer_id)
                guesses = [r for r in request.inputs if not is_strong_secret(r.secret)]
                return self._replay_or_refuse(
                    ended, request, key_hash, client, len(guesses)
                )
            if isinstance(error, errors.UsedSecretError):
                count_used_guess(error, request.outputs)
            raise
        return Done(operation_id, None)

    def _replay_making(
        self, request: OfferRequest, operation: Operation, client: str
    ) -> Done[Offer]:
        record = self._find(operation.offer_id or "")
        is_making = operation.kind is OperationKind.OFFER
        if (
            record is None
            or not is_making
            or record.expires_in_s != request.expires_in_s
        ):
            raise errors.IdempotencyKeyReusedError(failed_secrets_count=1)
        items = self.ledger.read_items(item_ids_of(request.raws))
        if any(raw.item_id not in items for raw in request.raws):
            raise errors.IdempotencyKeyReusedError(failed_secrets_count=1)
        half = self.hasher.hash_swap(request, items, None, client)
        inputs, outputs = set(half.inputs), set(half.outputs)
        if inputs != set(record.half.inputs) or outputs != set(record.half.outputs):
            wrong_count = len(inputs.difference(record.half.inputs))
            raise errors.IdempotencyKeyReusedError(
                failed_secrets_count=max(1, wrong_count)
            )
        return Done(operation.id, _told(record), replayed=True)

    def _replay_completion(
        self, offer_id: str, request: SwapRequest, operation: Operation, client: str
    ) -> Done[None]:
        completed = (operation.kind, operation.offer_id)
        if completed != (OperationKind.SWAP, offer_id):
            raise errors.IdempotencyKeyReusedError(failed_secrets_count=1)
        half = self._read(offer_id).half
        check_same(operation, request, self.finder, client, half)
        return Done(operation.id, None, replayed=True)

    def _replay_or_refuse(
        self,
        offer: OfferRecord,
        request: SwapRequest,
        key_hash: bytes | None,
        client: str,
        guesses_count: int = 0,
    ) -> Done[None]:
        """Replay the completion by a twin of the request, or refuse a late one."""
        operation = self.ledger.read_operation(key_hash)
        if operation is not None:
            return self._replay_completion(offer.id, request, operation, client)
        if offer.state is OfferState.OPEN:
            # It had expired, and the clock was set back since.
            raise errors.LedgerUnavailableError("the clock of the service was set back")
        raise errors.OfferNotOpenError(
            f"the offer cannot be completed: its state is {offer.state}",
            failed_secrets_count=guesses_count,
        )

    def _read(self, offer_id: str) -> OfferRecord:
        record = self._find(offer_id)
        if record is None:
            raise errors.UnknownOfferError
        return record

    def _find(self, offer_id: str) -> OfferRecord | None:
        if not is_id(OFFER_ID_PREFIX, offer_id):
            return None
        return self.ledger.read_offer(offer_id)


# The errors of a joined swap that either half may have caused.
_EITHER_HALF = (
    errors.OfferNotOpenError,
    errors.SpentInputError,
    errors.UnknownInputError,
    errors.UsedSecretError,
)


def join(mine: SwapRecord, offer: OfferRecord) -> SwapRecord:
    """Return the swap of the completer's half followed by the maker's.

    Raises DuplicateInputError where both spend one output, DuplicateSecretError where
    both create one, and UsedSecretError where one creates what the other spends.
    """
    theirs = offer.half
    _check_apart(mine.inputs, theirs.inputs, errors.DuplicateInputError)
    _check_apart(mine.outputs, theirs.outputs, errors.DuplicateSecretError)
    # The maker's inputs are in the ledger, which refuses to create them again: only
    # there, so that nobody without inputs of his own can test guesses at their secrets.
    spent = {output.key for output in mine.inputs}
    if any(output.key in spent for output in theirs.outputs):
        raise errors.UsedSecretError(
            "an input has the secret of a new output of the offer"
        )
    return SwapRecord(
        inputs=mine.inputs + theirs.inputs,
        outputs=mine.outputs + theirs.outputs,
        idempotency_key_hash=mine.idempotency_key_hash,
        offer_id=offer.id,
    )


def _check_apart(
    mine: tuple[Output, ...],
    theirs: tuple[Output, ...],
    error: type[errors.DeedError],
) -> None:
    keys = {output.key for output in theirs}
    for index, output in enumerate(mine):
        if output.key in keys:
            raise error("the other half has this secret too", index=index)


def _is_of(request: SwapRequest, error: errors.DeedError) -> bool:
    """Return whether an error of the joined swap is one of the request's own half."""
    if isinstance(error, errors.OfferNotOpenError):
        return False
    is_output = isinstance(error, errors.UsedSecretError)
    array = request.outputs if is_output else request.inputs
    return error.index is None or error.index < len(array)


def _told(record: OfferRecord) -> Offer:
    inputs, outputs = record.half.inputs, record.half.outputs
    gives = _units(excess(inputs, outputs))
    wants = _units(excess(outputs, inputs))
    expires_at = datetime.fromtimestamp(record.expires_at_s, UTC)
    return Offer(record.id, record.state, gives, wants, expires_at)


def _units(amounts: Mapping[str, int]) -> tuple[Units, ...]:
    return tuple(Units(*each) for each in amounts.items())
