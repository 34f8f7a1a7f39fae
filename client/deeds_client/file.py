"""The page's backup file, each record of which is checked. See docs/wallet-file.md."""

import hashlib
import json
import os
import re
import unicodedata
from base64 import b64decode, b64encode
from contextlib import suppress
from functools import partial
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from deeds_client.errors import WalletFileError
from deeds_client.links import is_unit
from deeds_client.records import Record, key_of
from deeds_client.values import AMOUNT_MAX, WRONG_FORM, Item, Output, check_id

LENGTH_MAX = 128 * 1024 * 1024  # Some 200,000 links; JSON of this length may take gigabytes.
ITERATIONS = 600_000  # OWASP's figure for PBKDF2-HMAC-SHA-256 (2023).
_ITERATIONS_ALLOWED = range(100_000, 10_000_001)  # Less protects nothing, more takes for ever.

REST_STATES = ("seen", "void", "held", "offered", "given")
_KINDS = ("mint", "claim", "send", "split", "merge", "takeBack", "withdraw", "complete")
_MAKINGS = ("ask", "trade")
_NEEDED = {"begun": (), "open": ("offerId", "expiresAt"), "done": (), "refused": ("code",)}
_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def export_wallet(records: Record, passphrase: str) -> str:
    """Return the text of a file that holds these outputs, operations and items."""
    salt, nonce = os.urandom(16), os.urandom(12)
    head = _head(ITERATIONS, b64encode(salt).decode(), b64encode(nonce).decode())
    cipher = _cipher(passphrase, salt, ITERATIONS)
    data = b64encode(cipher.encrypt(nonce, _compact(records), _compact(head)))
    return json.dumps({**head, "data": data.decode()}, indent=2) + "\n"


def import_wallet(text: str, passphrase: str) -> Record:
    """Return the records of a file; raise WalletFileError where anything is wrong with it."""
    said = "This is not a backup file, or it is damaged or of another version."
    try:
        opened = _open(json.loads(text if len(text) <= LENGTH_MAX else ""), passphrase)
        said = "The file opens, but what it holds is no wallet."
        return read_records(json.loads(opened))
    except InvalidTag:
        said = "The passphrase does not open this file."
    except WRONG_FORM:
        pass
    raise WalletFileError(said)


def _open(head: Record, passphrase: str) -> bytes:
    data, iterations = head.pop("data"), head["kdf"]["iterations"]
    texts = head["kdf"]["salt"], head["cipher"]["iv"]
    is_allowed = type(iterations) is int and iterations in _ITERATIONS_ALLOWED
    if not is_allowed or head != _head(iterations, *texts):
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
    """Return the records; raise one of WRONG_FORM unless all are whole and belong together."""
    names = ("outputs", "operations", "items", "service")
    records = {name: found[name] for name in names if name in found}
    _compact(records)  # What has no form in JSON or UTF-8 could not be kept.
    known = {output["key"] for output in records["outputs"]}
    if not (
        _has(records)
        and all(map(_is_output, records["outputs"]))
        and all(_is_operation(operation, known) for operation in records["operations"])
        and all(map(_is_item, records["items"]))
    ):
        raise ValueError
    return records


def is_readable(operation: Record) -> bool:
    """Return whether a backup with this operation can be written, and read again."""
    with suppress(*WRONG_FORM):
        _compact(operation)
        made = [output["key"] for output in operation["outputs"]]
        return _is_operation(operation, {*operation["inputs"], *made})
    return False


def _is_output(output: Record) -> bool:
    Output(output["amount"], output["itemId"], output["secret"])
    return (
        _has(output, "createdAt", "changedAt")
        and output["key"] == key_of(output)
        and output["state"] in (*REST_STATES, "coming", "leaving", "spent")
        and output.get("before") in (None, *REST_STATES)
        and ("number" in output) == ("of" in output) >= ("each" in output)
    )


def _is_operation(operation: Record, known: set[str]) -> bool:
    kind, state, body = operation["kind"], operation["state"], operation["body"]
    made = [output["key"] for output in operation["outputs"]]
    is_right = (
        _has(operation, "amount", "begunAt", *_NEEDED[state])
        and _has(body)
        and _UUID.fullmatch(operation["key"]) is not None
        and kind in (*_KINDS, *_MAKINGS)
        and (state != "open" or kind in _MAKINGS)
        and known.issuperset(operation["inputs"] + made)
        and all(output["state"] in ("held", "given") for output in operation["outputs"])
    )
    if kind == "mint":
        for output in body["outputs"]:
            Output(output["amount"], "deed_", output["secret"])
        is_mint = operation["inputs"] == [] and type(body.get("metadata", {})) is dict
        return is_right and is_mint and all(map(_has, body["outputs"]))
    # What is sent must be what is settled. The amount of a link may have been put right since.
    halves = [map(Output.parse, body[half]) for half in ("inputs", "outputs")]
    sent = [[f"{output.item_id}.{output.secret}" for output in half] for half in halves]
    return is_right and sent == [operation["inputs"], made]


def _is_item(item: Record) -> bool:
    Item(item["id"], item["total"], item.get("metadata"))
    return _has(item) and bool(item["key"] == item["id"])


def _has(record: Record, *required: str) -> bool:
    """Return whether these fields are there, and all that have a meaning are right."""
    found = [(record[name], _KIND_OF[name]) for name in record.keys() & _KIND_OF.keys()]
    return record.keys() >= {*required} and all(_is_a(kind, value) for value, kind in found)


def _is_a(kind: Any, value: Any) -> bool:
    if isinstance(kind, int):
        return type(value) is int and 1 <= value <= kind
    return type(value) is kind if isinstance(kind, type) else bool(kind(value))


# The type, the largest value or the check of fields. One means the same in whichever record it is;
# others are kept as they are.
_FIELDS = {
    # The year 9999, in milliseconds.
    "createdAt changedAt givenAt collectedAt begunAt endedAt expiresAt": 253_402_300_799_000,
    "amount each expiresIn": AMOUNT_MAX,
    "number of count from": 1_000_000_000,
    "spentElsewhere unknown neverHeld isNext atDoor isMinted": bool,
    "operation itemId code": str,
    "inputs outputs operations items": list,
    "own": lambda places: type(places) is list and {*map(type, places)} <= {int},
    "note": re.compile(r"(?s).{0,80}").fullmatch,
    "unit": is_unit,
    "links": lambda series: _has(series, "count", "each", "from"),
    "offerId": partial(check_id, "offer"),
}
_KIND_OF = {name: kind for names, kind in _FIELDS.items() for name in names.split()}
