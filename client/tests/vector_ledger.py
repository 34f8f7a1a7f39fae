"""A small ledger for vectors of verbs: it answers as docs/contract.md says.

A test in test_client_vectors.py compares its answers with those of the service.
"""

from collections import Counter
from datetime import UTC, datetime

from deeds_client.record_format import compact
from deeds_client.values import AMOUNT_MAX, Output, Secret


class RefusedError(Exception):
    def __init__(self, code, status=400):
        self.code, self.status = code, status


def parsed(raws):
    return [Output.parse(raw) for raw in raws]


def units(outputs):
    """Return the units of each item."""
    sums = Counter()
    for output in outputs:
        sums[output.item_id] += output.amount
    return sums


def refuse_twice(outputs, code):
    keys = [output.key for output in outputs]
    if len({*keys}) < len(keys):
        raise RefusedError(code)


class Ledger:
    """Items, offers and outputs as a vector has them.

    `item_ids` and `offer_ids` are taken in order, `now_ms` tells the time.
    """

    def __init__(self, vector, now_ms):
        told = vector["ledger"]
        self.items, self.offers = dict(told["items"]), dict(told["offers"])
        self.states = dict(told["outputs"])
        self._kept = {each["key"]: each for each in told.get("kept", [])}
        self._item_ids = iter(vector.get("itemIds", []))
        self._offer_ids = iter(vector.get("offerIds", []))
        self._length_max, self._now_ms = vector["arrayLengthMax"], now_ms

    def told(self):
        return {"items": self.items, "outputs": self.states, "offers": self.offers}

    def unused_ids(self):
        return [*self._item_ids, *self._offer_ids]

    def answer(self, path, body=None, key=None):
        """Return the status and the JSON of an answer; without a body it is a GET."""
        try:
            return 200, self._read(path, body) or self._write(path, body, key)
        except RefusedError as refused:
            problem = {"code": refused.code, "title": "Refused", "detail": "Refused."}
            return refused.status, {**problem, "isFinal": True}

    def _read(self, path, body):
        if path == "/v1/info":
            limits = {"arrayLengthMax": self._length_max}
            return {"version": "0.0.1", "limits": limits, "minting": "open"}
        if path == "/v1/check":
            known = [self.states.get(raw, "unknown") for raw in body["outputs"]]
            return {"states": known}
        if path.endswith("/find"):
            return self._find(path, body)
        if body is None:
            name = path.rpartition("/")[2]
            return self._offer(name) if "/offers/" in path else self._item(name)
        return None

    def _item(self, item_id):
        if item_id not in self.items:
            raise RefusedError("item_not_found", 404)
        return {"id": item_id, **self.items[item_id]}

    def _find(self, path, body):
        item_id = body["itemId"]
        if item_id not in self.items:
            raise RefusedError("unknown_item")
        keys = [f"{item_id}.{secret}" for secret in body["secrets"]]
        if path == "/v1/offers/find":
            named = self._keys(
                raw for offer in self.offers.values() for raw in offer["outputs"]
            )
            return {"offered": [key in named for key in keys]}
        known = self._keys(self.states)
        found = [
            {"amount": known[key].amount, "state": self.states[known[key].raw]}
            if key in known
            else None
            for key in keys
        ]
        return {"outputs": found}

    def _keys(self, raws):
        return {output.key: output for output in parsed(raws)}

    def _offer(self, offer_id):
        if offer_id not in self.offers:
            raise RefusedError("unknown_offer", 404)
        offer = self.offers[offer_id]
        inputs, outputs = (
            units(parsed(offer["inputs"])),
            units(parsed(offer["outputs"])),
        )
        expires_at = datetime.fromtimestamp(offer["expiresAt"] // 1000, UTC)
        return {
            "offerId": offer_id,
            "state": self._state(offer),
            "gives": _listed(inputs - outputs),
            "wants": _listed(outputs - inputs),
            "expiresAt": f"{expires_at:%Y-%m-%dT%H:%M:%SZ}",
        }

    def _state(self, offer):
        if offer.get("isCompleted"):
            return "completed"
        if self._now_ms() >= offer["expiresAt"]:
            return "expired"
        is_spent = any(self.states[raw] == "spent" for raw in offer["inputs"])
        used = self._keys(self.states).keys() & self._keys(offer["outputs"]).keys()
        return "void" if is_spent or used else "open"

    def _write(self, path, body, key):
        if path == "/v1/mint":
            inputs = []
            outputs = [
                Output(each["amount"], "deed_", Secret(each["secret"]))
                for each in body["outputs"]
            ]
        else:
            inputs, outputs = parsed(body["inputs"]), parsed(body["outputs"])
        refuse_twice(inputs, "duplicate_input")
        refuse_twice(outputs, "duplicate_secret")
        if path == "/v1/offers" and not units(outputs) - units(inputs):
            raise RefusedError("not_an_offer")
        kept = self._kept.get(key)
        if kept:
            if (kept["path"], kept["body"]) != (path, body):
                raise RefusedError("idempotency_key_reused", 422)
            return self._made(path, kept.get("makes"))
        makes = self._carry_out(path, body, inputs, outputs)
        told = {"key": key, "path": path, "body": body, "makes": makes}
        self._kept[key] = told
        return self._made(path, makes)

    def _carry_out(self, path, body, inputs, outputs):
        """Return the id of what is made, if it has one."""
        if path == "/v1/mint":
            return self._mint(outputs, body.get("metadata"))
        if path == "/v1/offers":
            return self._make_offer(body, inputs, outputs)
        if path == "/v1/swap":
            self._refuse_unbalanced(inputs, outputs)
            self._move(inputs, outputs)
        else:
            self._complete(path.split("/")[3], inputs, outputs)
        return None

    def _made(self, path, makes):
        if path == "/v1/mint":
            return {"itemId": makes}
        return self._offer(makes) if path == "/v1/offers" else {"success": True}

    def _mint(self, outputs, metadata):
        total = sum(output.amount for output in outputs)
        if total > AMOUNT_MAX:
            raise RefusedError("total_too_large")
        item_id = next(self._item_ids)
        text = compact(metadata) if metadata else None
        self.items[item_id] = {"total": total, "metadata": text}
        for output in outputs:
            raw = f"+{output.amount}.{item_id}.{output.secret.reveal()}"
            self.states[raw] = "unspent"
        return item_id

    def _make_offer(self, body, inputs, outputs):
        self._refuse_unknown(inputs + outputs)
        for item_id, amount in units(outputs).items():
            if amount > self.items[item_id]["total"]:
                raise RefusedError("total_too_large")
        self._refuse_spent(inputs)
        self._refuse_used(outputs)
        offer_id = next(self._offer_ids)
        second = -(-self._now_ms() // 1000) + body["expiresIn"]
        self.offers[offer_id] = {
            "inputs": body["inputs"],
            "outputs": body["outputs"],
            "expiresAt": second * 1000,
        }
        return offer_id

    def _complete(self, offer_id, inputs, outputs):
        if offer_id not in self.offers:
            raise RefusedError("unknown_offer", 404)
        offer = self.offers[offer_id]
        if self._state(offer) != "open":
            raise RefusedError("offer_not_open")
        inputs = inputs + parsed(offer["inputs"])
        outputs = outputs + parsed(offer["outputs"])
        self._refuse_unbalanced(inputs, outputs)
        refuse_twice(inputs, "duplicate_input")
        refuse_twice(outputs, "duplicate_secret")
        self._move(inputs, outputs)
        self.offers[offer_id] = {**offer, "isCompleted": True}

    def _move(self, inputs, outputs):
        self._refuse_spent(inputs)
        self._refuse_used(outputs)
        self.states |= {output.raw: "spent" for output in inputs}
        self.states |= {output.raw: "unspent" for output in outputs}

    def _refuse_unknown(self, outputs):
        if not units(outputs).keys() <= self.items.keys():
            raise RefusedError("unknown_item")

    def _refuse_unbalanced(self, inputs, outputs):
        self._refuse_unknown(inputs + outputs)
        if units(inputs) != units(outputs):
            raise RefusedError("unbalanced")

    def _refuse_spent(self, inputs):
        states = [self.states.get(output.raw) for output in inputs]
        if None in states:
            raise RefusedError("unknown_input")
        if "spent" in states:
            raise RefusedError("spent_input")

    def _refuse_used(self, outputs):
        if self._keys(self.states).keys() & {output.key for output in outputs}:
            raise RefusedError("used_secret")


def _listed(sums):
    return [{"itemId": name, "amount": sums[name]} for name in sorted(sums)]
