"""Sends operations to the service, and asks for the state of outputs and offers.

Detects operations that were carried out after a refusal, and changes made by other
copies of the wallet.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from deeds_client.errors import CallError, FindingError, InvalidInputError, ProblemError
from deeds_client.records import (
    ENDED,
    MAKINGS,
    Operation,
    keys_of,
    made_by,
    milliseconds,
    named_by,
    now,
)
from deeds_client.seeds import Gathered, gather, items_to_look_at, schedule_look
from deeds_client.service import Deeds
from deeds_client.settling import (
    AT_REST,
    SURE,
    UNMADE,
    States,
    code_of,
    is_lost,
    note_states,
    settle_done,
)
from deeds_client.store import Store
from deeds_client.values import (
    CheckState,
    Kind,
    Offer,
    OfferState,
    OperationState,
    Output,
)

log = logging.getLogger("deeds_client")

# Time for the service to commit a completion that began before the offer expired.
_COMMIT = timedelta(minutes=1)
# If its limits changed, a service may refuse a carried-out operation with these codes.
_DOUBTS = ("invalid_request", "body_too_large", "idempotency_key_reused")


class Checker:
    """Sends the operations of a wallet, and settles them."""

    def __init__(self, store: Store, deeds: Deeds) -> None:
        self.store, self.deeds = store, deeds

    def resume(self) -> list[Operation]:
        """Send begun operations again, and return those that have ended.

        Operations without an answer stay begun. A claim at a door is left to that door.
        """
        keys = [
            operation.key
            for operation in self.store.operations("state", OperationState.BEGUN)
            if not operation.is_at_door
        ]
        for key in keys:
            try:
                self.finish(key)
            except (CallError, InvalidInputError) as error:
                # Another kind of server at this address raises InvalidInputError.
                if not _is_about_one(error):
                    break
        operations = [self.store.operation(key) for key in keys]
        ended = [one for one in operations if one.state != OperationState.BEGUN]
        for operation in ended:
            log.info("Resumed: %s is %s.", operation.kind, operation.state)
        return ended

    def finish(self, key: str, *, is_first: bool = False) -> Operation:
        """Send a begun operation or query an open offer, settle it and return it.

        `is_first` says that it was never sent before. Raise `ProblemError` if the
        service refuses; a final refusal is settled first.
        """
        operation = self._mark_sent_again(key, is_first=is_first)
        if operation.state in ENDED:
            return operation
        if operation.is_cancelled:
            return self._refuse(operation, "cancelled")
        try:
            answer = self._send(operation)
        except ProblemError as problem:
            # An earlier request may have been carried out before the service's limits
            # changed. For a mint, only an answer to the same request can show that.
            was_sent = not is_first or problem.attempts > 1
            is_unsure = was_sent and operation.kind == Kind.MINT
            # The service may not support offers.
            has_no_offers = operation.kind in MAKINGS and problem.code == "not_found"
            if is_unsure or not (problem.is_final or has_no_offers):
                raise
            operation = self._refuse(operation, problem.code, was_sent=was_sent)
            if operation.state == OperationState.REFUSED:
                raise
            return self.finish(key)
        if isinstance(answer, Offer):
            return self._settle_offer(key, answer)
        with self.store.transaction() as records:
            return settle_done(records, key, answer)

    def _mark_sent_again(self, key: str, *, is_first: bool) -> Operation:
        """Return an operation; mark a begun one as sent again unless `is_first`."""
        with self.store.transaction() as records:
            operation = records.operation(key)
            if is_first or operation.state != OperationState.BEGUN:
                return operation
            # If the process that began it receives a refusal now, this request may
            # still be carried out, so the refusal proves nothing.
            return records.put(replace(operation, is_unsent=False, is_sent_again=True))

    def _send(self, operation: Operation) -> Any:
        """Send an operation or query an offer; return it, an item id or None."""
        kind, offer_id = operation.kind, operation.offer_id
        if operation.state == OperationState.OPEN:
            return self.deeds.offer(offer_id)
        paths = {
            Kind.MINT: "/v1/mint",
            Kind.ASK: "/v1/offers",
            Kind.TRADE: "/v1/offers",
            Kind.COMPLETE: f"/v1/offers/{offer_id}/complete",
        }
        path = paths.get(kind, "/v1/swap")
        return self.deeds.send(path, operation.body.reveal(), operation.key)

    def _settle_offer(self, key: str, offer: Offer) -> Operation:
        with self.store.transaction() as records:
            operation = records.operation(key)
            if operation.state == OperationState.BEGUN:
                opened = replace(
                    operation,
                    state=OperationState.OPEN,
                    offer_id=offer.id,
                    expires_at=offer.expires_at,
                )
                operation = records.put(opened)
        is_late = now() < offer.expires_at + _COMMIT
        is_expiring = offer.state == OfferState.EXPIRED and is_late
        if offer.state == OfferState.OPEN or is_expiring:
            return operation
        return self._refuse(operation, f"offer_{offer.state}")

    def _refuse(
        self, operation: Operation, code: str, *, was_sent: bool = True
    ) -> Operation:
        """Settle a refused operation; it is done if it was carried out before."""
        key = operation.key
        states = self._states_of(self.store.outputs_with(keys_of(operation.inputs)))
        if was_sent and self._was_carried_out(operation, code, states):
            with self.store.transaction() as records:
                return settle_done(records, key)
        keys = [each for each in states if states[each] == CheckState.SPENT]
        if self._has_used_secrets(operation, code):
            keys = named_by(operation)
        gathered = self._gather(keys, key)
        states |= self._states_at_rest(gathered)
        with self.store.transaction() as records:
            current = records.operation(key)
            # Another process may have settled it, or may have sent it before this
            # refusal. An offer that is open by now was not refused.
            is_same = current.state == operation.state not in ENDED
            if is_same and (was_sent or not current.is_sent_again):
                refused = replace(
                    current,
                    state=OperationState.REFUSED,
                    code=code_of(records, current, code),
                    ended_at=now(),
                )
                records.put(refused)
            note_states(records, states, gathered, key)
            return records.operation(key)

    def _was_carried_out(self, operation: Operation, code: str, states: States) -> bool:
        """Return whether an operation refused with this code was carried out before.

        Its outputs prove nothing, because another copy of this wallet may have used the
        same numbers. Its key does: once an input is spent, the service either repeats
        its first answer or refuses.
        """
        if operation.kind in MAKINGS:
            return code == "offer_completed"
        if code in SURE or CheckState.SPENT not in states.values():
            return False
        try:
            self._send(replace(operation, state=OperationState.BEGUN))
        except ProblemError as problem:
            if not problem.is_final:
                raise
            if problem.code not in _DOUBTS:
                return False
        else:
            return True
        # The service did not look up its key. Outputs that exist are ours, whichever
        # copy of the wallet has made them.
        are_spent = {*states.values()} == {CheckState.SPENT}
        return are_spent and self._has_outputs(operation)

    def _has_outputs(self, operation: Operation) -> bool:
        """Return whether the service has all outputs of an operation."""
        # A payment may make no output, but it always completes an offer.
        if operation.kind == Kind.COMPLETE:
            offer = self.deeds.offer(operation.offer_id)
            if offer.state != OfferState.COMPLETED:
                return False
        return CheckState.UNKNOWN not in self.deeds.check(operation.outputs)

    def _has_used_secrets(self, operation: Operation, code: str) -> bool:
        """Return whether a copy of this wallet may have used an operation's secrets."""
        if code != "offer_expired":
            return code in ("used_secret", "offer_void")
        item_id = operation.outputs[0].item_id
        secrets = [output.secret for output in operation.outputs]
        return any(self.deeds.find(item_id, secrets))

    def _gather(self, keys: Iterable[str], refused: str = "") -> Gathered:
        """Search for unknown outputs of the items in these keys; return the findings.

        `refused` is the key of a refused operation. A finding is None if the service's
        answers contradict each other; that item is searched again later.
        """
        gathered: Gathered = {}
        for item_id in dict.fromkeys(key.partition(".")[0] for key in keys):
            try:
                gathered[item_id] = gather(self.store, self.deeds, item_id, refused)
            except FindingError:
                gathered[item_id] = None
                # Another copy may have moved units meanwhile: search again later.
                with self.store.transaction() as records:
                    schedule_look(records, item_id)
        return gathered

    def _states_at_rest(self, gathered: Gathered) -> dict[str, CheckState]:
        """Return the states of the outputs at rest of items that a copy has changed."""
        # The output of a payment request is made by its payer, not by a copy.
        open_offers = self.store.operations("state", OperationState.OPEN)
        awaited = {key for offer in open_offers for key in made_by(offer)}
        outputs: list[Output] = []
        for item_id, finding in gathered.items():
            places = finding.places if finding else ()
            if any(place.output.key not in awaited for place in places):
                outputs += self.store.outputs(item_id, *AT_REST)
        return self._states_of(outputs)

    def resume_all(self) -> None:
        """Resume begun operations and an unfinished search; log if that fails."""
        self.resume()
        try:
            self._look_at(items_to_look_at(self.store))
        except (CallError, FindingError, InvalidInputError) as error:
            log.warning("Searching for moved units is unfinished: %s", error)

    def sync(self, *, look: bool) -> list[Output]:
        """Update all records from the service: see `Wallet.sync`."""
        rows_before = set(self.store.rows())
        with self.store.transaction() as records:
            items = items_to_look_at(records)
            if look and not items:
                items = schedule_look(records)
        look_error = None
        try:
            self._look_at(items)
        except (CallError, FindingError) as error:
            # Still check the known outputs; raise the error at the end.
            look_error = error
        begun_at = now()
        self.resume()
        self._check()
        if self.resume():
            # Outputs of operations carried out long ago may be spent since.
            self._check()
        with self.store.transaction() as records:
            records.put_note("check", at=milliseconds(begun_at))
        if look_error:
            raise look_error
        rows = self.store.rows()
        return self.store.parse([row for row in rows if row not in rows_before])

    def _look_at(self, items: Sequence[str]) -> None:
        """Search items for outputs that the wallet does not know.

        Raise `FindingError` at the end if the answers for an item are contradictory.
        """
        if items:
            # Settle open offers first: a copy may have spent what they received.
            self._end_open()
        is_consistent = True
        for count, item_id in enumerate(items, start=1):
            gathered = self._gather([item_id])
            is_consistent &= None not in gathered.values()
            states = self._states_at_rest(gathered)
            with self.store.transaction() as records:
                note_states(records, states, gathered)
                records.put_note("look", left=items[count:])
            log.info("Looked at %d of %d items.", count, len(items))
        if not is_consistent:
            raise FindingError

    def _check(self) -> None:
        """Record the states of outputs that are at rest or not made."""
        # Outputs of a refused operation too: it may have been carried out after all.
        outputs = self.store.outputs("", *AT_REST, *UNMADE)
        states = self._states_of(outputs)
        new_states: dict[str, CheckState] = {}
        for output in outputs:
            state = states.get(output.key)
            is_known = output.state in AT_REST and not output.unknown
            if state and not (is_known and state == CheckState.UNSPENT):
                new_states[output.key] = state
        self._end_open()
        # Offers that have ended may have changed these outputs.
        changed = self.store.outputs_with(new_states)
        gathered = self._gather(
            output.key for output in changed if is_lost(output, new_states[output.key])
        )
        with self.store.transaction() as records:
            note_states(records, new_states, gathered)

    def _end_open(self) -> None:
        """Query the open offers of this wallet, and settle them."""
        for operation in self.store.operations("state", OperationState.OPEN):
            try:
                self.finish(operation.key)
            except ProblemError as problem:
                log.info("An offer was not answered: %s.", problem.code)

    def _states_of(self, outputs: Sequence[Output]) -> dict[str, CheckState]:
        """Return the states of outputs, by key.

        Omit "unknown" for an output that is not made: it says nothing.
        """
        states = self.deeds.check(outputs)
        return {
            output.key: state
            for output, state in zip(outputs, states, strict=True)
            if state != CheckState.UNKNOWN or output.state not in UNMADE
        }


def _is_about_one(error: CallError | InvalidInputError) -> bool:
    """Return whether an error concerns one operation, so that others may be sent.

    For example, a filter may block its content, or the pepper of its items is missing.
    """
    is_refused = isinstance(error, CallError) and error.status in range(400, 429)
    return is_refused or error.code == "scheme_unavailable"
