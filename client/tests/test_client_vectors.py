"""Vectors of verbs: each does what tests/vectors/verbs says, as any engine must."""

import json
import secrets
import shutil
from contextlib import closing
from copy import deepcopy
from functools import partial
from operator import itemgetter
from types import SimpleNamespace
from uuid import UUID

import httpx
import pytest
from client_walk import PASSPHRASE, backup_of, folder
from vector_ledger import Ledger, parsed

from deeds_client import beginning, file, records, seeds, values
from deeds_client.errors import (
    DeedsError,
    FindingError,
    InvalidInputError,
    NoAnswerError,
)
from deeds_client.record_format import (
    KINDS,
    read,
    read_contents,
    write,
    write_contents,
)
from deeds_client.records import Operation
from deeds_client.service import Deeds
from deeds_client.store import Store
from deeds_client.values import Output, Secret, Units, strong_secret, swap_body
from deeds_client.wallet import Wallet
from tests.support.serving import REPOSITORY, running_service

PATHS = sorted((REPOSITORY / "tests/vectors/verbs").glob("*.json"))
SERVICE = "https://deeds.example"
# Errors that have no code of their own.
CODES = {
    NoAnswerError: "no_answer",
    InvalidInputError: "invalid_input",
    FindingError: "wrong_answer",
}


class Line:
    """The line to a ledger, with the faults of the step that is done."""

    def __init__(self, ledger):
        self._ledger, self.requests = ledger, []
        self.begin({})

    def begin(self, step):
        self._count = 0
        self._faults = {each["request"]: each for each in step.get("faults", [])}

    def handle(self, request):
        path, key = request.url.path, request.headers.get("Idempotency-Key")
        body = json.loads(request.content) if request.content else None
        fault = {}
        if key:
            self.requests.append({"path": path, "key": key, "body": body})
            self._count += 1
            fault = self._faults.get(self._count, {})
        for each in fault.get("others", []):
            status, told = self._ledger.answer(each["path"], each["body"], each["key"])
            assert status == 200, told
        if "problem" in fault:
            problem = {"title": "Refused", "detail": "Refused.", **fault["problem"]}
            status = fault["status"]
        elif fault.get("lost") == "request":
            raise httpx.ConnectError("")
        else:
            status, problem = self._ledger.answer(path, body, key)
        if fault.get("lost") == "answer":
            raise httpx.ReadTimeout("")
        media_type = "application/json" if status == 200 else "application/problem+json"
        headers = {"Content-Type": media_type}
        return httpx.Response(status, json=problem, headers=headers)


def operation_of(wallet, told):
    return wallet._store.operation(told["operation"])


def units_of(told):
    return Units(told["itemId"], told["amount"])


def restore(wallet, told, path):
    text = file.export_wallet(read_contents(told["file"]), PASSPHRASE)
    path.write_text(text)
    wallet.restore(path, PASSPHRASE, own=told["isOwn"])


def restart(wallet, _):
    wallet.__enter__()


def sync(wallet, told):
    wallet.sync(look=told["look"])


def about(told):
    """Return what a verb is told of its operation, and the metadata of an item."""
    names = ("metadata", "reference", "note")
    return {name: told[name] for name in names if name in told}


VERBS = {
    "mint": lambda wallet, told: wallet.mint(told["amounts"], **about(told)),
    "issue": lambda wallet, told: wallet.issue(
        told["count"], told["each"], **about(told)
    ),
    "send": lambda wallet, told: wallet.send(
        told["itemId"], told["amount"], **about(told)
    ),
    "give": lambda wallet, told: wallet.give(Output.parse(told["output"])),
    "claim": lambda wallet, told: wallet.claim(Output.parse(told["output"])),
    "split": lambda wallet, told: wallet.split(told["itemId"], told["amounts"]),
    "merge": lambda wallet, told: wallet.merge(told["itemId"]),
    "takeBack": lambda wallet, told: wallet.take_back(
        [Output.parse(raw) for raw in told["outputs"]]
    ),
    "ask": lambda wallet, told: wallet.ask(
        told["itemId"], told["amount"], told["expiresIn"]
    ),
    "trade": lambda wallet, told: wallet.trade(
        units_of(told["gives"]), units_of(told["wants"]), told["expiresIn"]
    ),
    "complete": lambda wallet, told: wallet.complete(
        wallet._deeds.offer(told["offerId"])
    ),
    "cancel": lambda wallet, told: wallet.cancel(operation_of(wallet, told)),
    "refresh": lambda wallet, told: wallet.refresh(operation_of(wallet, told)),
    "restart": restart,
    "sync": sync,
}


def outcome_of(do, *arguments):
    """Return what comes out of a verb, or the code of its error."""
    try:
        told = do(*arguments)
    except DeedsError as error:
        return {"error": CODES.get(type(error)) or error.code}
    if isinstance(told, Operation):
        outcome = {"operation": told.key, "state": told.state.value}
        return outcome | ({"code": told.code} if told.code else {})
    if isinstance(told, list):
        return {"outputs": [each.output.raw for each in told]}
    return {"output": told.output.raw} if told else {}


def file_of(store):
    """Return what a file holds, as a vector has it."""
    with store.transaction() as transaction:
        found = write_contents(backup_of(transaction))
    return canonical(found)


def canonical(found):
    """Return records as vectors compare them: tests/vectors/README.md."""
    told = {name: sorted(found[name], key=itemgetter("key")) for name in KINDS}
    for output in told["outputs"]:
        del output["changedAt"]
    for operation in told["operations"]:
        operation.pop("asked", None)
    return told


def load(path, contents):
    """Write the records of a file into a wallet, as they are."""
    with closing(Store(path)) as store:
        with store.transaction() as transaction:
            for name in KINDS:
                for record in getattr(contents, name):
                    transaction.put(record)
        return file_of(store)


def run(vector, directory, patch, ledger_of=Ledger):
    """Do what a vector says, and return what it has to compare."""
    clock = SimpleNamespace(ms=0)
    keys, made = iter(vector.get("keys", [])), iter(vector.get("secrets", []))
    patch.setattr(seeds, "GAP", 512)
    patch.setattr(
        records, "time", SimpleNamespace(time_ns=lambda: clock.ms * 1_000_000)
    )
    patch.setattr(beginning, "uuid", SimpleNamespace(uuid4=lambda: next(keys)))
    patch.setattr(values, "make_secret", lambda: next(made))
    ledger = ledger_of(vector, lambda: clock.ms)
    line = Line(ledger)
    before = load(directory / "wallet", read_contents(vector["before"]))
    assert before == canonical(deepcopy(vector["before"]))
    outcomes = []
    with (
        Deeds(SERVICE, transport=httpx.MockTransport(line.handle), tries=1) as deeds,
        closing(Wallet(directory / "wallet", deeds)) as wallet,
    ):
        for number, step in enumerate(vector["steps"]):
            clock.ms = step["at"]
            line.begin(step)
            if step["verb"] == "restore":
                backup = directory / f"{number}.backup"
                outcomes.append(outcome_of(restore, wallet, step["with"], backup))
            else:
                do = VERBS[step["verb"]]
                outcomes.append(outcome_of(do, wallet, step["with"]))
        after = file_of(wallet._store)
    return {
        "outcomes": outcomes,
        "requests": line.requests,
        "after": after,
        "ledgerAfter": ledger.told(),
        "unused": [*keys, *made, *ledger.unused_ids()],
    }


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_verb_does_what_its_vector_says(path, monkeypatch):
    vector = json.loads(path.read_text())

    with folder() as directory:
        result = run(vector, directory, monkeypatch)

    assert result == {
        "outcomes": [step["outcome"] for step in vector["steps"]],
        "requests": vector["requests"],
        "after": vector["after"],
        "ledgerAfter": vector["ledgerAfter"],
        "unused": [],
    }


STATES = json.loads((REPOSITORY / "tests/vectors/states.json").read_text())


@pytest.mark.parametrize("case", STATES, ids=lambda case: case["shows"])
def test_an_output_is_what_its_operations_make_of_it(case):
    raw, other = (f"+1.deed_{'x' * 26}.{secret}" for secret in "ab")
    output = read(Output, {**write(Output.parse(raw)), **case.get("facts", {})})
    offer = {"offerId": f"offer_{'0' * 26}", "expiresAt": 1}
    ends = [(each, raw, other) for each in case.get("takers", [])]
    ends += [(each, other, raw) for each in case.get("makers", [])]
    with (
        folder() as directory,
        closing(Store(directory / "wallet")) as store,
        store.transaction() as records,
    ):
        records.put(output)
        for place, (state, taken, made) in enumerate(ends):
            key = str(UUID(int=place))
            about = {"kind": "trade", "state": state, "amount": 1, "begunAt": 1}
            body = {"inputs": [taken], "outputs": [made]}
            told = {"key": key, "code": "x", "body": body, **about, **offer}
            records.put(read(Operation, told))
        found = write(records.output(output.key))

    names = ("state", "before", "neverHeld")
    assert {name: found[name] for name in names if name in found} == case["is"]


class ComparedLedger(Ledger):
    """A ledger whose answers are compared with those of a service."""

    def __init__(self, http, name, vector, now_ms):
        super().__init__(vector, now_ms)
        self._http, self._name = http, name
        self._ids = {}  # Those of the service, by those of the vector.
        for item_id, item in self.items.items():
            self._make_item(item_id, item["total"])
        for offer_id, offer in self.offers.items():
            body = {name: offer[name] for name in ("inputs", "outputs")}
            self._send("/v1/offers", body, offer_id)

    def _make_item(self, item_id, total):
        """Make each output that is spent, and join all again; make the others last."""
        outputs = parsed(raw for raw in self.states if f".{item_id}." in raw)
        states = [self.states[output.raw] for output in outputs]
        whole = fresh(total, item_id)
        minted = {"amount": total, "secret": whole.secret.reveal()}
        self._send("/v1/mint", {"outputs": [minted]}, item_id)
        for output, state in zip(outputs, states, strict=True):
            if state == "spent":
                rest = [total - output.amount] if output.amount < total else []
                parts = [output, *(fresh(each, item_id) for each in rest)]
                self._send("/v1/swap", swap_body([whole], parts))
                whole = fresh(total, item_id)
                self._send("/v1/swap", swap_body(parts, [whole]))
        left = [output for output in outputs if self.states[output.raw] == "unspent"]
        self._send("/v1/swap", swap_body([whole], left))

    def answer(self, path, body=None, key=None):
        status, told = super().answer(path, body, key)
        if path != "/v1/info":
            made = told.get("itemId") or told.get("offerId") if key else None
            assert self._send(path, body, made, key) == (status, shown(told))
        return status, told

    def _send(self, path, body, made=None, key=None):
        """Return the answer of the service, with the ids of the vector."""
        method = "GET" if body is None else "POST"
        headers = {"Idempotency-Key": f"{self._name} {key}"} if key else {}
        sent = json.loads(translated(body, self._ids))
        path = json.loads(translated(path, self._ids))
        answer = self._http.request(method, path, json=sent, headers=headers)
        told = answer.json()
        if made:
            self._ids[made] = told.get("itemId") or told["offerId"]
        back = {theirs: ours for ours, theirs in self._ids.items()}
        return answer.status_code, shown(json.loads(translated(told, back)))


def fresh(amount, item_id):
    # The secrets of mints are those of the vector.
    secret = strong_secret(secrets.token_bytes(17))
    return Output(amount, item_id, Secret(secret))


def translated(value, ids):
    text = json.dumps(value)
    for one, other in ids.items():
        text = text.replace(one, other)
    return text


def shown(told):
    """Return what of an answer is the same at any time and in any words."""
    names = told.keys() - {"title", "detail", "type", "status", "index", "instance"}
    names -= {"expiresAt", "outputs", "rawOutputs"} if "itemId" in told else set()
    return {name: told[name] for name in names - {"expiresAt"}}


def is_made_again(path):
    """Return whether a service can be brought to what the vector has before."""
    vector = json.loads(path.read_text())
    ledger, at = vector["ledger"], vector["steps"][0]["at"]
    has_ended = any(
        offer.get("isCompleted") or offer["expiresAt"] <= at
        for offer in ledger["offers"].values()
    )
    return vector["requests"] and not has_ended and "kept" not in ledger


@pytest.fixture(scope="module")
def http(sqlite_template):
    with folder() as directory:
        database = shutil.copy(sqlite_template, directory / "deeds.sqlite3")
        settings = {
            "DATABASE_URL": f"sqlite:///{database}",
            "DEEDS_RATE_LIMITS": "failures=off",
        }
        with (
            running_service(directory, **settings) as service,
            httpx.Client(base_url=service.url) as http,
        ):
            yield http


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", [*filter(is_made_again, PATHS)], ids=lambda path: path.stem
)
def test_the_ledger_of_the_vectors_answers_as_the_service(path, http, monkeypatch):
    vector = json.loads(path.read_text())
    compared = partial(ComparedLedger, http, path.stem)

    with folder() as directory:
        run(vector, directory, monkeypatch, compared)
