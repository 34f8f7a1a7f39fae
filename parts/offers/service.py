"""Makes, reads, completes and finds offers.

An offer reserves nothing and moves nothing. Its completion is the swap of both halves
(decision 0012, docs/decisions).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from deeds import errors
from deeds.model import FindRequest, ItemHashing, Operation, RawOutput, SwapRequest
from deeds.raw_output import is_id, is_strong_secret, make_id
from deeds.rules import check_balance, check_named_once, check_strong, units
from deeds.service import DeedService, count_used_guess
from parts.offers.errors import NotAnOfferError, OfferNotOpenError, UnknownOfferError
from parts.offers.ledger import (
    EXPIRES_IN_S_DEFAULT,
    OFFER_ID_PREFIX,
    CompletionRecord,
    Offer,
    OfferRecord,
    expires_at_s,
    find_offered,
    read_offer,
    read_offer_id,
    write_completion,
    write_offer,
    write_repetition,
)
from storage.database import Database

# Errors of a completion that may be raised only after its Idempotency-Key was checked.
_AFTER_KEY = (
    UnknownOfferError,
    OfferNotOpenError,
    errors.UnknownItemError,
    errors.UnbalancedError,
    errors.DuplicateInputError,
    errors.DuplicateSecretError,
    errors.UsedSecretError,
)


@dataclass(frozen=True, slots=True)
class OfferRequest(SwapRequest):
    """The maker's half of a swap, and for how many seconds it can be completed."""

    expires_in_s: int = EXPIRES_IN_S_DEFAULT


@dataclass(frozen=True, slots=True)
class OfferService:
    """Makes, reads, completes and finds offers. Stateless; thread-safe.

    `clock` returns milliseconds since 1970-01-01 UTC.
    """

    deeds: DeedService
    database: Database
    clock: Callable[[], int]

    def make(
        self, request: OfferRequest, idempotency_key: str | None, client: str
    ) -> tuple[Operation, Offer]:
        """Record half of a swap as an offer; return the operation and the offer."""
        check_named_once(request)
        check_strong([raw.secret for raw in request.outputs], "outputs")
        if not units(request.outputs) - units(request.inputs):
            raise NotAnOfferError
        items = self.deeds.read_hashings(request, idempotency_key, client)
        for item_id, amount in units(request.outputs).items():
            if amount > items[item_id].total:
                self.deeds.refuse_used(idempotency_key, client)
                raise errors.TotalTooLargeError(
                    "the outputs are more units of an item than there are"
                )
        inputs, outputs = self.deeds.hash_swap(request, items, client)
        kind = f"offer {request.expires_in_s}"
        key = self.deeds.hash_key(kind, idempotency_key, inputs, outputs, client)
        offer_id = make_id(OFFER_ID_PREFIX, self.deeds.token_bytes)
        record = OfferRecord(offer_id, inputs, outputs, request.expires_in_s, key)
        operation = self.database.write(write_offer, record)
        if operation.replayed:
            return operation, self.read(read_offer_id(self.database, operation))
        # Do not read it again, which could fail although the offer is recorded.
        at_s = expires_at_s(operation, request.expires_in_s)
        return operation, Offer(offer_id, "open", at_s, inputs, outputs)

    def read(self, offer_id: str) -> Offer:
        """Return the offer as it is now; raise UnknownOfferError."""
        if not is_id(OFFER_ID_PREFIX, offer_id):
            raise UnknownOfferError
        return read_offer(self.database, offer_id, self.clock())

    def find(self, request: FindRequest, client: str) -> list[bool]:
        """Return for each secret, in order, whether any offer has ever named it.

        Raises the errors of `DeedService.hash_secrets`.
        """
        outputs = self.deeds.hash_secrets(request, client)
        return find_offered(self.database, outputs)

    def complete(
        self,
        offer_id: str,
        request: SwapRequest,
        idempotency_key: str | None,
        client: str,
    ) -> Operation:
        """Swap the request and the half of the offer as one, all or nothing."""
        check_named_once(request)
        try:
            return self._complete(offer_id, request, idempotency_key, client)
        except _AFTER_KEY:
            # The key is checked before these errors: the request may be a repetition of
            # the one that completed the offer.
            if self.deeds.is_key_used(idempotency_key, client):
                return self._repeat(offer_id, request, idempotency_key, client)
            raise

    def _complete(
        self,
        offer_id: str,
        request: SwapRequest,
        idempotency_key: str | None,
        client: str,
    ) -> Operation:
        offer = self.read(offer_id)
        if offer.state != "open":
            raise _not_open(offer)
        items = self.deeds.read_hashings(request, None, client)
        check_balance(
            (*request.inputs, *offer.inputs), (*request.outputs, *offer.outputs)
        )
        half = self._hash(offer_id, request, items, idempotency_key, client)
        _check_apart(half, offer)
        completion = replace(
            half,
            inputs=half.inputs + offer.inputs,
            outputs=half.outputs + offer.outputs,
        )
        try:
            return self.database.write(write_completion, completion)
        except errors.DeedError as error:
            self._refuse_for_maker(error, offer_id, request)
            raise

    def _repeat(
        self,
        offer_id: str,
        request: SwapRequest,
        idempotency_key: str | None,
        client: str,
    ) -> Operation:
        """Return the completion with this key; raise IdempotencyKeyReusedError."""
        items = self.deeds.read_hashings(request, idempotency_key, client)
        half = self._hash(offer_id, request, items, idempotency_key, client)
        return self.database.write(write_repetition, half)

    def _hash(
        self,
        offer_id: str,
        request: SwapRequest,
        items: dict[str, ItemHashing],
        idempotency_key: str | None,
        client: str,
    ) -> CompletionRecord:
        """Return the completer's half."""
        inputs, outputs = self.deeds.hash_swap(request, items, client)
        kind = f"complete {offer_id}"
        key = self.deeds.hash_key(kind, idempotency_key, inputs, outputs, client)
        return CompletionRecord(offer_id, inputs, outputs, key)

    def _refuse_for_maker(
        self, error: errors.DeedError, offer_id: str, request: SwapRequest
    ) -> None:
        """Raise OfferNotOpenError if the error concerns the maker's half."""
        if isinstance(error, errors.UsedSecretError):
            half: Sequence[RawOutput] = request.outputs
            count_used_guess(error, half)
        elif isinstance(error, errors.UnknownInputError | errors.SpentInputError):
            half = request.inputs
        elif isinstance(error, OfferNotOpenError):
            half = ()
        else:
            return
        if error.index is None or error.index >= len(half):
            guesses = sum(not is_strong_secret(raw.secret) for raw in request.inputs)
            raise _not_open(self.read(offer_id), guesses) from None


def _not_open(offer: Offer, wrong_secrets: int = 0) -> errors.DeedError:
    if offer.state == "open":
        # It had expired, and the clock was set back since.
        return errors.LedgerUnavailableError("the clock of the service was set back")
    return OfferNotOpenError(
        f"the offer cannot be completed: its state is {offer.state}",
        wrong_secrets=wrong_secrets,
    )


def _check_apart(half: CompletionRecord, offer: Offer) -> None:
    """Raise an error if both halves name the same output.

    Does not compare the completer's outputs with the maker's inputs; the ledger does.
    Otherwise anybody could test guesses at the maker's secrets here.
    """
    spent = {output.key for output in offer.inputs}
    created = {output.key for output in offer.outputs}
    for index, output in enumerate(half.inputs):
        if output.key in spent:
            raise errors.DuplicateInputError(
                "the other half has this secret too", index=index
            )
    for index, output in enumerate(half.outputs):
        if output.key in created:
            raise errors.DuplicateSecretError(
                "the other half has this secret too", index=index
            )
    if any(output.key in created for output in half.inputs):
        raise errors.UsedSecretError(
            "an input has the secret of a new output of the offer"
        )
