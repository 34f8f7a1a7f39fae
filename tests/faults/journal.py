"""A client that notes what it asks for before it asks, and goes on wherever it was cut off."""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from deeds.domain.strong_secret import make_strong_secret
from tests.faults.sender import CUT_OFF, Said, Sender

DONE = {"success": True}

WALLET_MAX = 12
AMOUNT_MAX = 40


@dataclass(slots=True)
class Entry:
    """One mint or swap: what it was sent with, and how it ended as far as the client knows."""

    path: str
    body: dict[str, Any]
    key: str = field(default_factory=lambda: str(uuid4()))
    outputs: list[str] = field(default_factory=list)
    is_acknowledged: bool = False

    @property
    def inputs(self) -> list[str]:
        return self.body.get("inputs", [])

    def units(self) -> int:
        return sum(map(amount_of, self.outputs))


class JournalClient:
    """Mints and swaps until told to stop, one request after the other, each with a key."""

    def __init__(self, sender: Sender, seed: int) -> None:
        self._sender = sender
        self._random = random.Random(seed)
        self.journal: list[Entry] = []
        self.wallet: list[str] = []
        self.unanswered_count = 0
        self.found_done_count = 0

    def run(self) -> None:
        """Send until told to stop, and know how every request ended."""
        while not self._sender.stop.is_set():
            entry = self._next_entry()
            self.journal.append(entry)
            try:
                said = self._sender.send(entry.path, entry.body, entry.key)
            except CUT_OFF:
                self.unanswered_count += 1
                said = self._find_out(entry)
            self._acknowledge(entry, said)

    def acknowledged(self) -> list[Entry]:
        return [entry for entry in self.journal if entry.is_acknowledged]

    def units(self) -> int:
        return sum(map(amount_of, self.wallet))

    def _find_out(self, entry: Entry) -> Said:
        """Look whether an unanswered swap is wholly there or wholly not, then send it again."""
        was_done = self._was_done(entry) if entry.inputs else None
        said, tries_count = self._sender.send_until_answered(entry.path, entry.body, entry.key)
        if tries_count == 1 and was_done is not None:
            assert said.is_replay == was_done, "what was looked up is not what the key says"
        self.found_done_count += bool(said.is_replay)
        return said

    def _was_done(self, entry: Entry) -> bool:
        states = self._sender.check([*entry.inputs, *entry.outputs])
        spent, created = states[: len(entry.inputs)], states[len(entry.inputs) :]
        seen = ({*spent}, {*created})
        assert seen in [({"spent"}, {"unspent"}), ({"unspent"}, {"unknown"})], seen
        return seen == ({"spent"}, {"unspent"})

    def _acknowledge(self, entry: Entry, said: Said) -> None:
        assert said.status == 200, said
        if entry.inputs:
            assert said.answer == DONE
        else:
            entry.outputs = said.answer["rawOutputs"]
        self.wallet = [raw for raw in self.wallet if raw not in entry.inputs] + entry.outputs
        entry.is_acknowledged = True

    def _next_entry(self) -> Entry:
        if not self.wallet or (len(self.wallet) < WALLET_MAX and self._random.random() < 0.1):
            amounts = self._split(self._random.randint(1, AMOUNT_MAX))
            new = [f"+{amount}.{make_strong_secret()}" for amount in amounts]
            return Entry("/v1/mint", {"outputs": new})
        inputs = self._random.sample(self.wallet, self._random.randint(1, min(3, len(self.wallet))))
        outputs = [
            f"+{amount}.{item}.{make_strong_secret()}"
            for item, total in totals(inputs).items()
            for amount in self._split(total)
        ]
        body = {"inputs": inputs, "outputs": outputs}
        return Entry("/v1/swap", body, outputs=outputs)

    def _split(self, total: int) -> list[int]:
        """Return one to three amounts that add up to the total."""
        cuts = sorted(
            self._random.sample(range(1, total), min(total - 1, self._random.randint(0, 2)))
        )
        return [end - start for start, end in zip([0, *cuts], [*cuts, total], strict=True)]


def amount_of(raw: str) -> int:
    return int(raw[1:].partition(".")[0])


def totals(raws: Iterable[str]) -> dict[str, int]:
    """Return the units of each item."""
    sums: dict[str, int] = {}
    for raw in raws:
        item = raw.split(".")[1]
        sums[item] = sums.get(item, 0) + amount_of(raw)
    return sums
