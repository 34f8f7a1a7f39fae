"""The operations of the service: mint, swap, check, find, and read an item.

Each method checks the rules that need no ledger, reads the items, hashes while no
transaction is open, and runs at most one short transaction.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from deeds import errors
from deeds.hashing import SALT_BYTES, Hasher
from deeds.model import (
    FindRequest,
    FoundOutput,
    IdempotencyKey,
    Item,
    ItemHashing,
    MintRecord,
    MintRequest,
    Operation,
    Output,
    RawOutput,
    SwapRecord,
    SwapRequest,
)
from deeds.raw_output import ITEM_ID_PREFIX, is_id, is_strong_secret, make_id
from deeds.rules import check_balance, check_mint, check_named_once, check_strong
from storage.repository import Repository


@dataclass(frozen=True, slots=True)
class DeedService:
    """Combines the rules, the hashing and the ledger. Stateless; thread-safe.

    `token_bytes(n)` returns n bytes of a CSPRNG. Methods take the `client` that sent
    the request, because the hash pool limits its share. They raise DeedError if a
    request breaks a rule or cannot be carried out. After an error no units have moved,
    except perhaps after LedgerInDoubtError.
    """

    ledger: Repository
    hasher: Hasher
    token_bytes: Callable[[int], bytes]

    def mint(
        self, request: MintRequest, idempotency_key: str | None, client: str
    ) -> tuple[Operation, tuple[RawOutput, ...]]:
        """Create an item; return the operation and the item's raw outputs."""
        check_mint(request)
        if idempotency_key is None:
            return self._mint(request, None, None, client)
        key_hash = self.hasher.hash_key(idempotency_key, client)
        first = self.ledger.read_minted(key_hash)
        try:
            return self._mint(request, first, key_hash, client)
        except errors.IdempotencyKeyReusedError:
            # The same request may have been served concurrently, with another salt:
            # compare with that mint.
            twin = self.ledger.read_minted(key_hash)
            if twin == first:
                raise
            return self._mint(request, twin, key_hash, client)

    def swap(
        self, request: SwapRequest, idempotency_key: str | None, client: str
    ) -> Operation:
        """Replace the secrets of the inputs by those of the outputs, all or nothing."""
        check_named_once(request)
        check_balance(request.inputs, request.outputs)
        items = self.read_hashings(request, idempotency_key, client)
        inputs, outputs = self.hash_swap(request, items, client)
        key = self.hash_key("swap", idempotency_key, inputs, outputs, client)
        record = SwapRecord(inputs, outputs, key)
        try:
            return self.ledger.swap(record)
        except errors.UsedSecretError as error:
            count_used_guess(error, request.outputs)
            raise

    def check(self, raws: Sequence[RawOutput], client: str) -> list[str]:
        """Return "unspent", "spent" or "unknown" for each raw output, in order."""
        items = self.ledger.read_hashings({raw.item_id for raw in raws})
        known = [raw for raw in raws if raw.item_id in items]
        outputs = self.hasher.hash_outputs(known, items, client)
        known_records = iter(self.ledger.read_outputs(outputs))
        records = [
            next(known_records) if raw.item_id in items else None for raw in raws
        ]
        return [
            record.state if record and record.amount == raw.amount else "unknown"
            for raw, record in zip(raws, records, strict=True)
        ]

    def find(self, request: FindRequest, client: str) -> list[FoundOutput | None]:
        """Return the output of each strong secret, in order, or None.

        Raises the errors of `hash_secrets`.
        """
        return self.ledger.read_outputs(self.hash_secrets(request, client))

    def item(self, item_id: str) -> Item:
        """Return the item; raise ItemNotFoundError."""
        if not is_id(ITEM_ID_PREFIX, item_id):
            raise errors.ItemNotFoundError
        return self.ledger.read_item(item_id)

    def read_hashings(
        self, request: SwapRequest, idempotency_key: str | None, client: str
    ) -> dict[str, ItemHashing]:
        """Return the hashing of each item of the request, by item id.

        If an item is unknown, raises IdempotencyKeyReusedError if the key was used, and
        UnknownItemError otherwise.
        """
        items = self.ledger.read_hashings({raw.item_id for raw in request.raws})
        for array, raws in (("inputs", request.inputs), ("outputs", request.outputs)):
            unknown = [n for n, raw in enumerate(raws) if raw.item_id not in items]
            if unknown:
                # Items are never deleted, so no recorded request names this one: if
                # the key was used, it was for another request.
                self.refuse_used(idempotency_key, client)
                wrong_secrets = len(unknown) if array == "inputs" else 0
                raise errors.UnknownItemError(
                    index=unknown[0], array=array, wrong_secrets=wrong_secrets
                )
        return items

    def hash_swap(
        self, request: SwapRequest, items: dict[str, ItemHashing], client: str
    ) -> tuple[tuple[Output, ...], tuple[Output, ...]]:
        """Return the inputs and outputs with hashed secrets."""
        hashed = self.hasher.hash_outputs(request.raws, items, client)
        inputs_count = len(request.inputs)
        return hashed[:inputs_count], hashed[inputs_count:]

    def hash_secrets(self, request: FindRequest, client: str) -> tuple[Output, ...]:
        """Return an output with the digest of each secret, in order, to look them up.

        The amounts are unknown; 1 is a placeholder. Raises UnknownItemError, or
        WeakSecretError: secrets that could be guessed must not be looked up.
        """
        check_strong(request.secrets, "secrets")
        items = self.ledger.read_hashings([request.item_id])
        if not items:
            raise errors.UnknownItemError
        raws = [RawOutput(1, request.item_id, each) for each in request.secrets]
        return self.hasher.hash_outputs(raws, items, client)

    def hash_key(
        self,
        kind: str,
        idempotency_key: str | None,
        inputs: Sequence[Output],
        outputs: Sequence[Output],
        client: str,
    ) -> IdempotencyKey | None:
        """Return the hashed key with the fingerprint of the operation.

        Returns None if the request has no key.
        """
        if idempotency_key is None:
            return None
        key_hash = self.hasher.hash_key(idempotency_key, client)
        return IdempotencyKey(key_hash, fingerprint(kind, inputs, outputs))

    def refuse_used(self, idempotency_key: str | None, client: str) -> None:
        """Raise IdempotencyKeyReusedError if an operation has the key.

        Call it before raising an error that proves that this request was never carried
        out: a recorded key then belongs to another request.
        """
        if self.is_key_used(idempotency_key, client):
            raise errors.IdempotencyKeyReusedError

    def is_key_used(self, idempotency_key: str | None, client: str) -> bool:
        """Return whether an operation has the key."""
        if idempotency_key is None:
            return False
        return self.ledger.is_key_known(self.hasher.hash_key(idempotency_key, client))

    def _mint(
        self,
        request: MintRequest,
        first: Item | None,
        key_hash: bytes | None,
        client: str,
    ) -> tuple[Operation, tuple[RawOutput, ...]]:
        """Mint a new item, or replay the mint of `first`."""
        if first is None:
            item, hashing = self._new_item(request)
        else:
            item, hashing = first, self.ledger.read_hashings([first.id])[first.id]
        raws = tuple(
            RawOutput(new.amount, item.id, new.secret) for new in request.outputs
        )
        outputs = self.hasher.hash_outputs(raws, {item.id: hashing}, client)
        key = None
        if key_hash is not None:
            kind = f"mint {request.metadata}"
            key = IdempotencyKey(key_hash, fingerprint(kind, (), outputs))
        operation = self.ledger.mint(MintRecord(item, hashing, outputs, key))
        return operation, raws

    def _new_item(self, request: MintRequest) -> tuple[Item, ItemHashing]:
        total = sum(output.amount for output in request.outputs)
        item_id = make_id(ITEM_ID_PREFIX, self.token_bytes)
        hashing = ItemHashing(self.token_bytes(SALT_BYTES), self.hasher.policy, total)
        return Item(item_id, total, request.metadata), hashing


def fingerprint(
    kind: str, inputs: Sequence[Output], outputs: Sequence[Output]
) -> bytes:
    """Return the SHA-256 hash by which a repeated request is recognized.

    The order of inputs and of outputs does not matter. Everything hashed is in the
    ledger anyway, so the fingerprint makes no secret easier to guess.
    """
    lines = [kind]
    for side in (inputs, outputs):
        lines.append(str(len(side)))
        lines += sorted(
            f"{output.item_id} {output.digest.hex()} {output.amount}" for output in side
        )
    return hashlib.sha256("\n".join(lines).encode("utf-8")).digest()


def count_used_guess(
    error: errors.UsedSecretError, outputs: Sequence[RawOutput]
) -> None:
    """Count the secret that the error is about as a guess, unless it is strong.

    The error reveals that the secret was used, perhaps by another owner.
    """
    index = error.index
    if index is not None and index < len(outputs):
        error.wrong_secrets = int(not is_strong_secret(outputs[index].secret))
