"""Hashes secrets into outputs and finds outputs by their secrets.

While an item has one scheme for a secret's class, that is one evaluation and one index
probe per secret. Where it has several, the current scheme is tried first, and the older
ones for outputs that are then still missing or spent.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol

from deeds.domain import errors
from deeds.domain.hashing import Hasher, HashJob
from deeds.domain.model import (
    HashScheme,
    ItemSchemes,
    Output,
    OutputKey,
    RawOutput,
    RecordedOutput,
    SecretClass,
    SwapRecord,
    SwapRequest,
)
from deeds.domain.raw_output import ITEM_ID_PREFIX, is_id, is_strong_secret
from deeds.domain.schemes import HashSchemes


class OutputLedger(Protocol):
    """What the ledger says of items and outputs."""

    def read_item_schemes(
        self, item_ids: Collection[str], *, may_be_stale: bool = False
    ) -> dict[str, ItemSchemes]:
        """Return the salt and schemes of those of the items that exist.

        If they `may_be_stale`, an item may lack a scheme that another process has added
        since: then a swap ends with `ItemSchemesChangedError`.
        """

    def read_outputs(
        self, keys: Iterable[OutputKey]
    ) -> dict[OutputKey, RecordedOutput]:
        """Return those of the outputs that exist, spent or not."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A raw output, the salt of its item, and one scheme that its secret may be hashed under."""

    raw: RawOutput
    salt: bytes = field(repr=False)
    scheme: HashScheme


@dataclass(frozen=True, slots=True)
class Locator:
    """Maps raw outputs to what the ledger records of them."""

    ledger: OutputLedger
    schemes: HashSchemes
    hasher: Hasher

    def read_items(
        self, raws: Sequence[RawOutput | Output], *, may_be_stale: bool = False
    ) -> dict[str, ItemSchemes]:
        """Return the salt and schemes of each item of the outputs that exists."""
        ids = {raw.item_id for raw in raws if is_id(ITEM_ID_PREFIX, raw.item_id)}
        return self.ledger.read_item_schemes(ids, may_be_stale=may_be_stale)

    def new_candidate(self, raw: RawOutput, salt: bytes) -> Candidate:
        """Return the candidate under the scheme that a new output gets."""
        return Candidate(raw, salt, self.schemes.current[secret_class(raw.secret)])

    def hash(self, candidates: Sequence[Candidate]) -> list[Output]:
        """Return each candidate's output, with one evaluation each.

        Raise OverloadedError.
        """
        jobs = [HashJob(each.raw.secret, each.salt, each.scheme) for each in candidates]
        return [
            Output(OutputKey(each.raw.item_id, digest), each.scheme.id, each.raw.amount)
            for each, digest in zip(candidates, self.hasher.digests(jobs), strict=True)
        ]

    def find(
        self, raws: Sequence[RawOutput], items: Mapping[str, ItemSchemes]
    ) -> list[RecordedOutput | None]:
        """Return for each raw output what is recorded under its secret and amount, or None.

        A secret can be there under two schemes, if it was used again while the pepper
        of one was away. Then it stands for the output that is unspent.
        """
        found: list[RecordedOutput | None] = [None] * len(raws)
        pending = {
            index: self._candidates(raw, items[raw.item_id])
            for index, raw in enumerate(raws)
            if raw.item_id in items
        }
        while pending := {index: left for index, left in pending.items() if left}:
            outputs = self.hash([left.pop(0) for left in pending.values()])
            recorded = self.ledger.read_outputs([output.key for output in outputs])
            for (index, left), output in zip(pending.items(), outputs, strict=True):
                match = recorded.get(output.key)
                if match is not None and match.output.amount == output.amount:
                    found[index] = match
                    if match.spent_by is None:
                        left.clear()
        return found

    def hash_swap(
        self,
        request: SwapRequest,
        items: Mapping[str, ItemSchemes],
        idempotency_key_hashes: tuple[bytes, ...],
    ) -> SwapRecord:
        """Return what the swap writes. `items` holds every item of the request.

        Inputs, outputs and the older forms of outputs are hashed in one batch. Only
        where an input may have been hashed under several schemes, the inputs are looked
        up first. Raises UnknownInputError where one cannot be in the ledger, and
        ItemSchemesChangedError where that may be because an item has got a scheme
        meanwhile.
        """
        sources = [self._candidates(raw, items[raw.item_id]) for raw in request.inputs]
        self._check_found(sources, items)
        new = [
            self.new_candidate(raw, items[raw.item_id].salt) for raw in request.outputs
        ]
        older = [
            (index, each)
            for index, one in enumerate(new)
            for each in self._candidates(one.raw, items[one.raw.item_id])
            if each != one
        ]
        is_certain = all(len(candidates) == 1 for candidates in sources)
        found = [] if is_certain else self.find(request.inputs, items)
        self._check_found(found, items)
        first = [candidates[0] for candidates in sources] if is_certain else []
        # In the order of the batch: each line takes its part from the same iterator.
        hashed = iter(self.hash([*first, *new, *(each for _, each in older)]))
        inputs = [recorded.output for recorded in found if recorded]
        inputs += islice(hashed, len(first))
        outputs = tuple(islice(hashed, len(new)))
        return SwapRecord(
            inputs=tuple(inputs),
            outputs=outputs,
            outputs_forbidden={
                output.key: index
                for output, (index, _) in zip(hashed, older, strict=True)
            },
            schemes_counts={
                item_id: len(item.scheme_ids) for item_id, item in items.items()
            },
            schemes_added=schemes_added(outputs, items),
            idempotency_key_hashes=idempotency_key_hashes,
        )

    def _check_found(
        self, found: Sequence[object], items: Mapping[str, ItemSchemes]
    ) -> None:
        unknown = [index for index, each in enumerate(found) if not each]
        if unknown and items != self.ledger.read_item_schemes(items):
            raise errors.ItemSchemesChangedError
        if unknown:
            raise errors.UnknownInputError(
                index=unknown[0], failed_secrets_count=len(unknown)
            )

    def _candidates(self, raw: RawOutput, item: ItemSchemes) -> list[Candidate]:
        """Return the candidates under which a secret may be known, likeliest first.

        There is none where the item has no output of the secret's class: nothing to
        find or hash.
        """
        schemes = self.schemes.in_order(secret_class(raw.secret), item.scheme_ids)
        return [Candidate(raw, item.salt, scheme) for scheme in schemes]


def secret_class(secret: str) -> SecretClass:
    """Return the class of schemes that a secret is hashed under."""
    return SecretClass.STRONG if is_strong_secret(secret) else SecretClass.ORDINARY


def schemes_added(
    outputs: Iterable[Output], items: Mapping[str, ItemSchemes]
) -> frozenset[tuple[str, int]]:
    """Return the pairs of item and scheme id that are new with the outputs."""
    pairs = {(output.item_id, output.scheme_id) for output in outputs}
    return frozenset(pair for pair in pairs if pair[1] not in items[pair[0]].scheme_ids)


def check_items(request: SwapRequest, items: Mapping[str, ItemSchemes]) -> None:
    """Raise UnknownItemError for the first input, else output, whose item does not exist."""
    for name, raws in (("inputs", request.inputs), ("outputs", request.outputs)):
        unknown = [index for index, raw in enumerate(raws) if raw.item_id not in items]
        if unknown:
            raise errors.UnknownItemError(
                f"{name}: the item of the element at index does not exist here",
                index=unknown[0],
                failed_secrets_count=len(unknown) if raws is request.inputs else 0,
            )
