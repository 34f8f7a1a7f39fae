"""How operations end: sends what was begun, and asks what became of outputs and offers.

Two processes may settle one operation, and a request may be carried out long after it was given up.
So that both are told the truth, "done" may follow "refused", and nothing follows "done".
"""

import json
from collections.abc import Callable

from deeds_client.errors import DeedsError, NoAnswerError, ProblemError, WalletError
from deeds_client.records import Record, Store, key_of, now_ms, output_of
from deeds_client.service import Deeds
from deeds_client.values import Offer

_AT_REST = ("held", "offered", "given")
_UNMADE = ("coming", "void")
_METADATA_NAMES = ("name", "description", "image")


def link_parts(links: Record, room: int) -> list[Record]:
    """Return the parts that one operation makes of a series of links.

    These are all `count` links of `each` units, numbered on from `from`, or one less than there is
    `room` for and a part that is split later.
    """
    count, each, first = links["count"], links["each"], links["from"]
    of = links.get("of") or first + count - 1
    if room < min(count, 2):
        raise WalletError("too_many", "The service takes one output at a time.")
    ready = count if count <= room else room - 1
    parts = [{"amount": each, "number": first + place, "of": of} for place in range(ready)]
    if count > ready:
        rest = (count - ready) * each
        parts.append({"amount": rest, "number": first + ready, "of": of, "each": each})
    return parts


class Settler:
    """Sends the operations of a wallet, and settles them; without an answer they stay begun."""

    def __init__(self, store: Store, deeds: Deeds) -> None:
        self.store, self.deeds = store, deeds

    def resume(self) -> list[Record]:
        """Send again what was begun; what has no answer stays so. Return what has ended by that."""
        begun = [operation["key"] for operation in self.store.all("operations", "begun")]
        for key in begun:
            try:
                self.finish(key)
            except ProblemError as problem:
                # A missing pepper is the trouble of some items only.
                if problem.retry_after_s and problem.code != "scheme_unavailable":
                    break
            except NoAnswerError as lost:
                # A filter before the service may refuse one for what is in it.
                if lost.status not in range(400, 429):
                    break
            except DeedsError:
                break
        found = [self.store.get("operations", key) for key in begun]
        return [operation for operation in found if operation["state"] != "begun"]

    def finish(self, key: str, *, is_first: bool = False) -> Record:
        """Send an operation that was begun, or ask for an offer of ours that is open; settle it.

        Return it as it is then, empty if there is none of this key. Raise `ProblemError` when the
        service refuses it for good, after that is settled too.
        """
        operation = self.store.get("operations", key)
        if operation.get("state") not in ("begun", "open"):
            return operation
        try:
            item_id, offer = self._send(operation)
        except ProblemError as problem:
            # What a mint may have made before, under other limits, nothing but its answer tells.
            was_sent = not is_first or problem.attempts > 1
            if not problem.is_final or (was_sent and operation["kind"] == "mint"):
                raise
            if self._refuse(operation, problem.code)["state"] == "refused":
                raise
            return self.finish(key)
        if offer:
            noted = self._note_offer(key, offer)
            return noted if offer.state == "open" else self._refuse(noted, f"offer_{offer.state}")
        with self.store.transaction():
            return self._settle_done(key, item_id)

    def _send(self, operation: Record) -> tuple[str | None, Offer | None]:
        """Return the item of a mint's answer, and the offer of one that is about an offer."""
        kind, body, key = operation["kind"], operation["body"], operation["key"]
        if operation["state"] == "open":
            return None, self.deeds.offer(operation["offerId"])
        if kind in ("ask", "trade"):
            return None, Offer.from_answer(self.deeds.send("/v1/offers", body, key))
        paths = {"mint": "/v1/mint", "complete": f"/v1/offers/{operation.get('offerId')}/complete"}
        return self.deeds.send(paths.get(kind, "/v1/swap"), body, key).get("itemId"), None

    def _note_offer(self, key: str, offer: Offer) -> Record:
        with self.store.transaction():
            operation = self.store.get("operations", key)
            if operation["state"] == "begun":
                expires_at = int(offer.expires_at.timestamp() * 1000)
                about = {"state": "open", "offerId": offer.id, "expiresAt": expires_at}
                operation = self.store.put("operations", {**operation, **about})
            return operation

    def _refuse(self, operation: Record, code: str) -> Record:
        """Settle what the service refused, unless it turns out to have been carried out before."""
        made = [output["key"] for output in operation["outputs"]]
        states = self._states([*operation["inputs"], *made])
        with self.store.transaction():
            current = self.store.get("operations", operation["key"])
            # One that is open by now was not refused; another process may have settled it.
            if current["state"] == operation["state"] != "done":
                inputs = map(self.store.output, current["inputs"])
                ours = {each["state"] for each in inputs if not each.get("spentElsewhere")}
                # We have spent what the offer put in, or are about to.
                if current["state"] == "open" and ours & {"spent", "leaving"}:
                    code = "offer_withdrawn"
                ended = {"state": "refused", "code": code, "endedAt": now_ms()}
                self.store.put("operations", {**current, **ended})
            self._note_states(states)
            return self.store.get("operations", operation["key"])

    def _states(self, keys: list[str]) -> dict[str, str]:
        """Return what the service says of outputs. Of one to be made, "unknown" says nothing."""
        outputs = [self.store.output(key) for key in keys]
        raws = [output_of(each) for each in outputs]
        found = zip(outputs, self.deeds.check(raws) if raws else [], strict=True)
        return {
            output["key"]: state
            for output, state in found
            if state != "unknown" or output["state"] not in _UNMADE
        }

    def check(self, told: Callable[[int, int], None] = lambda _done, _of: None) -> list[Record]:
        """Ask in batches what of ours is still unspent, and what became of open offers.

        Return the outputs that changed. `told` is called with how many were asked for, of how many.
        """
        size = self.deeds.info().array_length_max
        # What a refused operation would have made too: it may have been carried out after all.
        before = self.store.outputs("", *_AT_REST, *_UNMADE)
        offers = [operation["key"] for operation in self.store.all("operations", "open")]
        for start in range(0, len(before), size):
            states = self._states([each["key"] for each in before[start : start + size]])
            with self.store.transaction():
                self._note_states(states)
            told(min(start + size, len(before)), len(before))
        for key in offers:
            self.finish(key)
        after = [self.store.output(each["key"]) for each in before]
        return [new for old, new in zip(before, after, strict=True) if new != old]

    def _settle_done(self, key: str, item_id: str | None = None) -> Record:
        """The service has carried the operation out; `item_id` is what a mint has made."""
        operation = self.store.get("operations", key)
        if operation["state"] == "done":
            return operation
        if operation["kind"] == "mint":
            operation |= {"itemId": item_id, "outputs": self._add_minted(operation, str(item_id))}
        for each in operation["inputs"]:
            collected = {"collectedAt": now_ms()} if operation.get("atDoor") else {}
            self.store.change(each, spentElsewhere=None, unknown=None, **collected)
        ended = {"state": "done", "code": None, "endedAt": now_ms()}
        return self.store.put("operations", {**operation, **ended})

    def _add_minted(self, minting: Record, item_id: str) -> list[Record]:
        """Add what the mint has made, and what is known of the item: its name is there offline.

        A secret that a person made may have been told to others by now: it counts as handed out.
        """
        asked, links, own = minting["body"]["outputs"], minting.get("links"), minting.get("own", [])
        metadata = minting["body"].get("metadata")
        # As the registry writes it.
        ordered = {name: metadata[name] for name in _METADATA_NAMES if name in (metadata or ())}
        text = json.dumps(ordered, ensure_ascii=False, separators=(",", ":")) if metadata else None
        item = {"key": item_id, "id": item_id, "total": minting["amount"], "metadata": text}
        item |= {"unit": minting.get("unit"), **self.store.get("items", item_id)}
        self.store.put("items", {**item, "isMinted": True})
        made = []
        for place, part in enumerate(link_parts(links, len(asked)) if links else asked):
            output = {**part, **asked[place], "itemId": item_id}
            if place in own:
                output["givenAt"] = now_ms()
            # A link may have named it before, with another amount.
            self.store.change(key_of(output), **output)
            made.append({"key": key_of(output), "state": "given" if place in own else "held"})
        return made

    def _note_states(self, states: dict[str, str]) -> None:
        for key, found in states.items():
            output = self.store.output(key)
            # What is there was made, whatever was said before.
            if found != "unknown" and output["state"] in _UNMADE:
                self._settle_done(output["operation"])
        refused = self.store.all("operations", "refused") if "spent" in states.values() else []
        for key, found in states.items():
            state, is_gone = self.store.output(key)["state"], found == "spent"
            # What is under way may be spent by its own operation.
            if state in ("seen", *_AT_REST):
                is_unknown = found == "unknown"
                self.store.change(key, spentElsewhere=is_gone or None, unknown=is_unknown or None)
            # One of ours may have been spent by what was refused. That is never carried out now:
            # the answer is that of the time when it was, or a refusal for good.
            for operation in refused if is_gone and state in _AT_REST else ():
                if key in operation["inputs"] and operation["code"] != "spent_input":
                    self.store.put("operations", {**operation, "state": "begun", "code": None})
