"""Answers a request whose Idempotency-Key was used before. Must import no library.

The ledger itself is the record: an operation is replayed for a request that names the very outputs
which that operation spent and created. So nothing has to be stored that a secret could be guessed
from. See docs/decisions/0003-idempotency-in-the-ledger.md.
"""

from collections.abc import Sequence

from deeds.domain.errors import IdempotencyKeyReusedError, LedgerUnavailableError
from deeds.domain.hashing import Hasher, HashJob
from deeds.domain.idempotency import is_random_key, random_key_hash
from deeds.domain.ledger import Ledger
from deeds.domain.locator import Locator
from deeds.domain.records import Operation, OperationKind, RecordedOutput, SecretClass
from deeds.domain.scheme_book import SchemeBook
from deeds.domain.values import Minted, MintRequest, RawOutput, Swapped, SwapRequest

# The hash of a key under each scheme that it may have been recorded under, the current one first.
KeyHashes = tuple[bytes, ...]


class Replayer:
    """Finds the operation of a key and answers for it."""

    def __init__(
        self, ledger: Ledger, schemes: SchemeBook, hasher: Hasher, locator: Locator
    ) -> None:
        """Take the ledger, how keys were hashed, what hashes them, and what finds outputs."""
        self._ledger = ledger
        self._schemes = schemes
        self._hasher = hasher
        self._locator = locator

    def hash_key(self, key: str | None) -> KeyHashes:
        """Return the hashes of a key; empty where there is no key."""
        if key is None:
            return ()
        if is_random_key(key):
            return (random_key_hash(key),)
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
        found = self._find(raws)
        if not _all_created_by(operation, found):
            raise IdempotencyKeyReusedError(failed_secrets_count=max(1, found.count(None)))
        return Minted(item.id, raws, operation.id, replayed=True)

    def replay_swap(self, operation: Operation, request: SwapRequest) -> Swapped:
        """Return the first answer to this swap.

        Raises:
            IdempotencyKeyReusedError: the operation answered another request.
        """
        if operation.kind is not OperationKind.SWAP:
            raise IdempotencyKeyReusedError(failed_secrets_count=1)
        found = self._find(request.inputs + request.outputs)
        inputs, outputs = found[: len(request.inputs)], found[len(request.inputs) :]
        if not (_all_spent_by(operation, inputs) and _all_created_by(operation, outputs)):
            raise IdempotencyKeyReusedError(failed_secrets_count=max(1, found.count(None)))
        return Swapped(operation.id, replayed=True)

    def _find(self, raws: Sequence[RawOutput]) -> list[RecordedOutput | None]:
        return self._locator.find(raws, self._locator.read_guards(raws))


def _all_spent_by(operation: Operation, inputs: Sequence[RecordedOutput | None]) -> bool:
    return len(inputs) == operation.inputs_count and all(
        found is not None and found.spent_by == operation.id for found in inputs
    )


def _all_created_by(operation: Operation, outputs: Sequence[RecordedOutput | None]) -> bool:
    return len(outputs) == operation.outputs_count and all(
        found is not None and found.created_by == operation.id for found in outputs
    )
