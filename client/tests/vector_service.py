"""A service in this process, with the ledger of a vector."""

import json
import re
from itertools import count

import httpx
from client_support import problem

from app import create_app
from deeds.hashing import Hasher, HashPool, argon2id
from deeds.model import HashPolicy, ItemHashing
from deeds.raw_output import parse_raw_output
from deeds.service import fingerprint
from deeds.settings import read_settings
from deeds_client.values import BASE32
from tests.support.api import environ_of
from tests.support.databases import connected
from tests.support.ledger_view import LedgerView

RAW = re.compile(r"\+[0-9]+\.deed_[0-9a-z]{26}\.[0-9a-z]{32}")
SALT = bytes(16)
POLICY = HashPolicy(8, 1, 1, "")
HASHER = Hasher(POLICY, {"": None}, None, HashPool(1, 1), argon2id)


def stored(raw):
    """Return a raw output as the ledger has it: item, digest and amount."""
    parsed = parse_raw_output(raw)
    items = {parsed.item_id: ItemHashing(SALT, POLICY, 1)}
    [output] = HASHER.hash_outputs([parsed], items, "")
    return output


def key_of(kept):
    """Return the key's hash and the fingerprint of a request carried out earlier."""
    body, made = kept["body"], kept.get("makes")
    inputs, outputs, kind = body.get("inputs", []), body["outputs"], "swap"
    if kept["path"] == "/v1/mint":
        kind = "mint None"
        outputs = [f"+{each['amount']}.{made}.{each['secret']}" for each in outputs]
    elif kept["path"] == "/v1/offers":
        kind = f"offer {body['expiresIn']}"
    halves = ([stored(raw) for raw in half] for half in (inputs, outputs))
    return HASHER.hash_key(kept["key"], ""), fingerprint(kind, *halves)


def fill(connection, ledger):
    """Write the rows of a vector's ledger."""
    keys = {each.get("makes"): key_of(each) for each in ledger.get("kept", [])}
    ids, makers = count(1), {}

    def operation(kind, made=""):
        number, key = next(ids), keys.get(made, (None, None))
        row = (number, kind, *key, 0)
        connection.execute("INSERT INTO operations VALUES (?, ?, ?, ?, ?)", row)
        return number

    spender = operation("swap", None)
    for item_id, item in ledger["items"].items():
        makers[item_id] = operation("mint", item_id)
        row = (item_id, item["total"], item["metadata"], SALT, 0, makers[item_id])
        connection.execute("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?)", row)
    for raw, state in ledger["outputs"].items():
        output = stored(raw)
        spent_by = spender if state == "spent" else None
        row = (*output, makers[output.item_id], spent_by)
        connection.execute("INSERT INTO outputs VALUES (?, ?, ?, ?, ?)", row)
    for offer_id, offer in ledger["offers"].items():
        made = operation("offer", offer_id)
        completed = operation("swap") if offer.get("isCompleted") else None
        row = (offer_id, made, completed, offer["expiresAt"] // 1000)
        connection.execute("INSERT INTO offers VALUES (?, ?, ?, ?)", row)
        for name in ("inputs", "outputs"):
            half = [(offer_id, *stored(raw)) for raw in offer[name]]
            insert = f"INSERT INTO offer_{name} VALUES (?, ?, ?, ?)"  # noqa: S608
            connection.executemany(insert, half)


class VectorService:
    """Answers requests, with the faults of the current step."""

    def __init__(self, database, vector, now_ms):
        self._view = LedgerView(f"sqlite:///{database}")
        with connected(self._view.url) as connection:
            fill(connection, vector["ledger"])
        self._ids = vector.get("itemIds", []) + vector.get("offerIds", [])
        self._seen = {*RAW.findall(json.dumps(vector["ledger"]))}
        limit = str(vector["arrayLengthMax"])
        settings = read_settings(environ_of(self._view.url, DEEDS_MAX_ARRAY=limit))
        self._app = create_app(
            settings, ["offers"], clock=now_ms, token_bytes=self._token_bytes
        )
        self._transport = httpx.WSGITransport(app=self._app)
        self.requests = []
        self.begin({})

    def close(self):
        self._app.extensions["deeds"].close()

    def begin(self, step):
        self._count = 0
        self._faults = {each["request"]: each for each in step.get("faults", [])}

    def handle(self, request):
        """Return the answer, unless the request or the answer is lost."""
        path, key = request.url.path, request.headers.get("Idempotency-Key")
        fault = {}
        if key:
            body = json.loads(request.content)
            self.requests.append({"path": path, "key": key, "body": body})
            self._count += 1
            fault = self._faults.get(self._count, {})
        for each in fault.get("others", []):
            url = request.url.copy_with(path=each["path"])
            headers = {"Idempotency-Key": each["key"]}
            other = httpx.Request("POST", url, headers=headers, json=each["body"])
            answer = self._answer(other)
            assert answer.status_code == 200, answer.text
        if "problem" in fault:
            return problem(fault["status"], **fault["problem"])
        if fault.get("lost") == "request":
            raise httpx.ConnectError("")
        answer = self._answer(request)
        if fault.get("lost") == "answer":
            raise httpx.ReadTimeout("")
        return answer

    def ledger(self):
        """Return the ledger in the form of a vector."""
        seen = {stored(raw): raw for raw in self._seen}
        items = self._view.read("SELECT id, total, metadata FROM items")
        outputs = self._view.read(
            "SELECT item_id, digest, amount, spent_by FROM outputs"
        )
        return {
            "items": {
                item_id: {"total": total, "metadata": metadata}
                for item_id, total, metadata in items
            },
            "outputs": {
                seen[tuple(output)]: "spent" if spent_by else "unspent"
                for *output, spent_by in outputs
            },
            "offers": self._offers(),
        }

    def _offers(self):
        """Return when each offer expires, and whether it was completed."""
        rows = self._view.read("SELECT id, expires_at_s, completed_by FROM offers")
        return {
            offer_id: (expires_at_s * 1000, completed_by is not None)
            for offer_id, expires_at_s, completed_by in rows
        }

    def _answer(self, request):
        answer = self._transport.handle_request(request)
        self._seen.update(RAW.findall(f"{request.content}{answer.read()}"))
        return answer

    def _token_bytes(self, size):
        """Return the bytes of the next id, or of the salt of an item."""
        if size == len(SALT):
            return SALT
        known = {*self.ledger()["items"], *self._offers()}
        left = [each for each in self._ids if each not in known]
        # A repeated request takes an id too, which is not used.
        [first, *_] = left or ["0" * size]
        return bytes(BASE32.index(sign) for sign in first[-size:])
