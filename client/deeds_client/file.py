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
from deeds_client.records import Record, item_of, output_of
from deeds_client.seeds import NUMBER_MAX, SEEDS_MAX, is_seed
from deeds_client.values import WRONG_FORM, Output, check_amount, check_id

_FORMAT = "deeds wallet"
_VERSION = 4
_UNCHECKED_VERSION = 3  # It had no checksum and no seeds.
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
    check_amount: "amount number of expiresIn expiresAt givenAt collectedAt "
    "foundAt shownAt begunAt endedAt",
    lambda value: check_id("offer", value): "offerId",
    lambda value: (
        type(value) is int and 0 <= value <= NUMBER_MAX
    ): "createdAt kept given series",
    lambda value: value is True: "isOwn",
    bool: "spentElsewhere isUnclear unknown neverHeld atDoor isUnsent isCancelled "
    "mayBeGiven isMinted",
    str: "key secret state before operation itemId code kind note unit",
    list: "inputs outputs operations items seeds numbers own",
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
    whole = {**head, "data": b64encode(sealed).decode()}
    return json.dumps({**whole, "checksum": _checksum(whole)}, indent=2) + "\n"


def import_wallet(text: str, passphrase: str) -> Record:
    """Return the records of a file.

    Raise WalletFileError where anything is wrong with it.
    """
    older: Record = {}
    said = "The passphrase does not open this file."
    try:
        head = json.loads(text if len(text) <= LENGTH_MAX else "")
        if head["version"] == _UNCHECKED_VERSION:
            older = {"seeds": [], "numbers": []}
            said = "The passphrase is wrong, or the file was changed."
        return read_records({**json.loads(_open(head, passphrase)), **older})
    except InvalidTag:
        pass
    except WRONG_FORM:
        said = "This is not a backup file, or it is damaged or of another version."
    raise WalletFileError(said)


def _open(head: Record, passphrase: str) -> bytes:
    is_checked = head["version"] == _VERSION
    if is_checked and head.pop("checksum", None) != _checksum(head):
        raise WalletFileError(
            "This file is damaged: a part of it was changed or is missing. Use another"
            " copy of it."
        )
    data, iterations = head.pop("data"), head["kdf"]["iterations"]
    texts = head["kdf"]["salt"], head["cipher"]["iv"]
    version = _VERSION if is_checked else _UNCHECKED_VERSION
    expected = _head(iterations, *texts) | {"version": version}
    if iterations not in _ITERATIONS_ALLOWED or head != expected:
        raise ValueError(iterations)
    salt, nonce, sealed = (b64decode(each, validate=True) for each in (*texts, data))
    return _cipher(passphrase, salt, iterations).decrypt(nonce, sealed, _compact(head))


def _head(iterations: int, salt: str, nonce: str) -> Record:
    kdf = {"name": "PBKDF2", "hash": "SHA-256", "iterations": iterations, "salt": salt}
    cipher = {"name": "AES-GCM", "length": 256, "iv": nonce}
    return {"format": _FORMAT, "version": _VERSION, "kdf": kdf, "cipher": cipher}


def _checksum(whole: Record) -> str:
    """Return what tells damage from a wrong passphrase, and proves nothing."""
    return hashlib.sha256(_compact(whole)).hexdigest()


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
    _check(found, "outputs", "operations", "items", "seeds", "numbers")
    for output in found["outputs"]:
        _check(output, "state", "createdAt")
        if Output.parse(f"+{output['amount']}.{output['key']}") != output_of(output):
            raise ValueError
    known = {output["key"] for output in found["outputs"]}
    for operation in found["operations"]:
        if not known.issuperset(check_operation(operation)):
            raise ValueError
    for item in found["items"]:
        if item_of(_check(item)).id != item["key"]:
            raise ValueError
    _check_seeds(found["seeds"], found["numbers"])
    return {**found}


def _check_seeds(seeds: list[Record], numbers: list[Record]) -> None:
    """Raise one of WRONG_FORM unless one seed is the own one, and numbers are of some.

    A file of a wallet without seeds has neither.
    """
    keys = [_check(each, "createdAt")["key"] for each in seeds]
    own = [each for each in seeds if "isOwn" in each]
    if len(own) != min(len(seeds), 1) or len(seeds) > SEEDS_MAX:
        raise ValueError
    if not all(map(is_seed, keys)):
        raise ValueError
    for each in numbers:
        seed, _, item_id = _check(each)["key"].partition(".")
        if seed not in keys or not check_id("deed", item_id):
            raise ValueError


def check_operation(operation: Record) -> list[str]:
    """Return the keys that an operation names.

    Raise one of WRONG_FORM if it cannot be used.
    """
    _check(operation, "kind", "amount", "begunAt", *_NEEDED[operation["state"]])
    body = operation["body"]
    made = [_check(each, "state")["key"] for each in operation["outputs"]]
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
    key = operation["key"]
    if sent != [operation["inputs"], made] or str(uuid.UUID(key)) != key:
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
