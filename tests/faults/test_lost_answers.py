"""One answer in three is lost: who keeps keys and secrets ends with every unit."""

import itertools
import json
from collections import Counter
from functools import partial
from http.client import HTTPConnection

from tests.faults.journal import Sender, units
from tests.faults.load import Load, assert_nothing_lost, line_of

# Of twelve requests, what is lost of each.
LOSSES = ["answer", "", ""] * 3 + ["answer", "request", "end of request"]


class LossySender(Sender):
    """A connection that loses answers, in turns with those of all other clients."""

    def __init__(self, losses, lost, find_port):
        super().__init__(find_port)
        self._losses = losses
        self._lost = lost

    def send(self, path, body, key=None):
        loss = next(self._losses)
        self._lost[loss] += 1
        if loss == "request":
            raise ConnectionResetError
        if loss == "end of request":
            self._break_off(path, json.dumps(body).encode())
            raise ConnectionResetError
        said = super().send(path, body, key)
        if loss == "answer":
            raise ConnectionResetError
        return said

    def _break_off(self, path, data):
        connection = HTTPConnection("127.0.0.1", self._find_port())
        connection.putrequest("POST", path)
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", len(data))
        connection.endheaders(data[:-1])
        connection.close()


def test_clients_whose_answers_are_lost_end_with_every_unit(
    database_url, make_service, seed, report
):
    service = make_service(database_url)
    service.start()
    losses, lost = itertools.cycle(LOSSES), Counter()
    load = Load(
        [service.find_port], seed, make_sender=partial(LossySender, losses, lost)
    )
    with load.running():
        load.wait_for_answers(200)

    counts = assert_nothing_lost(load, service.find_port, database_url)
    minted = [
        raw for entry in load.entries() if not entry.inputs for raw in entry.outputs
    ]
    assert set(lost) == set(LOSSES)
    assert units(raw for client in load.clients for raw in client.wallet) == units(
        minted
    )
    report(f"{line_of(counts)}, {dict(lost)}")
