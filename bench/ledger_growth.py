"""What a swap costs in a ledger that grows, beside one that began empty."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.measurement import Measurement
from bench.minting import mint_item
from bench.payload import Deed, SecretKind
from bench.preload import preload, settle
from bench.run import CLIENTS_COUNT, Run
from bench.server import Server, service

# As many as one mint may have.
OUTPUTS_PER_MINT = 256


@dataclass(frozen=True, slots=True)
class Pair:
    """The two measurements of one round."""

    empty: Measurement
    grown: Measurement


class GrowingLedger:
    """A ledger of a few items, made bigger step by step. Clients swap in all of its items."""

    def __init__(self, directory: Path, database_url: str, name: str, items_count: int) -> None:
        """Mint the items, with outputs enough for the clients of many rounds."""
        self._directory = directory
        self._url = database_url
        self._name = name
        with service(directory, database_url, name) as server:
            items = [
                mint_item(server.port, OUTPUTS_PER_MINT, SecretKind.STRONG)
                for _ in range(items_count)
            ]
        self._item_ids = [deeds[0].item_id for deeds in items]
        # One of each item in turn, so that the clients of a round meet all items.
        self._unused = [deed for deeds in zip(*items, strict=True) for deed in deeds]
        self.outputs_count = len(self._unused)

    def grow_to(self, outputs_count: int) -> None:
        """Add outputs evenly until there are as many, besides those that swaps create."""
        missing_count = outputs_count - self.outputs_count
        if missing_count > 0:
            for item_id in self._item_ids:
                preload(self._url, item_id, missing_count // len(self._item_ids))
            settle(self._url)
            self.outputs_count = outputs_count

    def take_deeds(self) -> list[Deed]:
        """Return a deed for each client that no client had before."""
        taken, self._unused = self._unused[:CLIENTS_COUNT], self._unused[CLIENTS_COUNT:]
        return taken

    @contextmanager
    def running(self) -> Iterator[Server]:
        """Run the service on it."""
        name = f"{self._name}, {self.outputs_count:,} outputs"
        with service(self._directory, self._url, name) as server:
            yield server


def compare(run: Run, empty: Server, ledger: GrowingLedger) -> list[Pair]:
    """Measure swaps in both ledgers, in turn, for the rounds of the plan."""
    with ledger.running() as grown:
        return [_measure_pair(run, empty, grown, ledger) for _ in range(run.plan.rounds)]


def _measure_pair(run: Run, empty: Server, grown: Server, ledger: GrowingLedger) -> Pair:
    in_empty = mint_item(empty.port, CLIENTS_COUNT, SecretKind.STRONG)
    return Pair(
        run.measure(empty, run.swaps(in_empty, SecretKind.STRONG)),
        run.measure(grown, run.swaps(ledger.take_deeds(), SecretKind.STRONG)),
    )
