"""Asks the service: sends what was begun, asks what became of outputs and offers.

Finds what was carried out after its refusal, and what another copy of the wallet did.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from deeds_client.errors import DeedsError, FindingError, ProblemError
from deeds_client.finding import (
    Gathered,
    ask_for_look,
    gather,
    items_to_look_at,
)
from deeds_client.records import Record, Store, now_ms, output_of
from deeds_client.service import Deeds
from deeds_client.settling import (
    AT_REST,
    SURE,
    UNMADE,
    is_at_door,
    is_lost,
    made_by,
    note,
    settle_done,
)
from deeds_client.values import Offer, Output

# Is called with how much is done, of how much.
Told = Callable[[int, int], None]
_MAKINGS = ("ask", "trade")
# What a service may say of what it has carried out, once its limits are others.
_DOUBTS = ("invalid_request", "body_too_large", "idempotency_key_reused")


def untold(_done: int, _of: int) -> None:
    """Tell nobody."""


class Checker:
    """Sends the operations of a wallet, and settles them.

    Without an answer they stay begun.
    """

    def __init__(self, store: Store, deeds: Deeds) -> None:
        self._store, self._deeds = store, deeds

    def resume(self) -> list[Record]:
        """Send again what was begun; what has no answer stays so.

        A claim at a door of the page is left to that door. Return what has ended by
        that.
        """
        begun = [
            operation["key"]
            for operation in self._store.all("operations", "begun")
            if not is_at_door(operation)
        ]
        for key in begun:
            try:
                self.finish(key)
            except DeedsError as error:
                # A filter may keep one back for what is in it, and no pepper is for
                # some items.
                status, code = getattr(error, "status", 0), getattr(error, "code", "")
                if status not in range(400, 429) and code != "scheme_unavailable":
                    break
        found = [self._store.get("operations", key) for key in begun]
        return [operation for operation in found if operation["state"] != "begun"]

    def finish(self, key: str, *, is_first: bool = False) -> Record:
        """Send an operation that was begun, or ask for an offer of ours that is open.

        Settle it.

        Return it as it is then, empty if there is none of this key. Raise
        `ProblemError` when the service refuses it for good, after that is settled too.
        """
        operation = self._set_out(key, is_first=is_first)
        if operation.get("state") not in ("begun", "open"):
            return operation
        if operation.get("isCancelled"):
            return self._refuse(operation, "cancelled")
        try:
            answer = self._send(operation)
        except ProblemError as problem:
            # What a mint may have made before, under other limits, nothing but its
            # answer tells.
            was_sent = not is_first or problem.attempts > 1
            if not problem.is_final or (was_sent and operation["kind"] == "mint"):
                raise
            if self._refuse(operation, problem.code)["state"] == "refused":
                raise
            return self.finish(key)
        if isinstance(answer, Offer):
            return self._settle_offer(key, answer)
        with self._store.transaction():
            return settle_done(self._store, key, answer.get("itemId"))

    def _set_out(self, key: str, *, is_first: bool) -> Record:
        """Return an operation. From now on it may have reached the service."""
        with self._store.transaction():
            operation = self._store.get("operations", key)
            if is_first or operation.get("state") != "begun":
                return operation
            operation.pop("isUnsent", None)
            if operation["kind"] == "mint":
                # Whoever began it may be told of a refusal meanwhile.
                operation["isSentAgain"] = True
            return self._store.put("operations", operation)

    def _send(self, operation: Record) -> Any:
        """Return what the service answers, or the offer that an operation is about."""
        kind, body, key = operation["kind"], operation["body"], operation["key"]
        if operation["state"] == "open":
            return self._deeds.offer(operation["offerId"])
        if kind in _MAKINGS:
            return Offer.from_answer(self._deeds.send("/v1/offers", body, key))
        paths = {
            "mint": "/v1/mint",
            "complete": f"/v1/offers/{operation.get('offerId')}/complete",
        }
        return self._deeds.send(paths.get(kind, "/v1/swap"), body, key)

    def _settle_offer(self, key: str, offer: Offer) -> Record:
        with self._store.transaction():
            operation = self._store.get("operations", key)
            if operation["state"] == "begun":
                expires_at = int(offer.expires_at.timestamp() * 1000)
                about = {"state": "open", "offerId": offer.id, "expiresAt": expires_at}
                operation = self._store.put("operations", {**operation, **about})
        if offer.state == "open":
            return operation
        return self._refuse(operation, f"offer_{offer.state}")

    def _refuse(self, operation: Record, code: str) -> Record:
        """Settle what the service refused, unless it was carried out before."""
        key = operation["key"]
        states = self._ask([self._store.output(each) for each in operation["inputs"]])
        if self._was_carried_out(operation, code, states):
            with self._store.transaction():
                return settle_done(self._store, key)
        named = [each for each, state in states.items() if state == "spent"]
        if self._is_used(operation, code):
            named = [*operation["inputs"], *made_by(operation)]
        gathered = self._gather(named, key)
        with self._store.transaction():
            current = self._store.get("operations", key)
            # One that is open by now was not refused; another process may have settled
            # it, or have made a mint before this one was refused.
            is_same = current["state"] == operation["state"] != "done"
            if is_same and "isSentAgain" not in current:
                inputs = map(self._store.output, current["inputs"])
                ours = {
                    each["state"] for each in inputs if not each.get("spentElsewhere")
                }
                # We have spent what the offer put in, or are about to.
                if current["state"] == "open" and ours & {"spent", "leaving"}:
                    code = "offer_withdrawn"
                ended = {"state": "refused", "code": code, "endedAt": now_ms()}
                self._store.put("operations", {**current, **ended})
            note(self._store, states, gathered, key)
            return self._store.get("operations", key)

    def _was_carried_out(
        self, operation: Record, code: str, states: dict[str, str]
    ) -> bool:
        """Return whether what was refused with this code was carried out before.

        That its outputs are there does not tell: another copy of this wallet may have
        used the same numbers. Its key does: once an input is spent, the same request
        cannot be carried out any more, and is answered as the first time or refused.
        """
        if operation["kind"] in _MAKINGS:
            return code == "offer_completed"
        if code in SURE or "spent" not in states.values():
            return False
        try:
            self._send({**operation, "state": "begun"})
        except ProblemError as problem:
            if not problem.is_final:
                raise
            if problem.code not in _DOUBTS:
                return False
        else:
            return True
        # Its key was not looked up. What is there is ours, whichever copy has made it.
        return {*states.values()} == {"spent"} and self._is_there(operation)

    def _is_there(self, operation: Record) -> bool:
        """Return whether all is there that an operation makes."""
        # A payment may make nothing but the end of an offer.
        if operation["kind"] == "complete":
            offer = self._deeds.offer(operation["offerId"])
            if offer.state != "completed":
                return False
        return "unknown" not in self._deeds.check(_made(operation))

    def _is_used(self, operation: Record, code: str) -> bool:
        """Return whether another copy may have used a number of what was refused."""
        if code != "offer_expired":
            return code in ("used_secret", "offer_void")
        made = _made(operation)
        return any(self._deeds.find(made[0].item_id, [each.secret for each in made]))

    def _gather(self, keys: Iterable[str], refused: str = "") -> Gathered:
        """Return what is found of the items of these outputs."""
        gathered: Gathered = {}
        for item_id in dict.fromkeys(key.partition(".")[0] for key in keys):
            try:
                gathered[item_id] = gather(self._store, self._deeds, item_id, refused)
            except FindingError:
                gathered[item_id] = None
                # Another copy may have moved units meanwhile: a look asks again.
                with self._store.transaction() as records:
                    ask_for_look(records, item_id)
        return gathered

    def look(self, told: Told = untold) -> list[Record]:
        """Look at every item for outputs of ours that the wallet does not know.

        Or go on with a look that was broken off. Then check. Return what was found.
        `told` is called with how many items were looked at, of how many. Raise
        `FindingError` at the end, of items of which the answer cannot be true.
        """
        with self._store.transaction() as records:
            items = items_to_look_at(records) or ask_for_look(records)
        # A copy may have used what they get.
        self._end_open()
        found, are_right = [], True
        for done, item_id in enumerate(items, start=1):
            gathered = self._gather([item_id])
            are_right &= None not in gathered.values()
            with self._store.transaction() as records:
                found += note(records, {}, gathered)
                records.put("notes", {"key": "look", "left": items[done:]})
            told(done, len(items))
        self.check()
        if not are_right:
            raise FindingError
        return [self._store.output(each["key"]) for each in found]

    def check(self, told: Told = untold) -> list[Record]:
        """Ask in batches what of ours is still unspent, and what became of open offers.

        Return the outputs that changed. `told` is called with how many were asked for,
        of how many.
        """
        begun_at = now_ms()
        known = self._store.outputs()
        self.resume()
        self._check(told)
        if self.resume():
            # What was carried out long ago may be spent since.
            self._check(untold)
        with self._store.transaction() as records:
            records.put("notes", {"key": "check", "at": begun_at})
        after = {each["key"]: each for each in self._store.outputs()}
        return [after[each["key"]] for each in known if after[each["key"]] != each]

    def _check(self, told: Told) -> None:
        """Note what the service says of what is at rest, or to be made."""
        size = self._deeds.info().array_length_max
        # What a refused operation would have made too: it may have been carried out
        # after all.
        before = self._store.outputs("", *AT_REST, *UNMADE)
        news = {}
        for start in range(0, len(before), size):
            batch = before[start : start + size]
            states = self._ask(batch)
            for each in batch:
                state = states.get(each["key"])
                is_known = each["state"] in AT_REST and "unknown" not in each
                if state and not (is_known and state == "unspent"):
                    news[each["key"]] = state
            told(start + len(batch), len(before))
        self._end_open()
        lost = [key for key in news if is_lost(self._store.output(key), news[key])]
        gathered = self._gather(lost)
        with self._store.transaction() as records:
            note(records, news, gathered)

    def _end_open(self) -> None:
        """Ask what became of offers of ours."""
        for operation in self._store.all("operations", "open"):
            with suppress(ProblemError):
                self.finish(operation["key"])

    def _ask(self, outputs: list[Record]) -> dict[str, str]:
        """Return what the service says of outputs.

        Of one to be made, "unknown" says nothing.
        """
        states = self._deeds.check(list(map(output_of, outputs)))
        return {
            output["key"]: state
            for output, state in zip(outputs, states, strict=True)
            if state != "unknown" or output["state"] not in UNMADE
        }


def _made(operation: Record) -> list[Output]:
    return list(map(Output.parse, operation["body"]["outputs"]))
