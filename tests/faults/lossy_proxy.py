"""A proxy that loses answers, as networks do. One request for each connection."""

import itertools
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import StreamRequestHandler, ThreadingTCPServer

BYTES_AT_ONCE = 65_536

# Of twelve requests, what happens to each; the rest pass.
WHOLE_ANSWERS_LOST = {2, 8}
ANSWERS_BROKEN_OFF = {5, 11}
REQUESTS_LOST = {6}
REQUESTS_BROKEN_OFF = {9}
CYCLE_LENGTH = 12


class LossyProxy(ThreadingTCPServer):
    """Passes bytes on, and counts what it lost."""

    request_queue_size = 64
    daemon_threads = False

    def __init__(self, upstream_port: int) -> None:
        super().__init__(("127.0.0.1", 0), LossyHandler)
        self.upstream_port = upstream_port
        self.lost: Counter[str] = Counter()
        self.lock = threading.Lock()
        self._turns = itertools.cycle(range(CYCLE_LENGTH))

    def next_turn(self) -> int:
        with self.lock:
            return next(self._turns)

    def count(self, name: str) -> None:
        with self.lock:
            self.lost[name] += 1


class LossyHandler(StreamRequestHandler):
    """Takes one request, asks the service, and answers or not."""

    server: LossyProxy

    def handle(self) -> None:
        request = self._read_request()
        turn = self.server.next_turn()
        if not request:
            return
        if turn in REQUESTS_LOST:
            self.server.count("requests lost")
            return
        if turn in REQUESTS_BROKEN_OFF:
            self.server.count("requests broken off")
            self._ask(request[:-1])
            return
        answer = self._ask(request)
        if turn in WHOLE_ANSWERS_LOST:
            self.server.count("answers lost")
            return
        if turn in ANSWERS_BROKEN_OFF:
            self.server.count("answers broken off")
            answer = answer[: len(answer) // 2]
        self.wfile.write(answer)

    def _read_request(self) -> bytes:
        """Return one request, head and body."""
        head = b""
        length = 0
        while (line := self.rfile.readline()) not in (b"\r\n", b""):
            head += line
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        # So that the service closes when it has answered.
        return head + b"Connection: close\r\n\r\n" + self.rfile.read(length) if head else b""

    def _ask(self, request: bytes) -> bytes:
        """Return all that the service answers, before it closes."""
        answer = b""
        with socket.create_connection(("127.0.0.1", self.server.upstream_port)) as upstream:
            upstream.sendall(request)
            upstream.shutdown(socket.SHUT_WR)
            while received := upstream.recv(BYTES_AT_ONCE):
                answer += received
        return answer


@contextmanager
def lossy_proxy(upstream_port: int) -> Iterator[LossyProxy]:
    """Run the proxy in threads of this process until the block ends."""
    with LossyProxy(upstream_port) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=[0.01])
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()
