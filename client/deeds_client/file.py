"""The page's backup file: a wallet's records under a passphrase. See docs/wallet-file.md.

Somebody who knows its passphrase may have written anything into it, and what is taken in is sent
and shown: so each record is checked.
"""

import hashlib
import json
import os
import re
import unicodedata
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from deeds_client.errors import WalletFileError
from deeds_client.links import is_unit
from deeds_client.records import Record
from deeds_client.values import AMOUNT_MAX, WRONG_FORM, Item, NewOutput, Output, check_offer_id

# In characters: some 200,000 links. JSON of this length may take gigabytes of memory.
LENGTH_MAX = 128 * 1024 * 1024
# OWASP's figure for PBKDF2-HMAC-SHA-256 (2023). A file may name another one within bounds: less is
# no protection, more would take for ever.
ITERATIONS = 600_000
_ITERATIONS_ALLOWED = range(100_000, 10_000_001)
_FORMAT = "deeds wallet"

REST_STATES = ("seen", "void", "held", "offered", "given")
_STATES = (*REST_STATES, "coming", "leaving", "spent")
_MAKINGS = ("ask", "trade")
_KINDS = ("mint", "claim", "send", "split", "merge", "takeBack", "withdraw", "complete", *_MAKINGS)
_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# The year 9999, in milliseconds.
_TIME_MAX = 253_402_300_799_000
_NUMBER_MAX = 1_000_000_000
_NOTE_LENGTH_MAX = 80


def export_wallet(records: dict[str, list[Record]], passphrase: str) -> str:
    """Return the text of a file that holds these outputs, operations and items."""
    salt, nonce = os.urandom(16), os.urandom(12)
    head = _head(ITERATIONS, b64encode(salt).decode(), b64encode(nonce).decode())
    cipher = _cipher(passphrase, salt, ITERATIONS)
    data = b64encode(cipher.encrypt(nonce, _compact(records), _compact(head)))
    return json.dumps({**head, "data": data.decode()}, indent=2) + "\n"


def import_wallet(text: str, passphrase: str) -> dict[str, list[Record]]:
    """Return the records of a file; raise WalletFileError where anything is wrong with it."""
    said = "This is not a backup file."
    try:
        head = json.loads(text if len(text) <= LENGTH_MAX else "")
        if head["format"] == _FORMAT:
            said = "This backup file is damaged, or of another version."
            opened = _open(head, passphrase)
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
    return {"format": _FORMAT, "version": 3, "kdf": kdf, "cipher": cipher}


def _cipher(passphrase: str, salt: bytes, iterations: int) -> AESGCM:
    # One passphrase, however a keyboard composes its letters (RFC 8265).
    password = unicodedata.normalize("NFC", passphrase).encode(errors="replace")
    return AESGCM(hashlib.pbkdf2_hmac("sha256", password, salt, iterations))


def _compact(value: Any) -> bytes:
    """Return JSON as JavaScript writes it: the head is authenticated in this form."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode()


def read_records(found: Any) -> dict[str, list[Record]]:
    """Return the records; raise one of WRONG_FORM unless all are whole and belong together."""
    records = {kind: found[kind] for kind in ("outputs", "operations", "items")}
    _compact(records)  # What has no form in JSON or UTF-8 could not be kept.
    outputs, operations, items = records.values()
    known = {output["key"] for output in outputs}
    is_right = (
        _has(records)
        and all(_is_output(output) for output in outputs)
        and all(_is_operation(operation, known) for operation in operations)
        and all(
            _has(item, "total")
            and item["key"] == Item(item["id"], item["total"], item.get("metadata")).id
            for item in items
        )
    )
    if not is_right:
        raise ValueError("not records of a wallet")
    return records


def _is_output(output: Record) -> bool:
    whole = Output(output["amount"], output["itemId"], output["secret"])
    return (
        _has(output, "createdAt", "changedAt", *(("number",) if "each" in output else ()))
        and output["key"] == f"{whole.item_id}.{whole.secret}"
        and output["state"] in _STATES
        and output.get("before") in (None, *REST_STATES)
        and ("number" in output) == ("of" in output)
    )


def _is_operation(operation: Record, known: set[str]) -> bool:
    kind, state, body = operation["kind"], operation["state"], operation["body"]
    inputs, made = operation["inputs"], [output["key"] for output in operation["outputs"]]
    needed = {"begun": (), "open": ("offerId", "expiresAt"), "done": (), "refused": ("code",)}
    is_whole = (
        _has(operation, "amount", "begunAt", *needed[state])
        and _has(body)
        and _UUID.fullmatch(operation["key"]) is not None
        and kind in _KINDS
        and (state != "open" or kind in _MAKINGS)
        and known.issuperset([*inputs, *made])
        and all(output["state"] in ("held", "given") for output in operation["outputs"])
    )
    if kind == "mint":
        new = [NewOutput(output["amount"], output["secret"]) for output in body["outputs"]]
        return is_whole and not inputs and new != [] and type(body.get("metadata", {})) is dict
    # What is sent must be what is settled. The amount of a link may have been put right since.
    raws = [[Output.parse(raw) for raw in body[half]] for half in ("inputs", "outputs")]
    sent = [[f"{raw.item_id}.{raw.secret}" for raw in half] for half in raws]
    return is_whole and sent == [inputs, made]


def _has(record: Record, *required: str) -> bool:
    """Return whether these fields are there, and all that have a meaning are right."""
    found = [name for name in _CHECKS if name in record]
    return record.keys() >= {*required} and all(_CHECKS[name](record[name]) for name in found)


def _up_to(most: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and 1 <= value <= most


def _is_a(kind: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is kind


# A field means the same in whichever record it is; others are kept as they are.
_FIELDS: dict[str, Callable[[Any], Any]] = {
    "createdAt changedAt givenAt collectedAt begunAt endedAt expiresAt": _up_to(_TIME_MAX),
    "amount each total expiresIn": _up_to(AMOUNT_MAX),
    "number of count from": _up_to(_NUMBER_MAX),
    "spentElsewhere unknown neverHeld isNext atDoor isMinted": _is_a(bool),
    "operation itemId code": _is_a(str),
    "inputs outputs operations items": _is_a(list),
    "own": lambda value: {type(place) for place in value} <= {int},
    "note": lambda value: type(value) is str and len(value) <= _NOTE_LENGTH_MAX,
    "unit": is_unit,
    "links": lambda value: _has(value, "count", "each", "from"),
    "offerId": check_offer_id,
}
_CHECKS = {name: check for names, check in _FIELDS.items() for name in names.split()}
