"""A client that records each request before it sends it, and repeats it after a fault.

`load.py` runs many of them.
"""

import random
import time
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx

from tests.support.api import SUCCESS, Api, fresh, good
from tests.support.strong_secrets import make_strong_secret
from tests.support.waiting import WAIT_SECONDS_MAX

# Raised if the service is gone or cannot reach its database, so that nobody knows
# whether a request was carried out.
UnansweredError = httpx.TransportError

# Pause before a request is sent again, to leave the CPU to a service that starts.
PAUSE_S = 0.05


class Sender:
    """One client's connection, which is opened again after it breaks."""

    def __init__(self, find_port):
        """`find_port` waits until there is a service and returns its port."""
        self._find_port = find_port
        self._api = None

    def send(self, path, body, key=None):
        """Send once; raise UnansweredError if nothing or a 503 comes back."""
        if self._api is None:
            self._api = Api.of_url(f"http://127.0.0.1:{self._find_port()}")
        try:
            answer = self._api.post(path, body, key)
        except UnansweredError:
            # The service may come back on another port.
            self.close()
            raise
        if answer.status_code == 503:
            raise UnansweredError(f"503 {answer.json()['code']}")
        return answer

    def close(self):
        if self._api is not None:
            self._api.close()
            self._api = None


class BriefSender(Sender):
    """Opens a connection for each request, so any process may answer it."""

    def send(self, path, body, key=None):
        try:
            return super().send(path, body, key)
        finally:
            self.close()


@dataclass(slots=True)
class Entry:
    """A request: what it moves, and whether the client knows that it was done."""

    path: str
    body: dict[str, Any]
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    key: str = field(default_factory=lambda: str(uuid4()))
    is_acknowledged: bool = False


class JournalClient:
    """Mints, swaps and trades with itself until told to stop, always with a key.

    It appends its requests to `entries`, and what happens to them to `fates`:
    "acknowledged" for each request once it is answered, "unanswered" for each whose
    first attempt failed, "found done" if the repetition was a replay, and the error of
    each failed attempt, such as "503 overloaded".
    """

    def __init__(
        self,
        sender,
        seed,
        entries,
        fates,
        *,
        looks_up=True,
        repeats=True,
        commits_late=False,
        patience_s=WAIT_SECONDS_MAX,
    ):
        """`looks_up` and `repeats` say what the client does with an unanswered request.

        Without `looks_up` it does not check first whether the request was carried out,
        as in tests in which a dead process may commit later. Without `repeats` it gives
        the inputs up, as in tests in which acknowledged operations may be lost. With
        `commits_late` a request may be carried out after the check. If the service is
        away for longer than `patience_s`, the test fails.
        """
        self.sender = sender
        self.wallet = []
        self._random = random.Random(seed)
        self._entries = entries
        self._fates = fates
        self._looks_up = looks_up
        self._repeats = repeats
        self._commits_late = commits_late
        self._patience_s = patience_s
        self._completion = None

    def run(self, stop):
        """Send requests until `stop` is set and the last one is answered."""
        while not stop.is_set():
            entry = self._next_entry()
            self._entries.append(entry)
            try:
                answer = self.sender.send(entry.path, entry.body, entry.key)
            except UnansweredError as error:
                self._fates.extend(["unanswered", str(error)])
                if not self._repeats:
                    time.sleep(PAUSE_S)
                    self._completion = None
                    self.wallet = [
                        raw for raw in self.wallet if raw not in entry.inputs
                    ]
                    continue
                answer = self._find_out(entry)
            self._acknowledge(entry, good(answer))

    def _find_out(self, entry):
        """Check that the operation is there as a whole or not at all; send it again."""
        states = None
        if self._looks_up and entry.inputs:
            body = {"outputs": entry.inputs + entry.outputs}
            checked, _ = self._send_until_answered("/v1/check", body)
            states = good(checked)["states"]
        answer, attempts_count = self._send_until_answered(
            entry.path, entry.body, entry.key
        )
        is_replay = "Idempotency-Replayed" in answer.headers
        if is_replay:
            self._fates.append("found done")
        if states is not None:
            inputs_count, outputs_count = len(entry.inputs), len(entry.outputs)
            done = ["spent"] * inputs_count + ["unspent"] * outputs_count
            undone = ["unspent"] * inputs_count + ["unknown"] * outputs_count
            assert states in (done, undone)
            assert is_replay or states == undone
            # Otherwise an earlier attempt may have been carried out after the check.
            if attempts_count == 1 and not self._commits_late:
                assert is_replay == (states == done)
        return answer

    def _send_until_answered(self, path, body, key=None):
        """Return the answer and the number of attempts."""
        deadline = time.monotonic() + self._patience_s
        attempts_count = 1
        while True:
            try:
                return self.sender.send(path, body, key), attempts_count
            except UnansweredError as error:
                self._fates.append(str(error))
                assert time.monotonic() < deadline, "the service did not come back"
                time.sleep(PAUSE_S)
                attempts_count += 1

    def _acknowledge(self, entry, body):
        if entry.path == "/v1/mint":
            entry.outputs = body["rawOutputs"]
        elif entry.path == "/v1/offers":
            assert body["state"] == "open"
            self._completion.path = f"/v1/offers/{body['offerId']}/complete"
        else:
            assert body == SUCCESS
        self.wallet = [raw for raw in self.wallet if raw not in entry.inputs]
        self.wallet += entry.outputs
        entry.is_acknowledged = True
        self._fates.append("acknowledged")

    def _next_entry(self):
        """Return a mint, a swap or an offer; after an offer, its completion."""
        if self._completion:
            entry, self._completion = self._completion, None
            return entry
        rng = self._random
        if not self.wallet or (len(self.wallet) < 12 and rng.random() < 0.1):
            amounts = rng.choices(range(1, 21), k=rng.randint(1, 3))
            new = [f"+{amount}.{make_strong_secret()}" for amount in amounts]
            return Entry("/v1/mint", {"outputs": new})
        inputs = rng.sample(self.wallet, rng.randint(1, min(3, len(self.wallet))))
        outputs = []
        for item_id in dict.fromkeys(raw.split(".")[1] for raw in inputs):
            spent = [raw for raw in inputs if item_id in raw]
            total = sum(int(raw[1:].partition(".")[0]) for raw in spent)
            part = rng.randint(1, total)
            outputs.append(fresh(part, item_id))
            if part < total:
                outputs.append(fresh(total - part, item_id))
        if rng.random() < 0.3:
            half = {"inputs": inputs[:1], "outputs": []}
            self._completion = Entry("", half, inputs, outputs)
            return Entry("/v1/offers", {"inputs": inputs[1:], "outputs": outputs})
        whole = {"inputs": inputs, "outputs": outputs}
        return Entry("/v1/swap", whole, inputs, outputs)
