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
from deeds_client.records import Record, key_of
from deeds_client.values import WRONG_FORM, Item, NewOutput, Output, check_amount, check_offer_id

# In characters: some 200,000 links. JSON of this length may take gigabytes of memory.
LENGTH_MAX = 128 * 1024 * 1024
# OWASP's figure for PBKDF2-HMAC-SHA-256 (2023). A file may name another one within bounds: less is
# no protection, more would take for ever.
ITERATIONS = 600_000
_ITERATIONS_ALLOWED = range(100_000, 10_000_001)
_HEAD = {"format": "deeds wallet", "version": 3}
_KDF = {"name": "PBKDF2", "hash": "SHA-256"}
_CIPHER = {"name": "AES-GCM", "length": 256}

_RECORDS = ("outputs", "operations", "items")
_REST_STATES = ("seen", "void", "held", "offered", "given")
_STATES = (*_REST_STATES, "coming", "leaving", "spent")
_MAKINGS = ("ask", "trade")
_KINDS = ("mint", "claim", "send", "split", "merge", "takeBack", "withdraw", "complete", *_MAKINGS)
_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# The year 9999, in milliseconds.
_TIME_MAX = 253_402_300_799_000
_NUMBER_MAX = 1_000_000_000
_NOTE_LENGTH_MAX = 80
_UNIT_LENGTH_MAX = 20
# Records have four. What has hundreds could be read, and not be written again.
_LEVELS_MAX = 20


def export_wallet(records: dict[str, list[Record]], passphrase: str) -> str:
    """Return the text of a file that holds these outputs, operations and items."""
    salt, nonce = os.urandom(16), os.urandom(12)
    kdf = {**_KDF, "iterations": ITERATIONS, "salt": b64encode(salt).decode()}
    head = {**_HEAD, "kdf": kdf, "cipher": {**_CIPHER, "iv": b64encode(nonce).decode()}}
    text = _compact({kind: records[kind] for kind in _RECORDS})
    sealed = _cipher(passphrase, salt, ITERATIONS).encrypt(nonce, text, _compact(head))
    return json.dumps({**head, "data": b64encode(sealed).decode()}, indent=2) + "\n"


def import_wallet(text: str, passphrase: str) -> dict[str, list[Record]]:
    """Return the records of a file; raise WalletFileError where anything is wrong with it."""
    try:
        head = json.loads(text if len(text) <= LENGTH_MAX else "")
        if head["format"] != _HEAD["format"]:
            raise ValueError
    except WRONG_FORM:
        raise WalletFileError("This is not a backup file.") from None
    if head.get("version") != _HEAD["version"]:
        raise WalletFileError("This backup file is of another version. Make a new one.")
    try:
        opened = _open(head, passphrase)
    except InvalidTag:
        raise WalletFileError("The passphrase does not open this file.") from None
    except WRONG_FORM:
        raise WalletFileError("This backup file is damaged.") from None
    try:
        return read_records(json.loads(opened))
    except WRONG_FORM:
        raise WalletFileError("The file opens, but what it holds is no wallet.") from None


def _open(head: Record, passphrase: str) -> bytes:
    data, kdf, cipher = head.pop("data"), head["kdf"], head["cipher"]
    is_known = kdf.items() >= _KDF.items() and cipher.items() >= _CIPHER.items()
    iterations = kdf["iterations"]
    if not is_known or type(iterations) is not int or iterations not in _ITERATIONS_ALLOWED:
        raise WalletFileError("This backup file is encrypted in an unknown way.")
    texts = (kdf["salt"], cipher["iv"], data)
    salt, nonce, sealed = (b64decode(text, validate=True) for text in texts)
    return _cipher(passphrase, salt, iterations).decrypt(nonce, sealed, _compact(head))


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
    records = {kind: found[kind] for kind in _RECORDS}
    _compact(records)  # What has no form in JSON or UTF-8 could not be kept.
    outputs, operations, items = records.values()
    known = {output["key"] for output in outputs}
    begun = {operation["key"] for operation in operations}
    minted = {each.get("itemId") for each in operations if each["kind"] == "mint"}
    is_right = (
        _has(records)
        and _has_levels(records)
        and all(_is_output(output, begun) for output in outputs)
        and all(_is_operation(operation, known) for operation in operations)
        and all(_is_item(item, minted) for item in items)
    )
    if not is_right:
        raise ValueError("not records of a wallet")
    return records


def _is_output(output: Record, begun: set[str]) -> bool:
    state, before, each = output["state"], output.get("before"), output.get("each")
    amount = Output(output["amount"], output["itemId"], output["secret"]).amount
    return (
        _has(output, "createdAt", "changedAt")
        and output["key"] == key_of(output)
        and state in _STATES
        and (before in _REST_STATES if state == "leaving" else before is None)
        and (state not in ("leaving", "coming") or output["operation"] in begun)
        and ("number" in output) == ("of" in output)
        # A part that is still to be split is as many links as its numbers say, and not handed out.
        and (not each or amount == each * (output["of"] - output["number"] + 1))
        and (not each or "given" not in (state, before))
    )


def _is_operation(operation: Record, known: set[str]) -> bool:
    body, outputs = operation["body"], operation["outputs"]
    made = [output["key"] for output in outputs]
    is_whole = (
        _has(operation, "amount", "begunAt", "inputs")
        and _UUID.fullmatch(operation["key"]) is not None
        and operation["kind"] in _KINDS
        and operation["state"] in ("begun", "open", "done", "refused")
        and known.issuperset([*operation["inputs"], *made])
        and all(output["state"] in ("held", "given") for output in outputs)
        and all(type(place) is int for place in operation.get("own", []))
        and _has_offer(operation)
    )
    if operation["kind"] == "mint":
        return is_whole and operation["inputs"] == [] and _is_mint(body, operation.get("links"))
    # What is sent must be what is settled. The amount of a link may have been put right since.
    raws = [[Output.parse(raw) for raw in body[half]] for half in ("inputs", "outputs")]
    sent = [[f"{raw.item_id}.{raw.secret}" for raw in half] for half in raws]
    return is_whole and _has(body) and sent == [operation["inputs"], made]


def _is_mint(body: Record, links: Record | None) -> bool:
    made = [NewOutput(output["amount"], output["secret"]).amount for output in body["outputs"]]
    is_series = links is None or (
        sum(made) == links["count"] * links["each"] and {*made[:-1]} <= {links["each"]}
    )
    return _has(body, "outputs") and type(body.get("metadata", {})) is dict and is_series


def _has_offer(operation: Record) -> bool:
    """Return whether what is completed or open has an offer that can be asked for."""
    is_open, is_named = operation["state"] == "open", "offerId" in operation
    is_made = "expiresAt" in operation
    if operation["kind"] not in _MAKINGS:
        return not is_open and not is_made and (is_named or operation["kind"] != "complete")
    check_amount(operation["body"]["expiresIn"])
    return is_named == is_made and (is_made or not is_open) and len(operation["outputs"]) > 0


def _is_item(item: Record, minted: set[str]) -> bool:
    Item(item["id"], item["total"], item.get("metadata"))
    is_ours = "isMinted" not in item or item["id"] in minted
    return _has(item) and item["key"] == item["id"] and is_ours


def _has(record: Record, *required: str) -> bool:
    """Return whether these fields are there, and all that have a meaning are right."""
    found = [name for name in _CHECKS if name in record]
    return record.keys() >= {*required} and all(_CHECKS[name](record[name]) for name in found)


def _has_levels(value: Any, most: int = _LEVELS_MAX) -> bool:
    parts = value.values() if type(value) is dict else value if type(value) is list else ()
    return most > 0 and all(_has_levels(part, most - 1) for part in parts)


def _is_unit(value: Any) -> bool:
    """Return whether it is a word for one unit: a digit in it would pass for the amount's."""
    groups = [unicodedata.category(character)[0] for character in value]
    is_word = value[0].isalpha() and not {"N", "C"}.intersection(groups)
    return is_word and len(value) <= _UNIT_LENGTH_MAX and value == " ".join(value.split())


def _is_time(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= _TIME_MAX


def _is_a(kind: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is kind


# A field means the same in whichever record it is; others are kept as they are.
_FIELDS: dict[str, Callable[[Any], Any]] = {
    "createdAt changedAt givenAt collectedAt begunAt endedAt expiresAt": _is_time,
    "amount each": check_amount,
    "number of count from": lambda value: check_amount(value) <= _NUMBER_MAX,
    "spentElsewhere unknown neverHeld isNext atDoor isMinted": _is_a(bool),
    "key operation itemId code": _is_a(str),
    "inputs outputs operations items own": _is_a(list),
    "note": lambda value: type(value) is str and len(value) <= _NOTE_LENGTH_MAX,
    "unit": _is_unit,
    "links": lambda value: _has(value, "count", "each", "from"),
    "offerId": check_offer_id,
}
_CHECKS = {name: check for names, check in _FIELDS.items() for name in names.split()}
