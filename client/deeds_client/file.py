"""Encrypted backup files (docs/wallet-file.md), and files that overwrite no other."""

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
from deeds_client.record_format import compact, read_contents, write_contents
from deeds_client.records import Contents
from deeds_client.service import is_same_service
from deeds_client.values import member, parse_json

# Optional: only backups need it.
try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
except ImportError:
    AESGCM = None  # type: ignore[assignment, misc]

_FORMAT = "deeds wallet"
_VERSION = 4
# In characters: about 200,000 links. Parsing JSON of this length may take gigabytes of
# memory.
LENGTH_MAX = 128 * 1024 * 1024
ITERATIONS = 600_000  # OWASP's figure for PBKDF2-HMAC-SHA-256 (2023).
# Fewer would protect nothing, and more would take forever.
_ITERATIONS_ALLOWED = range(100_000, 2_000_001)
_NONCE_BYTES = 12

Head = dict[str, Any]
StrPath = str | os.PathLike[str]


def save_wallet(path: StrPath, contents: Contents, passphrase: str) -> None:
    """Write records to a new encrypted file, and read it back as a restore would.

    The file appears only if it can be read. Raise InvalidInputError if it exists
    already.
    """
    with new_file(Path(path)) as opened:
        opened.write(export_wallet(contents, passphrase))
        opened.seek(0)
        import_wallet(opened.read(), passphrase)


def load_wallet(path: StrPath, passphrase: str, base_url: str = "") -> Contents:
    """Return the records of a file: see `import_wallet`."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError) as error:
        message = f"{path} cannot be read: {getattr(error, 'strerror', error)}."
        raise WalletFileError(message) from None
    return import_wallet(text, passphrase, base_url)


def export_wallet(contents: Contents, passphrase: str) -> str:
    """Return the text of an encrypted file with these records."""
    salt, nonce = os.urandom(16), os.urandom(_NONCE_BYTES)
    head = _head(ITERATIONS, salt, nonce)
    cipher = _cipher(passphrase, salt, ITERATIONS)
    # The time of writing, so that a reader knows how old the records are.
    at = time.time_ns() // 1_000_000
    text = compact({**write_contents(contents), "at": at})
    sealed = cipher.encrypt(nonce, text.encode(), compact(head).encode())
    whole = {**head, "data": b64encode(sealed).decode()}
    return json.dumps({**whole, "checksum": _checksum(whole)}, indent=2) + "\n"


def import_wallet(text: str, passphrase: str, base_url: str = "") -> Contents:
    """Decrypt the text of a file and return its records.

    Raise WalletFileError if the file is invalid, the passphrase is wrong, or the file
    names another service than `base_url`.
    """
    try:
        head = parse_json(text if len(text) <= LENGTH_MAX else "")
        contents = read_contents(parse_json(_open(head, passphrase)))
    except InvalidInputError:
        raise WalletFileError(
            "This is not a backup file, or it is damaged or of another version."
        ) from None
    url = contents.service or base_url
    # Never send one service's secrets to another.
    if base_url and not is_same_service(url, base_url):
        raise WalletFileError(f"This backup is for {url!r}, not for {base_url}.")
    return contents


def _open(head: Head, passphrase: str) -> bytes:
    """Return the decrypted data. Removes `data` and `checksum` from `head`.

    Raise WalletFileError if the file is damaged or the passphrase is wrong, and
    InvalidInputError if a field is invalid.
    """
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
    cipher = _cipher(passphrase, salt, iterations)
    try:
        return cipher.decrypt(nonce, sealed, compact(head).encode())
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
    """Return a checksum that distinguishes damage from a wrong passphrase.

    Anybody can compute it. The cipher authenticates the head, serialized in the same
    way.
    """
    return hashlib.sha256(compact(whole).encode()).hexdigest()


def _cipher(passphrase: str, salt: bytes, iterations: int) -> "AESGCM":
    if AESGCM is None:
        raise WalletFileError("Backups need cryptography: pip install cryptography")
    # NFC, because keyboards compose the same letters differently (RFC 8265).
    password = unicodedata.normalize("NFC", passphrase).encode(errors="replace")
    return AESGCM(hashlib.pbkdf2_hmac("sha256", password, salt, iterations))


def _bytes(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise InvalidInputError("This is not base64.") from None


@contextmanager
def new_file(file: Path) -> Iterator[TextIO]:
    """Yield a new file of mode 0600, which appears complete and synced at the end.

    Raise InvalidInputError if it exists or cannot be written.
    """
    conflict = f"{file} is there already."
    # Unlike Path.exists, this does not raise for a name that is too long.
    if os.path.exists(file):  # noqa: PTH110
        raise InvalidInputError(conflict)
    part = None
    try:
        # Use a temporary name: another process may write the same file.
        handle, part = mkstemp(".part", f"{file.name}.", file.parent)
        with os.fdopen(handle, "w+", encoding="utf-8", newline="") as opened:
            yield opened
            opened.flush()
            os.fsync(handle)
        _name(Path(part), file)
    except FileExistsError:
        raise InvalidInputError(conflict) from None
    except (OSError, ValueError) as error:
        message = f"{file} cannot be written: {getattr(error, 'strerror', error)}."
        raise InvalidInputError(message) from None
    finally:
        if part:
            Path(part).unlink(missing_ok=True)


def _name(part: Path, file: Path) -> None:
    """Rename `part` to `file`. Raise FileExistsError if `file` exists."""
    try:
        file.hardlink_to(part)
    except FileExistsError:
        raise
    except OSError:
        # FAT has no hard links. A kill between these two calls leaves an empty file.
        file.touch(exist_ok=False)
        part.replace(file)
