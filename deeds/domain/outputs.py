"""Finds what the ledger records of raw outputs."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from deeds.domain.hashing import Hasher
from deeds.domain.model import ItemHashing, OutputKey, RawOutput, RecordedOutput
from deeds.domain.rules import item_ids_of


class OutputLedger(Protocol):
    """What the ledger says of items and outputs."""

    def read_items(self, item_ids: Collection[str]) -> dict[str, ItemHashing]:
        """Return what hashing needs of those of the items that exist."""

    def read_outputs(
        self, keys: Iterable[OutputKey]
    ) -> dict[OutputKey, RecordedOutput]:
        """Return those of the outputs that exist, spent or not."""


@dataclass(frozen=True, slots=True)
class OutputFinder:
    """Looks raw outputs up by their digests. Stateless; any thread may call it."""

    ledger: OutputLedger
    hasher: Hasher

    def find(
        self, raws: Sequence[RawOutput], client: str
    ) -> list[RecordedOutput | None]:
        """Return what is recorded under the secret and amount of each, or None."""
        found = self.find_secrets(raws, client)
        return [
            each if each and each.output.amount == raw.amount else None
            for raw, each in zip(raws, found, strict=True)
        ]

    def find_secrets(
        self, raws: Sequence[RawOutput], client: str
    ) -> list[RecordedOutput | None]:
        """Return what is recorded under the secret of each, of any amount, or None."""
        items = self.ledger.read_items(item_ids_of(raws))
        of_items = [raw for raw in raws if raw.item_id in items]
        outputs = self.hasher.hash_outputs(of_items, items, client)
        recorded = self.ledger.read_outputs([output.key for output in outputs])
        found = {
            raw: recorded.get(output.key)
            for raw, output in zip(of_items, outputs, strict=True)
        }
        return [found.get(raw) for raw in raws]
