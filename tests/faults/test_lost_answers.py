"""One answer in three is lost: who keeps keys and secrets ends with every unit."""

import itertools
import json
import socket

from tests.faults.journal import CUT_OFF, Sender
from tests.faults.load import Load, line_of, slow_on_sqlite

# Of twelve requests, what is lost of each.
LOSSES = ["answer", "", ""] * 3 + ["answer", "request", "end of request"]


class LossySender(Sender):
    """A connection that loses answers, in turns with those of all other clients."""

    losses = itertools.cycle(LOSSES)

    def send(self, path, body, key=None):
        loss = next(self.losses)
        if loss == "end of request":
            data = json.dumps(body).encode()
            head = (
                f"POST {path} HTTP/1.1\r\nHost: localhost\r\n"
                "Content-Type: application/json\r\n"
                f"Content-Length: {len(data)}\r\n\r\n"
            )
            with socket.create_connection(("127.0.0.1", self._find_port())) as line:
                line.sendall(head.encode() + data[:-1])
        if loss in ("request", "end of request"):
            raise CUT_OFF(loss)
        answer = super().send(path, body, key)
        if loss == "answer":
            raise CUT_OFF(loss)
        return answer


@slow_on_sqlite
def test_clients_whose_answers_are_lost_end_with_every_unit(
    database_url, make_service, seed, report
):
    service = make_service(database_url)
    load = Load([service.find_port], seed, make_sender=LossySender)

    with load.running():
        for loss in set(LOSSES) - {""}:
            load.wait_for_answers(10, loss)
        load.wait_for_answers(100)

    counts = load.assert_nothing_lost(database_url)
    report(line_of(counts))
