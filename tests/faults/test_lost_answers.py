"""One answer in three never arrives: who keeps keys and secrets ends with every unit."""

import itertools
import socket
import threading
from collections import Counter
from contextlib import contextmanager
from socketserver import StreamRequestHandler, ThreadingTCPServer

from tests.faults.journal import units
from tests.faults.load import Load, assert_nothing_lost, line_of

REQUESTS_COUNT = 200
BYTES_AT_ONCE = 65_536

# Of twelve requests, what happens to each; the rest pass.
LOSSES = {
    2: "answers lost",
    5: "answers broken off",
    6: "requests lost",
    8: "answers lost",
    9: "requests broken off",
    11: "answers broken off",
}
CYCLE_LENGTH = 12


class LossyProxy(ThreadingTCPServer):
    """Loses answers, as networks do. One request for each connection."""

    request_queue_size = 64
    daemon_threads = False

    def __init__(self, upstream_port):
        super().__init__(("127.0.0.1", 0), LossyHandler)
        self.upstream_port = upstream_port
        self.lost = Counter()
        self._lock = threading.Lock()
        self._turns = itertools.cycle(range(CYCLE_LENGTH))

    def next_loss(self):
        """Return what happens to the next request, if anything does, and count it."""
        with self._lock:
            loss = LOSSES.get(next(self._turns))
            if loss:
                self.lost[loss] += 1
            return loss


class LossyHandler(StreamRequestHandler):
    """Takes one request, asks the service, and answers or not."""

    def handle(self):
        request = self._read_request()
        if not request:
            return
        loss = self.server.next_loss()
        if loss == "requests lost":
            return
        answer = self._ask(request[:-1] if loss == "requests broken off" else request)
        if loss == "answers broken off":
            self.wfile.write(answer[: len(answer) // 2])
        elif loss is None:
            self.wfile.write(answer)

    def _read_request(self):
        """Return one request, head and body."""
        head = b""
        length = 0
        while (line := self.rfile.readline()) not in (b"\r\n", b""):
            head += line
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        # So that the service closes when it has answered.
        return head + b"Connection: close\r\n\r\n" + self.rfile.read(length) if head else b""

    def _ask(self, request):
        """Return all that the service answers, before it closes."""
        answer = b""
        with socket.create_connection(("127.0.0.1", self.server.upstream_port)) as upstream:
            upstream.sendall(request)
            upstream.shutdown(socket.SHUT_WR)
            while received := upstream.recv(BYTES_AT_ONCE):
                answer += received
        return answer


@contextmanager
def lossy_proxy(upstream_port):
    """Run the proxy in threads of this process until the block ends."""
    with LossyProxy(upstream_port) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=[0.01])
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()


def test_clients_whose_answers_are_lost_end_with_every_unit(
    database_url, make_service, seed, report
):
    service = make_service(database_url)
    service.start()
    with lossy_proxy(service.find_port()) as proxy:
        load = Load([lambda: proxy.server_address[1]], seed)
        with load.running():
            load.wait_for_answers(REQUESTS_COUNT)

    counts = assert_nothing_lost(load, service.find_port, database_url)
    minted = [raw for entry in load.entries() if not entry.inputs for raw in entry.outputs]
    assert set(proxy.lost) == set(LOSSES.values())
    assert units(raw for client in load.clients for raw in client.wallet) == units(minted)
    report(f"{line_of(counts)}, {dict(proxy.lost)}")
