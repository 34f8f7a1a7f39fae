"""The header Idempotency-Key (draft-ietf-httpapi-idempotency-key-header), and what it replays."""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from deeds.domain import errors
from deeds.domain.hashing import Hasher, HashJob
from deeds.domain.model import (
    IDEMPOTENCY_KEY_LENGTH_MAX,
    Answer,
    Operation,
    RawOutput,
    SecretClass,
    SwapRecord,
)
from deeds.domain.outputs import Locator
from deeds.domain.raw_output import is_strong_secret
from deeds.domain.schemes import HashSchemes

# The hash of a key under each scheme that it may have been recorded under, the current
# one first.
KeyHashes = tuple[bytes, ...]

_NOTHING = SwapRecord((), (), {}, {}, frozenset(), ())

_PRINTABLE = re.compile(rf"[!-~](?:[ -~]{{0,{IDEMPOTENCY_KEY_LENGTH_MAX - 2}}}[!-~])?")
_QUOTED = re.compile(r'"((?:[^"\\]|\\["\\])*)"')
_ESCAPED = re.compile(r'\\(["\\])')
# RFC 9562 version 4: of its 128 bits, 122 are random.
_RANDOM_UUID = re.compile(
    "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.IGNORECASE
)
_LABEL = b"deeds idempotency key v1:"


def parse_idempotency_key(header: str) -> str:
    """Return the key that the header value names; raise InvalidIdempotencyKeyError.

    The draft asks for a quoted string (RFC 8941); clients also send it bare. Both name
    one key.
    """
    value = header.strip(" \t")
    quoted = _QUOTED.fullmatch(value)
    key = _ESCAPED.sub(r"\1", quoted[1]) if quoted else value
    if not _PRINTABLE.fullmatch(key):
        raise errors.InvalidIdempotencyKeyError(
            f"an Idempotency-Key has 1 to {IDEMPOTENCY_KEY_LENGTH_MAX} printable ASCII characters"
        )
    return key


def is_random_key(key: str) -> bool:
    """Return whether nobody can guess the key.

    A random UUID (122 bits) or a strong secret.

    Any other key has to be hashed like a secret: clients make keys from what they send.
    """
    return is_strong_secret(key) or _RANDOM_UUID.fullmatch(key) is not None


def hash_key(key: str, schemes: HashSchemes, hasher: Hasher) -> KeyHashes:
    """Return the 32-byte hash of a key under each scheme, or the only one of a random key."""
    if is_random_key(key):
        return (hashlib.sha256(_LABEL + key.encode("ascii")).digest(),)
    jobs = [
        HashJob(key, each.key_salt, each)
        for each in schemes.all_of(SecretClass.ORDINARY)
    ]
    return tuple(hasher.digests(jobs))


@dataclass(frozen=True, slots=True)
class Replays:
    """Answers a repeated request as the first one, from what the ledger records of that.

    An operation is replayed for a request that names the very outputs which that
    operation spent and created. So nothing is stored that a secret could be guessed
    from (docs/decisions/0003-idempotency-in-the-ledger.md). `read_operation` returns
    the one recorded under one of the hashes, if any.
    """

    read_operation: Callable[[KeyHashes], Operation | None]
    locator: Locator

    def once(
        self,
        key: str | None,
        work: Callable[[KeyHashes], Answer],
        replay: Callable[[Operation], Answer],
    ) -> Answer:
        """Return what the work answers, or the first answer to a request with this key."""
        hashes = (
            ()
            if key is None
            else hash_key(key, self.locator.schemes, self.locator.hasher)
        )
        operation = self.read_operation(hashes)
        if operation is None:
            try:
                return work(hashes)
            except (errors.IdempotencyKeyTakenError, errors.OfferNotOpenError) as error:
                # The same request may have completed the offer meanwhile.
                operation = self.read_operation(hashes)
                if operation is None and isinstance(error, errors.OfferNotOpenError):
                    raise
        if operation is None:
            # Only if the ledger was put back to an older state in between.
            raise errors.LedgerUnavailableError(
                "the ledger has lost the record of this Idempotency-Key"
            )
        return replay(operation)

    def check_same(
        self,
        operation: Operation,
        inputs: Sequence[RawOutput],
        outputs: Sequence[RawOutput],
        half: SwapRecord = _NOTHING,
    ) -> None:
        """Raise IdempotencyKeyReusedError unless the operation spent and created just these.

        Besides the half of an offer, which the request must not name.
        """
        counts = (len(inputs) + len(half.inputs), len(outputs) + len(half.outputs))
        if counts != (operation.inputs_count, operation.outputs_count):
            raise errors.IdempotencyKeyReusedError(failed_secrets_count=1)
        raws = [*inputs, *outputs]
        found = self.locator.find(raws, self.locator.read_items(raws))
        operation_ids = {each and each.spent_by for each in found[: len(inputs)]}
        operation_ids |= {each and each.created_by for each in found[len(inputs) :]}
        of_half = {*half.inputs, *half.outputs}.intersection(
            each.output for each in found if each
        )
        if operation_ids != {operation.id} or of_half:
            raise errors.IdempotencyKeyReusedError(
                failed_secrets_count=max(1, found.count(None))
            )
