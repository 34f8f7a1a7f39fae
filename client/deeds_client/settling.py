"""How operations end: sends what was begun, and asks what became of outputs and offers.

Two processes may settle one operation, and a request may be carried out long after it
was given up. So that both are told the truth, "done" may follow "refused", and nothing
follows "done".
"""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from deeds_client.errors import DeedsError, ProblemError
from deeds_client.records import Record, Store, key_of, now_ms, output_of
from deeds_client.service import Deeds
from deeds_client.values import Offer

_AT_REST = ("held", "offered", "given")
_UNMADE = ("coming", "void")
_METADATA_NAMES = ("name", "description", "image")


class Settler:
    """Sends the operations of a wallet, and settles them.

    Without an answer they stay begun.
    """

    def __init__(self, store: Store, deeds: Deeds) -> None:
        self._store, self._deeds = store, deeds

    def resume(self) -> list[Record]:
        """Send again what was begun; what has no answer stays so.

        Return what has ended by that.
        """
        begun = [
            operation["key"] for operation in self._store.all("operations", "begun")
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
        with self._store.transaction():
            operation = self._store.get("operations", key)
            if operation.get("state") not in ("begun", "open"):
                return operation
            if not is_first and operation["kind"] == "mint":
                # Whoever began it may be told of a refusal meanwhile.
                operation |= {"isSentAgain": True}
                self._store.put("operations", operation)
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
            noted = self._note_offer(key, answer)
            return (
                noted
                if answer.state == "open"
                else self._refuse(noted, f"offer_{answer.state}")
            )
        with self._store.transaction():
            return self._settle_done(key, answer.get("itemId"))

    def _send(self, operation: Record) -> Any:
        """Return what the service answers, or the offer that an operation is about."""
        kind, body, key = operation["kind"], operation["body"], operation["key"]
        if operation["state"] == "open":
            return self._deeds.offer(operation["offerId"])
        if kind in ("ask", "trade"):
            return Offer.from_answer(self._deeds.send("/v1/offers", body, key))
        paths = {
            "mint": "/v1/mint",
            "complete": f"/v1/offers/{operation.get('offerId')}/complete",
        }
        return self._deeds.send(paths.get(kind, "/v1/swap"), body, key)

    def _note_offer(self, key: str, offer: Offer) -> Record:
        with self._store.transaction():
            operation = self._store.get("operations", key)
            if operation["state"] == "begun":
                expires_at = int(offer.expires_at.timestamp() * 1000)
                about = {"state": "open", "offerId": offer.id, "expiresAt": expires_at}
                operation = self._store.put("operations", {**operation, **about})
            return operation

    def _refuse(self, operation: Record, code: str) -> Record:
        """Settle what the service refused, unless it was carried out before."""
        made = [output["key"] for output in operation["outputs"]]
        states = self._ask([*operation["inputs"], *made])
        with self._store.transaction():
            current = self._store.get("operations", operation["key"])
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
            self._note(states)
            return self._store.get("operations", operation["key"])

    def check(
        self, told: Callable[[int, int], None] = lambda _done, _of: None
    ) -> list[Record]:
        """Ask in batches what of ours is still unspent, and what became of open offers.

        Return the outputs that changed. `told` is called with how many were asked for,
        of how many.
        """
        size = self._deeds.info().array_length_max
        # What a refused operation would have made too: it may have been carried out
        # after all.
        before = self._store.outputs("", *_AT_REST, *_UNMADE)
        for start in range(0, len(before), size):
            states = self._ask([each["key"] for each in before[start : start + size]])
            with self._store.transaction():
                self._note(states)
            told(min(start + size, len(before)), len(before))
        for operation in self._store.all("operations", "open"):
            with suppress(ProblemError):
                self.finish(operation["key"])
        self.resume()
        after = [self._store.output(each["key"]) for each in before]
        return [new for old, new in zip(before, after, strict=True) if new != old]

    def _ask(self, keys: list[str]) -> dict[str, str]:
        """Return what the service says of outputs.

        Of one to be made, "unknown" says nothing.
        """
        outputs = [self._store.output(key) for key in keys]
        found = zip(
            outputs, self._deeds.check(list(map(output_of, outputs))), strict=True
        )
        return {
            output["key"]: state
            for output, state in found
            if state != "unknown" or output["state"] not in _UNMADE
        }

    def _note(self, states: dict[str, str]) -> None:
        for key, found in states.items():
            output = self._store.output(key)
            # What is there was made, whatever was said before.
            if found != "unknown" and output["state"] in _UNMADE:
                self._settle_done(output["operation"])
        refused = (
            self._store.all("operations", "refused")
            if "spent" in states.values()
            else []
        )
        for key, found in states.items():
            state, is_gone = self._store.output(key)["state"], found == "spent"
            # What is under way may be spent by its own operation.
            if state in ("seen", *_AT_REST):
                is_unknown = found == "unknown"
                self._store.change(
                    key, spentElsewhere=is_gone or None, unknown=is_unknown or None
                )
            # One of ours may have been spent by what was refused. That is never carried
            # out now: the answer is that of the time when it was, or a refusal for
            # good.
            for operation in refused if is_gone and state in _AT_REST else ():
                if key in operation["inputs"] and operation["code"] != "spent_input":
                    self._store.put(
                        "operations", {**operation, "state": "begun", "code": None}
                    )

    def _settle_done(self, key: str, item_id: str | None = None) -> Record:
        """The service has carried the operation out.

        `item_id` is what a mint has made.
        """
        operation = self._store.get("operations", key)
        if operation["state"] == "done":
            return operation
        if item_id and operation["kind"] == "mint":
            operation |= {
                "itemId": item_id,
                "outputs": self._add_minted(operation, item_id),
            }
        for each in operation["inputs"]:
            self._store.change(each, spentElsewhere=None, unknown=None)
        ended = {"state": "done", "code": None, "endedAt": now_ms()}
        return self._store.put("operations", {**operation, **ended})

    def _add_minted(self, minting: Record, item_id: str) -> list[Record]:
        """Add what the mint has made, and what is known of the item.

        Its name is there offline.
        """
        metadata = minting["body"].get("metadata", {})
        # As the registry writes it.
        ordered = {name: metadata[name] for name in _METADATA_NAMES if name in metadata}
        text = json.dumps(ordered, ensure_ascii=False, separators=(",", ":"))
        item = {
            "key": item_id,
            "id": item_id,
            "total": minting["amount"],
            "isMinted": True,
        }
        item["unit"] = minting.get("unit")
        self._store.put("items", {**item, "metadata": text if ordered else None})
        made = []
        for place, part in enumerate(minting["body"]["outputs"]):
            # A secret that a person made may have been told to others by now.
            is_given = place in minting.get("own", ())
            output = {
                **part,
                "itemId": item_id,
                "givenAt": now_ms() if is_given else None,
            }
            self._store.change(key_of(output), **output)
            made.append(
                {"key": key_of(output), "state": "given" if is_given else "held"}
            )
        return made
