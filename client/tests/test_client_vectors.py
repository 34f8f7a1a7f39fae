"""Vectors of verbs: each does what tests/vectors/verbs says, as any engine must."""

import json
import shutil
from contextlib import closing
from operator import itemgetter
from types import SimpleNamespace
from uuid import UUID

import httpx
import pytest
from client_support import PASSPHRASE, backup_of, folder
from vector_service import VectorService

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
from deeds_client.values import Output, Units
from deeds_client.wallet import Wallet
from tests.support.serving import REPOSITORY

PATHS = sorted((REPOSITORY / "tests/vectors/verbs").glob("*.json"))
SERVICE = "https://deeds.example"
# Errors that have no code of their own.
CODES = {
    NoAnswerError: "no_answer",
    InvalidInputError: "invalid_input",
    FindingError: "wrong_answer",
}


def operation_of(wallet, arguments):
    return wallet._store.operation(arguments["operation"])


def units_of(arguments):
    return Units(arguments["itemId"], arguments["amount"])


def restore(wallet, arguments):
    path = wallet._store.path.with_name("backup")
    path.write_text(file.export_wallet(read_contents(arguments["file"]), PASSPHRASE))
    wallet.restore(path, PASSPHRASE, own=arguments["isOwn"])


def restart(wallet, _):
    wallet.__enter__()


def sync(wallet, arguments):
    wallet.sync(look=arguments["look"])


def about(arguments):
    """Return the optional arguments of a verb."""
    names = ("metadata", "reference", "note")
    return {name: arguments[name] for name in names if name in arguments}


VERBS = {
    "mint": lambda wallet, arguments: wallet.mint(
        arguments["amounts"], **about(arguments)
    ),
    "issue": lambda wallet, arguments: wallet.issue(
        arguments["count"], arguments["each"], **about(arguments)
    ),
    "send": lambda wallet, arguments: wallet.send(
        arguments["itemId"], arguments["amount"], **about(arguments)
    ),
    "give": lambda wallet, arguments: wallet.give(Output.parse(arguments["output"])),
    "claim": lambda wallet, arguments: wallet.claim(Output.parse(arguments["output"])),
    "split": lambda wallet, arguments: wallet.split(
        arguments["itemId"], arguments["amounts"]
    ),
    "merge": lambda wallet, arguments: wallet.merge(arguments["itemId"]),
    "takeBack": lambda wallet, arguments: wallet.take_back(
        [Output.parse(raw) for raw in arguments["outputs"]]
    ),
    "ask": lambda wallet, arguments: wallet.ask(
        arguments["itemId"], arguments["amount"], arguments["expiresIn"]
    ),
    "trade": lambda wallet, arguments: wallet.trade(
        units_of(arguments["gives"]),
        units_of(arguments["wants"]),
        arguments["expiresIn"],
    ),
    "complete": lambda wallet, arguments: wallet.complete(
        wallet._deeds.offer(arguments["offerId"])
    ),
    "cancel": lambda wallet, arguments: wallet.cancel(operation_of(wallet, arguments)),
    "refresh": lambda wallet, arguments: wallet.refresh(
        operation_of(wallet, arguments)
    ),
    "restart": restart,
    "restore": restore,
    "sync": sync,
}


def outcome_of(do, wallet, arguments):
    """Return the outcome of a verb, or the code of its error."""
    try:
        made = do(wallet, arguments)
    except DeedsError as error:
        return {"error": CODES.get(type(error)) or error.code}
    if isinstance(made, Operation):
        outcome = {"operation": made.key, "state": made.state.value}
        return outcome | ({"code": made.code} if made.code else {})
    if isinstance(made, list):
        return {"outputs": [each.output.raw for each in made]}
    return {"output": made.output.raw} if made else {}


def file_of(store):
    """Return a wallet's records as vectors compare them: tests/vectors/README.md."""
    with store.transaction() as transaction:
        found = write_contents(backup_of(transaction))
    contents = {name: sorted(found[name], key=itemgetter("key")) for name in KINDS}
    for output in contents["outputs"]:
        del output["changedAt"]
    for operation in contents["operations"]:
        operation.pop("asked", None)
    return contents


def load(path, contents):
    """Write the records of a file into a wallet, as they are."""
    with closing(Store(path)) as store, store.transaction() as transaction:
        for name in KINDS:
            for record in getattr(contents, name):
                transaction.put(record)


def run(vector, database, directory, patch):
    """Carry out a vector, and return what is compared."""
    clock = SimpleNamespace(ms=0)
    keys, made = iter(vector.get("keys", [])), iter(vector.get("secrets", []))
    if vector["name"].startswith("look"):
        # As in the contract. The other verbs would only search longer.
        patch.setattr(seeds, "GAP", 512)
    patch.setattr(
        records, "time", SimpleNamespace(time_ns=lambda: clock.ms * 1_000_000)
    )
    patch.setattr(beginning, "uuid", SimpleNamespace(uuid4=lambda: next(keys)))
    patch.setattr(values, "make_secret", lambda: next(made))
    load(directory / "wallet", read_contents(vector["before"]))
    outcomes = []
    with (
        closing(VectorService(database, vector, lambda: clock.ms)) as service,
        Deeds(SERVICE, transport=httpx.MockTransport(service.handle), tries=1) as deeds,
        closing(Wallet(directory / "wallet", deeds)) as wallet,
    ):
        for step in vector["steps"]:
            clock.ms = step["at"]
            service.begin(step)
            outcomes.append(outcome_of(VERBS[step["verb"]], wallet, step["with"]))
        return {
            "outcomes": outcomes,
            "requests": service.requests,
            "after": file_of(wallet._store),
            "ledgerAfter": service.ledger(),
            "unused": [*keys, *made],
        }


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_verb_does_what_its_vector_says(path, sqlite_template, monkeypatch):
    vector = json.loads(path.read_text())
    after = vector["ledgerAfter"]

    with folder() as directory:
        database = shutil.copy(sqlite_template, directory / "deeds.sqlite3")
        result = run(vector, database, directory, monkeypatch)

    ends = {
        offer_id: (offer["expiresAt"], offer.get("isCompleted", False))
        for offer_id, offer in after["offers"].items()
    }
    assert result == {
        "outcomes": [step["outcome"] for step in vector["steps"]],
        "requests": vector["requests"],
        "after": vector["after"],
        "ledgerAfter": {**after, "offers": ends},
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
            document = {"key": key, "code": "x", "body": body, **about, **offer}
            records.put(read(Operation, document))
        found = write(records.output(output.key))

    names = ("state", "before", "neverHeld")
    assert {name: found[name] for name in names if name in found} == case["is"]
