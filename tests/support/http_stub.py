"""A small HTTP server that does what a request's path says, to see what a client makes of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

# How soon the end of the block is noticed.
POLL_SECONDS = 0.01

BODY = b'{"answer": "whole"}'


class StubServer(ThreadingHTTPServer):
    """Keeps the paths that it was asked for, in order."""

    # Clients that may connect at once: others would try again after a second.
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), StubHandler)
        self.paths: list[str] = []


class StubHandler(BaseHTTPRequestHandler):
    """Answers GET /<status>; under /once/… only the first time, and 200 from then on.

    /once/break closes without an answer, /close says that it closes and /pieces sends byte by byte.
    """

    protocol_version = "HTTP/1.1"
    server: StubServer

    def do_GET(self) -> None:
        again = self.path in self.server.paths
        self.server.paths.append(self.path)
        last = self.path.rpartition("/")[2]
        if again and self.path.startswith("/once/"):
            self._answer(200)
        elif last == "break":
            self.close_connection = True
        else:
            self._answer(int(last) if last.isdigit() else 200)

    def _answer(self, status: int) -> None:
        head = f"HTTP/1.1 {status} Whatever\r\nContent-Length: {len(BODY)}\r\n"
        if self.path == "/close":
            self.close_connection = True
            head += "Connection: close\r\n"
        answer = f"{head}\r\n".encode() + BODY
        piece_length = 1 if self.path == "/pieces" else len(answer)
        for start in range(0, len(answer), piece_length):
            self.wfile.write(answer[start : start + piece_length])

    def log_message(self, *arguments: object) -> None:
        pass


@contextmanager
def running_stub() -> Iterator[StubServer]:
    """Run the server in threads of this process until the block ends."""
    with StubServer() as server:
        thread = Thread(target=server.serve_forever, args=[POLL_SECONDS])
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
