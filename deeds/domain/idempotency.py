"""The Idempotency-Key header (draft-ietf-httpapi-idempotency-key-header) and replays.

The ledger itself is the record: an operation is replayed for a request that names the very outputs
which that operation spent and created. So nothing has to be stored that a secret could be guessed
from. See docs/decisions/0003-idempotency-in-the-ledger.md.
"""

import hashlib
import re
from collections.abc import Sequence

from deeds.domain.errors import (
    IdempotencyKeyReusedError,
    InvalidIdempotencyKeyError,
    LedgerUnavailableError,
)
from deeds.domain.hashing import Hasher, HashJob
from deeds.domain.model import (
    IDEMPOTENCY_KEY_LENGTH_MAX,
    Minted,
    MintRequest,
    Operation,
    OperationKind,
    RawOutput,
    SecretClass,
    Swapped,
    SwapRequest,
)
from deeds.domain.outputs import Locator
from deeds.domain.protocols import Ledger
from deeds.domain.raw_output import is_strong_secret
from deeds.domain.schemes import HashSchemes

# The hash of a key under each scheme that it may have been recorded under, the current one first.
KeyHashes = tuple[bytes, ...]

_PRINTABLE = re.compile(rf"[!-~](?:[ -~]{{0,{IDEMPOTENCY_KEY_LENGTH_MAX - 2}}}[!-~])?")
_QUOTED = re.compile(r'"((?:[^"\\]|\\["\\])*)"')
_ESCAPED = re.compile(r'\\(["\\])')
# RFC 9562 version 4: of its 128 bits, 122 are random.
_RANDOM_UUID = re.compile(
    "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.IGNORECASE
)
_LABEL = b"deeds idempotency key v1:"


def parse_idempotency_key(header: str) -> str:
    """Return the key that the header value names.

    The draft asks for a quoted string (RFC 8941); clients also send it bare. Both name one key.

    Raises:
        InvalidIdempotencyKeyError: not 1 to 255 printable ASCII characters.
    """
    value = header.strip(" \t")
    quoted = _QUOTED.fullmatch(value)
    key = _ESCAPED.sub(r"\1", quoted[1]) if quoted else value
    if not _PRINTABLE.fullmatch(key):
        raise InvalidIdempotencyKeyError(
            f"an Idempotency-Key has 1 to {IDEMPOTENCY_KEY_LENGTH_MAX} printable ASCII characters"
        )
    return key


def is_random_key(key: str) -> bool:
    """Return whether nobody can guess the key: a random UUID (122 bits) or a strong secret.

    Any other key has to be hashed like a secret: clients make keys from what they send.
    """
    return is_strong_secret(key) or _RANDOM_UUID.fullmatch(key) is not None


class Replayer:
    """Finds the operation of a key and answers for it."""

    def __init__(
        self, ledger: Ledger, schemes: HashSchemes, hasher: Hasher, locator: Locator
    ) -> None:
        self._ledger = ledger
        self._schemes = schemes
        self._hasher = hasher
        self._locator = locator

    def hash_key(self, key: str | None) -> KeyHashes:
        """Return the 32-byte hashes of a key; empty where there is no key."""
        if key is None:
            return ()
        if is_random_key(key):
            return (hashlib.sha256(_LABEL + key.encode("ascii")).digest(),)
        schemes = self._schemes.all_of(SecretClass.ORDINARY)
        return tuple(self._hasher.digests([HashJob(key, each.key_salt, each) for each in schemes]))

    def find(self, hashes: KeyHashes) -> Operation | None:
        """Return the operation that was recorded under the key, if there is one."""
        return self._ledger.read_operation(hashes) if hashes else None

    def get(self, hashes: KeyHashes) -> Operation:
        """Return the operation that took the key while this request was being hashed."""
        operation = self.find(hashes)
        if operation is None:
            # Only if the ledger was put back to an older state in between.
            raise LedgerUnavailableError("the ledger has lost the record of this Idempotency-Key")
        return operation

    def replay_mint(self, operation: Operation, request: MintRequest) -> Minted:
        """Return the first answer to this mint.

        Raises:
            IdempotencyKeyReusedError: the operation answered another request.
        """
        item = self._ledger.read_item(operation.item_id) if operation.item_id else None
        if item is None or item.metadata != request.metadata:
            raise IdempotencyKeyReusedError(failed_secrets_count=1)
        raws = tuple(RawOutput(new.amount, item.id, new.secret) for new in request.outputs)
        self._check_same(operation, (), raws)
        return Minted(item.id, raws, operation.id, replayed=True)

    def replay_swap(self, operation: Operation, request: SwapRequest) -> Swapped:
        """Return the first answer to this swap.

        Raises:
            IdempotencyKeyReusedError: the operation answered another request.
        """
        if operation.kind is not OperationKind.SWAP:
            raise IdempotencyKeyReusedError(failed_secrets_count=1)
        self._check_same(operation, request.inputs, request.outputs)
        return Swapped(operation.id, replayed=True)

    def _check_same(
        self, operation: Operation, inputs: Sequence[RawOutput], outputs: Sequence[RawOutput]
    ) -> None:
        """Raise IdempotencyKeyReusedError unless the operation spent and created just these."""
        raws = [*inputs, *outputs]
        found = self._locator.find(raws, self._locator.read_items(raws))
        spent, created = found[: len(inputs)], found[len(inputs) :]
        is_same = (len(inputs), len(outputs)) == (operation.inputs_count, operation.outputs_count)
        is_same = is_same and all(each and each.spent_by == operation.id for each in spent)
        is_same = is_same and all(each and each.created_by == operation.id for each in created)
        if not is_same:
            raise IdempotencyKeyReusedError(failed_secrets_count=max(1, found.count(None)))
