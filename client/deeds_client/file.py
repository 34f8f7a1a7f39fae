"""The page's backup file, each record of which is checked. See docs/wallet-file.md."""

import hashlib
import json
import os
import unicodedata
import uuid
from base64 import b64decode, b64encode
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from deeds_client.errors import WalletFileError
from deeds_client.records import Record, output_of
from deeds_client.values import WRONG_FORM, Item, Output, check_amount, check_id

LENGTH_MAX = (
    128 * 1024 * 1024
)  # Some 200,000 links; JSON of this length may take gigabytes.
ITERATIONS = 600_000  # OWASP's figure for PBKDF2-HMAC-SHA-256 (2023).
_ITERATIONS_ALLOWED = range(
    100_000, 10_000_001
)  # Less protects nothing, more takes for ever.
_NEEDED = {"begun": (), "open": ("offerId",), "done": (), "refused": ("code",)}
# The type or the check of each field that is used. One means the same in whichever
# record it is.
_FIELDS: dict[Any, str] = {
    check_amount: "amount number expiresIn expiresAt createdAt givenAt collectedAt "
    "begunAt endedAt",
    lambda value: check_id("offer", value): "offerId",
    bool: "spentElsewhere unknown neverHeld atDoor isMinted",
    str: "key secret state before operation itemId code kind note unit",
    list: "inputs outputs operations items own",
    dict: "body links",
}
_KIND_OF = {name: kind for kind, names in _FIELDS.items() for name in names.split()}


def export_wallet(records: Record, passphrase: str) -> str:
    """Return the text of a file that holds these outputs, operations and items."""
    salt, nonce = os.urandom(16), os.urandom(12)
    head = _head(ITERATIONS, b64encode(salt).decode(), b64encode(nonce).decode())
    sealed = _cipher(passphrase, salt, ITERATIONS).encrypt(
        nonce, _compact(records), _compact(head)
    )
    return json.dumps({**head, "data": b64encode(sealed).decode()}, indent=2) + "\n"


def import_wallet(text: str, passphrase: str) -> Record:
    """Return the records of a file.

    Raise WalletFileError where anything is wrong with it.
    """
    try:
        opened = _open(json.loads(text if len(text) <= LENGTH_MAX else ""), passphrase)
        return read_records(json.loads(opened))
    except InvalidTag:
        said = "The passphrase does not open this file."
    except WRONG_FORM:
        said = "This is not a backup file, or it is damaged or of another version."
    raise WalletFileError(said)


def _open(head: Record, passphrase: str) -> bytes:
    data, iterations = head.pop("data"), head["kdf"]["iterations"]
    texts = head["kdf"]["salt"], head["cipher"]["iv"]
    if iterations not in _ITERATIONS_ALLOWED or head != _head(iterations, *texts):
        raise ValueError(iterations)
    salt, nonce, sealed = (b64decode(each, validate=True) for each in (*texts, data))
    return _cipher(passphrase, salt, iterations).decrypt(nonce, sealed, _compact(head))


def _head(iterations: int, salt: str, nonce: str) -> Record:
    kdf = {"name": "PBKDF2", "hash": "SHA-256", "iterations": iterations, "salt": salt}
    cipher = {"name": "AES-GCM", "length": 256, "iv": nonce}
    return {"format": "deeds wallet", "version": 3, "kdf": kdf, "cipher": cipher}


def _cipher(passphrase: str, salt: bytes, iterations: int) -> AESGCM:
    # One passphrase, however a keyboard composes its letters (RFC 8265).
    password = unicodedata.normalize("NFC", passphrase).encode(errors="replace")
    return AESGCM(hashlib.pbkdf2_hmac("sha256", password, salt, iterations))


def _compact(value: Any) -> bytes:
    """Return JSON as JavaScript writes it: the head is authenticated in this form."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode()


def read_records(found: Any) -> Record:
    """Return the records.

    Raise one of WRONG_FORM where the wallet could not use one.
    """
    _check(found, "outputs", "operations", "items")
    for output in found["outputs"]:
        _check(output, "state", "createdAt")
        if Output.parse(f"+{output['amount']}.{output['key']}") != output_of(output):
            raise ValueError
    known = {output["key"] for output in found["outputs"]}
    for operation in found["operations"]:
        if not known.issuperset(check_operation(operation)):
            raise ValueError
    for item in found["items"]:
        if (
            Item(item["id"], item["total"], item.get("metadata")).id
            != _check(item)["key"]
        ):
            raise ValueError
    return {**found}


def check_operation(operation: Record) -> list[str]:
    """Return the keys that an operation names.

    Raise one of WRONG_FORM if it cannot be used.
    """
    _check(operation, "kind", "amount", "begunAt", *_NEEDED[operation["state"]])
    body, made = (
        operation["body"],
        [_check(each, "state")["key"] for each in operation["outputs"]],
    )
    if operation["state"] == "open" and operation["kind"] not in ("ask", "trade"):
        raise ValueError
    if operation["kind"] == "mint":
        sent = [[], made]
        dict(body.get("metadata", {}))  # Fails for what is no object.
        for output in _check(body)["outputs"]:
            _check(output, "amount", "secret")
    else:
        # What is sent must be what is settled. The amount of a link may have been put
        # right since.
        halves = _check(body)["inputs"], body["outputs"]
        sent = [[raw.partition(".")[2] for raw in half] for half in halves]
    if (
        sent != [operation["inputs"], made]
        or str(uuid.UUID(operation["key"])) != operation["key"]
    ):
        raise ValueError
    return [*operation["inputs"], *made]


def _check(record: Record, *needed: str) -> Record:
    """Return a record.

    Raise one of WRONG_FORM unless it has these fields, and all are right.
    """
    _compact(record)  # What has no form in JSON or UTF-8 could not be kept.
    for name in {*needed, *(_KIND_OF.keys() & record.keys())}:
        kind, value = _KIND_OF[name], record[name]
        if not (type(value) is kind if isinstance(kind, type) else kind(value)):
            raise ValueError(name)
    return record
