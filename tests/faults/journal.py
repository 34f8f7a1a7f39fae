"""A client that notes its requests before it sends them, to go on after a cut."""

import json
import random
import time
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from typing import Any
from uuid import uuid4

from deeds.domain.raw_output import make_strong_secret
from tests.support.waiting import WAIT_SECONDS_MAX

# As many as one request may name.
CHECKED_AT_ONCE = 256


class NotAnsweredError(Exception):
    """The service said 503: it may be back soon."""


# What a client meets whose service is gone, or cannot reach its database.
CUT_OFF = (OSError, HTTPException, ValueError, NotAnsweredError)


@dataclass(frozen=True, slots=True)
class Said:
    """An answer."""

    status: int
    answer: Any
    is_replay: bool


class Sender:
    """One client's connection, opened again whenever it broke."""

    def __init__(self, find_port):
        """`find_port` waits until there is a service and returns its port."""
        self._find_port = find_port
        self._connection = None
        self.unavailable_count = 0

    def send(self, path, body, key=None):
        """Send once; raise one of CUT_OFF where nobody knows if it was carried out."""
        headers = {"Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        try:
            if self._connection is None:
                self._connection = HTTPConnection(
                    "127.0.0.1", self._find_port(), timeout=30
                )
            self._connection.request("POST", path, json.dumps(body), headers)
            response = self._connection.getresponse()
            answer = json.loads(response.read())
        except CUT_OFF:
            self.close()
            raise
        if response.status == 503:
            self.unavailable_count += 1
            raise NotAnsweredError
        is_replay = response.headers.get("Idempotency-Replayed") == "true"
        return Said(response.status, answer, is_replay)

    def send_until_answered(self, path, body, key=None):
        """Send the same until it is answered; return the answer and the tries."""
        deadline = time.monotonic() + WAIT_SECONDS_MAX
        tries_count = 1
        while True:
            try:
                return self.send(path, body, key), tries_count
            except CUT_OFF:
                assert time.monotonic() < deadline, "the service did not come back"
                time.sleep(0.01)
                tries_count += 1

    def check(self, raws):
        """Return the state of each raw output."""
        states = []
        for start in range(0, len(raws), CHECKED_AT_ONCE):
            body = {"outputs": raws[start : start + CHECKED_AT_ONCE]}
            said, _ = self.send_until_answered("/v1/check", body)
            assert said.status == 200, said
            states += said.answer["states"]
        return states

    def close(self):
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@dataclass(slots=True)
class Entry:
    """One request: what it moves, and how it ended as far as the client knows."""

    path: str
    body: dict[str, Any]
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    key: str = field(default_factory=lambda: str(uuid4()))
    is_acknowledged: bool = False


class JournalClient:
    """Mints, swaps and trades with itself until told to stop, always with a key."""

    def __init__(self, sender, seed, *, looks_up=True):
        """Where a dead process may commit later, `looks_up` must be false."""
        self.sender = sender
        self._looks_up = looks_up
        self._random = random.Random(seed)
        self.journal = []
        self.wallet = []
        self._completion = None
        self.unanswered_count = 0
        self.found_done_count = 0

    def run(self, stop):
        """Send until told to stop, and know how every request ended."""
        while not stop.is_set():
            entry = self._next_entry()
            self.journal.append(entry)
            try:
                said = self.sender.send(entry.path, entry.body, entry.key)
            except CUT_OFF:
                self.unanswered_count += 1
                said = self._find_out(entry)
            self._acknowledge(entry, said)

    def _find_out(self, entry):
        """Look whether the operation is wholly there or wholly not; send it again."""
        was_done = self._was_done(entry) if entry.inputs and self._looks_up else None
        said, tries_count = self.sender.send_until_answered(
            entry.path, entry.body, entry.key
        )
        if tries_count == 1 and was_done is not None:
            assert said.is_replay == was_done, (
                "what was looked up is not what the key says"
            )
        self.found_done_count += said.is_replay
        return said

    def _was_done(self, entry):
        states = self.sender.check([*entry.inputs, *entry.outputs])
        spent, created = states[: len(entry.inputs)], states[len(entry.inputs) :]
        seen = ({*spent}, {*created})
        assert seen in [({"spent"}, {"unspent"}), ({"unspent"}, {"unknown"})], seen
        return seen == ({"spent"}, {"unspent"})

    def _acknowledge(self, entry, said):
        assert said.status == 200, said
        if entry.path == "/v1/mint":
            entry.outputs = said.answer["rawOutputs"]
        elif entry.path == "/v1/offers":
            assert said.answer["state"] == "open"
            self._completion.path = f"/v1/offers/{said.answer['offerId']}/complete"
        else:
            assert said.answer == {"success": True}
        self.wallet = [
            raw for raw in self.wallet if raw not in entry.inputs
        ] + entry.outputs
        entry.is_acknowledged = True

    def _next_entry(self):
        if self._completion:
            entry, self._completion = self._completion, None
            return entry
        if not self.wallet or (len(self.wallet) < 12 and self._random.random() < 0.1):
            amounts = self._split(self._random.randint(1, 40))
            new = [f"+{amount}.{make_strong_secret()}" for amount in amounts]
            return Entry("/v1/mint", {"outputs": new})
        inputs = self._random.sample(
            self.wallet, self._random.randint(1, min(3, len(self.wallet)))
        )
        items = dict.fromkeys(raw.split(".")[1] for raw in inputs)
        outputs = [
            f"+{amount}.{item}.{make_strong_secret()}"
            for item in items
            for amount in self._split(units(raw for raw in inputs if item in raw))
        ]
        if self._random.random() < 0.3:
            self._completion = Entry(
                "", {"inputs": inputs[:1], "outputs": []}, inputs, outputs
            )
            return Entry("/v1/offers", {"inputs": inputs[1:], "outputs": outputs})
        return Entry(
            "/v1/swap", {"inputs": inputs, "outputs": outputs}, inputs, outputs
        )

    def _split(self, total):
        """Return one to three amounts that add up to the total."""
        cuts = sorted(
            self._random.sample(
                range(1, total), min(total - 1, self._random.randint(0, 2))
            )
        )
        return [
            end - start for start, end in zip([0, *cuts], [*cuts, total], strict=True)
        ]


def units(raws):
    """Return the sum of the amounts of raw outputs."""
    return sum(int(raw[1:].partition(".")[0]) for raw in raws)
