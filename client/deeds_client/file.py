"""The page's backup file: docs/wallet-file.md. And new files."""

import hashlib
import json
import os
import time
import unicodedata
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp
from typing import Any, TextIO

from deeds_client.errors import InvalidInputError, WalletFileError
from deeds_client.links import is_same_service
from deeds_client.record_format import compact, read_contents, write_contents
from deeds_client.records import Contents
from deeds_client.values import member, parse_json

# Nothing else needs it.
try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
except ImportError:
    AESGCM = None  # type: ignore[assignment, misc]

_FORMAT = "deeds wallet"
_VERSION = 4
# Some 200,000 links; JSON of this length may take gigabytes.
LENGTH_MAX = 128 * 1024 * 1024
ITERATIONS = 600_000  # OWASP's figure for PBKDF2-HMAC-SHA-256 (2023).
# Less protects nothing, more takes for ever.
_ITERATIONS_ALLOWED = range(100_000, 2_000_001)
_NONCE_BYTES = 12

Head = dict[str, Any]
Place = str | os.PathLike[str]


def save_wallet(path: Place, contents: Contents, passphrase: str) -> None:
    """Write a new file that holds these records. First it is read as by a restore."""
    with new_file(Path(path)) as opened:
        opened.write(export_wallet(contents, passphrase))
        opened.seek(0)
        import_wallet(opened.read(), passphrase)


def load_wallet(path: Place, passphrase: str, base_url: str = "") -> Contents:
    """Return what a file holds: see `import_wallet`."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError) as error:
        said = f"{path} cannot be read: {getattr(error, 'strerror', error)}."
        raise WalletFileError(said) from None
    return import_wallet(text, passphrase, base_url)


def export_wallet(contents: Contents, passphrase: str) -> str:
    """Return the text of a file that holds these records."""
    salt, nonce = os.urandom(16), os.urandom(_NONCE_BYTES)
    head = _head(ITERATIONS, salt, nonce)
    cipher = _cipher(passphrase, salt, ITERATIONS)
    # When it was written: what came in later is not in it.
    at = time.time_ns() // 1_000_000
    text = compact({**write_contents(contents), "at": at})
    sealed = cipher.encrypt(nonce, text.encode(), compact(head).encode())
    whole = {**head, "data": b64encode(sealed).decode()}
    return json.dumps({**whole, "checksum": _checksum(whole)}, indent=2) + "\n"


def import_wallet(text: str, passphrase: str, base_url: str = "") -> Contents:
    """Return the records of a file, for the service at `base_url` if it names one.

    Raise WalletFileError where anything is wrong with it.
    """
    try:
        head = parse_json(text if len(text) <= LENGTH_MAX else "")
        contents = read_contents(parse_json(_open(head, passphrase)))
    except InvalidInputError:
        raise WalletFileError(
            "This is not a backup file, or it is damaged or of another version."
        ) from None
    home = contents.service or base_url
    # What one service must not be told is not told to another.
    if base_url and not is_same_service(home, base_url):
        raise WalletFileError(f"This backup is for {home!r}, not for {base_url}.")
    return contents


def _open(head: Head, passphrase: str) -> bytes:
    """Return what is encrypted; the data is taken out of the head."""
    is_known = member(head, "version", int) == _VERSION
    if is_known and head.pop("checksum", None) != _checksum(head):
        raise WalletFileError(
            "This file is damaged: a part of it was changed or is missing. Use another"
            " copy of it."
        )
    iterations = member(member(head, "kdf", dict), "iterations", int)
    salt = _bytes(member(head["kdf"], "salt", str))
    nonce = _bytes(member(member(head, "cipher", dict), "iv", str))
    sealed = _bytes(member(head, "data", str))
    del head["data"]
    is_bounded = iterations in _ITERATIONS_ALLOWED and len(nonce) == _NONCE_BYTES
    if head != _head(iterations, salt, nonce) or not is_bounded:
        raise InvalidInputError("This file is encrypted in an unknown way.")
    key = _cipher(passphrase, salt, iterations)
    try:
        return key.decrypt(nonce, sealed, compact(head).encode())
    except InvalidTag:
        raise WalletFileError("The passphrase does not open this file.") from None


def _head(iterations: int, salt: bytes, nonce: bytes) -> Head:
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "kdf": {
            "name": "PBKDF2",
            "hash": "SHA-256",
            "iterations": iterations,
            "salt": b64encode(salt).decode(),
        },
        "cipher": {
            "name": "AES-GCM",
            "length": 256,
            "iv": b64encode(nonce).decode(),
        },
    }


def _checksum(whole: Head) -> str:
    """Return what tells damage from a wrong passphrase, and proves nothing.

    The head is authenticated in the same form.
    """
    return hashlib.sha256(compact(whole).encode()).hexdigest()


def _cipher(passphrase: str, salt: bytes, iterations: int) -> "AESGCM":
    if AESGCM is None:
        raise WalletFileError("Backups need cryptography: pip install cryptography")
    # One passphrase, however a keyboard composes its letters (RFC 8265).
    password = unicodedata.normalize("NFC", passphrase).encode(errors="replace")
    return AESGCM(hashlib.pbkdf2_hmac("sha256", password, salt, iterations))


def _bytes(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise InvalidInputError("This is not base64.") from None


@contextmanager
def new_file(file: Path) -> Iterator[TextIO]:
    """Give a file of mode 0600 to write to. At the end it is there, whole and on disk.

    Raise InvalidInputError where it is there already, or cannot be written.
    """
    is_there = f"{file} is there already."
    # Of what can be no name too this says something.
    if os.path.exists(file):  # noqa: PTH110
        raise InvalidInputError(is_there)
    part = None
    try:
        # Another process may write the same file: each has a part of its own.
        handle, part = mkstemp(".part", f"{file.name}.", file.parent)
        with os.fdopen(handle, "w+", encoding="utf-8", newline="") as opened:
            yield opened
            opened.flush()
            os.fsync(handle)
        _name(Path(part), file)
    except FileExistsError:
        raise InvalidInputError(is_there) from None
    except (OSError, ValueError) as error:
        said = f"{file} cannot be written: {getattr(error, 'strerror', error)}."
        raise InvalidInputError(said) from None
    finally:
        if part:
            Path(part).unlink(missing_ok=True)


def _name(part: Path, file: Path) -> None:
    """Give a part the name of the file. Raise FileExistsError if that is taken."""
    try:
        file.hardlink_to(part)
    except FileExistsError:
        raise
    except OSError:
        # FAT has no links. A kill between these two leaves an empty file.
        file.touch(exist_ok=False)
        part.replace(file)
