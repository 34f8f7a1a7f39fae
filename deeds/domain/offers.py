"""Offers (contract part 3).

Half a swap that somebody else completes with the other half.

An offer reserves nothing and moves nothing. Its completion is the swap of both halves,
recorded as any other swap (docs/decisions/0012-offers-reserve-nothing.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

from deeds.domain import errors
from deeds.domain.idempotency import KeyHashes, Replays
from deeds.domain.model import (
    Done,
    ItemSchemes,
    Offer,
    OfferRecord,
    OfferRequest,
    OfferState,
    Operation,
    OperationKind,
    Output,
    RawOutput,
    SecretClass,
    SwapRecord,
    SwapRequest,
    Units,
)
from deeds.domain.outputs import Candidate, Locator, check_items, schemes_added
from deeds.domain.raw_output import OFFER_ID_PREFIX, is_id, make_id
from deeds.domain.rules import check_balance, check_named_once, check_offer, excess
from deeds.domain.service import DeedService, retry_schemes

# The errors of a joined swap that either half may have caused.
_EITHER_HALF = (
    errors.OfferNotOpenError,
    errors.SpentInputError,
    errors.UnknownInputError,
    errors.UsedSecretError,
)


class OfferLedger(Protocol):
    """What the ledger keeps of offers. Every method is one transaction of its own."""

    def record_offer(self, record: OfferRecord) -> tuple[int, int]:
        """Record the offer.

        Return the operation's id and the second in which it expires.

        Raises what `Ledger.record_swap` does for a half that cannot be a part of a swap
        now.
        """

    def read_offer(self, offer_id: str, scheme_id: int) -> OfferRecord | None:
        """Return the offer, in its state to a process with this current strong scheme."""


@dataclass(frozen=True, slots=True)
class OfferService:
    """Makes, reads and completes offers. Stateless; any thread may call it."""

    ledger: OfferLedger
    locator: Locator
    replays: Replays
    deeds: DeedService

    def make(
        self, request: OfferRequest, idempotency_key: str | None = None
    ) -> Done[Offer]:
        """Record the half of a swap as an offer."""
        check_offer(request)
        return self.replays.once(
            idempotency_key,
            partial(self._make, request),
            partial(self._replay_making, request),
        )

    def read(self, offer_id: str) -> Offer:
        """Return the offer as it is now; raise UnknownOfferError."""
        return _told(self._read(offer_id))

    def complete(
        self, offer_id: str, request: SwapRequest, idempotency_key: str | None = None
    ) -> Done[None]:
        """Swap the request and the half of the offer as one, all or nothing."""
        check_named_once(request)
        return self.replays.once(
            idempotency_key,
            partial(self._complete, offer_id, request),
            partial(self._replay_completion, offer_id, request),
        )

    def _make(self, request: OfferRequest, key_hashes: KeyHashes) -> Done[Offer]:
        def attempt(**_any: bool) -> Done[Offer]:
            items = self.locator.read_items([*request.inputs, *request.outputs])
            check_items(request, items)
            if any(
                units > items[each].total
                for each, units in excess(request.outputs).items()
            ):
                raise errors.TotalTooLargeError(
                    "the outputs are more units of an item than there are"
                )
            half = self.locator.hash_swap(request, items, key_hashes)
            scheme_id = self._current_scheme_id()
            record = OfferRecord(
                make_id(OFFER_ID_PREFIX), half, scheme_id, request.expires_in_s
            )
            operation_id, expires_at_s = self.ledger.record_offer(record)
            return Done(operation_id, _told(replace(record, expires_at_s=expires_at_s)))

        return retry_schemes(attempt)

    def _replay_making(
        self, request: OfferRequest, operation: Operation
    ) -> Done[Offer]:
        record = self._find(operation.offer_id or "")
        is_making = operation.kind is OperationKind.OFFER
        if not record or not is_making or record.expires_in_s != request.expires_in_s:
            raise errors.IdempotencyKeyReusedError(failed_secrets_count=1)
        inputs, outputs = request.inputs, request.outputs
        items = self.locator.read_items([*inputs, *outputs])
        scheme = self.locator.schemes.usable(record.scheme_id)
        if scheme is None or any(
            raw.item_id not in items for raw in (*inputs, *outputs)
        ):
            raise errors.IdempotencyKeyReusedError(failed_secrets_count=1)
        found = self.locator.find(inputs, items)
        hashed = self.locator.hash(
            [Candidate(raw, items[raw.item_id].salt, scheme) for raw in outputs]
        )
        is_same = {each and each.output for each in found} == set(record.half.inputs)
        if not is_same or set(hashed) != set(record.half.outputs):
            raise errors.IdempotencyKeyReusedError(
                failed_secrets_count=max(1, found.count(None))
            )
        return Done(operation.id, _told(record), replayed=True)

    def _complete(
        self, offer_id: str, request: SwapRequest, key_hashes: KeyHashes
    ) -> Done[None]:
        def attempt(*, may_be_stale: bool) -> Done[None]:
            offer = self._read(offer_id)
            if offer.state is not OfferState.OPEN:
                raise _not_open(offer)
            inputs: tuple[RawOutput | Output, ...] = (
                *request.inputs,
                *offer.half.inputs,
            )
            outputs: tuple[RawOutput | Output, ...] = (
                *request.outputs,
                *offer.half.outputs,
            )
            # A scheme that an item has got since the state was judged ends the swap.
            items = self.locator.read_items(
                [*inputs, *outputs], may_be_stale=may_be_stale
            )
            check_items(request, items)
            check_balance(inputs, outputs)
            try:
                joined = partial(join, offer=offer, items=items)
                return Done(
                    self.deeds.write_swap(request, items, key_hashes, joined), None
                )
            except _EITHER_HALF as error:
                if _is_of(request, error):
                    raise
                raise self._ended(offer_id) from None

        return retry_schemes(attempt)

    def _replay_completion(
        self, offer_id: str, request: SwapRequest, operation: Operation
    ) -> Done[None]:
        if (operation.kind, operation.offer_id) != (OperationKind.SWAP, offer_id):
            raise errors.IdempotencyKeyReusedError(failed_secrets_count=1)
        half = self._read(offer_id).half
        self.replays.check_same(operation, request.inputs, request.outputs, half)
        return Done(operation.id, None, replayed=True)

    def _read(self, offer_id: str) -> OfferRecord:
        record = self._find(offer_id)
        if record is None:
            raise errors.UnknownOfferError
        return record

    def _find(self, offer_id: str) -> OfferRecord | None:
        if not is_id(OFFER_ID_PREFIX, offer_id):
            return None
        return self.ledger.read_offer(offer_id, self._current_scheme_id())

    def _current_scheme_id(self) -> int:
        return self.locator.schemes.current[SecretClass.STRONG].id

    def _ended(self, offer_id: str) -> Exception:
        """Return the error that says what the offer has become while it was being completed."""
        offer = self._read(offer_id)
        # It is open only where a clock was set back: then the completion is tried
        # again.
        return (
            errors.ItemSchemesChangedError()
            if offer.state is OfferState.OPEN
            else _not_open(offer)
        )


def join(
    mine: SwapRecord, offer: OfferRecord, items: Mapping[str, ItemSchemes]
) -> SwapRecord:
    """Return the swap of the completer's half followed by the maker's.

    Raises DuplicateInputError where both spend one output, DuplicateSecretError where
    both create one, and UsedSecretError where one creates what the other spends.
    """
    theirs = offer.half
    _check_apart(mine.inputs, theirs.inputs, errors.DuplicateInputError)
    _check_apart(mine.outputs, theirs.outputs, errors.DuplicateSecretError)
    # The maker's inputs are in the ledger, which refuses to create them again: only
    # there, so that nobody without inputs of his own can test guesses at their secrets.
    if {output.key for output in theirs.outputs} & {each.key for each in mine.inputs}:
        raise errors.UsedSecretError(
            "an input has the secret of a new output of the offer"
        )
    forbidden = dict.fromkeys(theirs.outputs_forbidden, len(mine.outputs))
    return SwapRecord(
        inputs=mine.inputs + theirs.inputs,
        outputs=mine.outputs + theirs.outputs,
        outputs_forbidden=forbidden | dict(mine.outputs_forbidden),
        schemes_counts=mine.schemes_counts,
        schemes_added=mine.schemes_added | schemes_added(theirs.outputs, items),
        idempotency_key_hashes=mine.idempotency_key_hashes,
        offer_id=offer.id,
    )


def _check_apart(
    mine: tuple[Output, ...], theirs: tuple[Output, ...], error: type[errors.DeedError]
) -> None:
    keys = {output.key for output in theirs}
    shared = next(
        (index for index, output in enumerate(mine) if output.key in keys), None
    )
    if shared is not None:
        raise error("the other half has this secret too", index=shared)


def _is_of(request: SwapRequest, error: errors.DeedError) -> bool:
    """Return whether an error of the joined swap is one of the request's own half."""
    if isinstance(error, errors.OfferNotOpenError):
        return False
    array = (
        request.outputs if isinstance(error, errors.UsedSecretError) else request.inputs
    )
    return error.index is None or error.index < len(array)


def _not_open(offer: OfferRecord) -> errors.OfferNotOpenError:
    return errors.OfferNotOpenError(
        f"the offer cannot be completed: its state is {offer.state}"
    )


def _told(record: OfferRecord) -> Offer:
    inputs, outputs = record.half.inputs, record.half.outputs
    gives, wants = excess(inputs, outputs), excess(outputs, inputs)
    expires_at = datetime.fromtimestamp(record.expires_at_s, UTC)
    return Offer(record.id, record.state, _units(gives), _units(wants), expires_at)


def _units(amounts: Mapping[str, int]) -> tuple[Units, ...]:
    return tuple(Units(*each) for each in amounts.items())
