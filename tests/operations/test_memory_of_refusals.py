"""Refused requests leak no memory, in a real gunicorn."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from deeds.model import BODY_BYTES_MAX
from tests.support.serving import children_rss_mb

HEAD = b"POST /v1/mint HTTP/1.1\r\nHost: deeds\r\nContent-Type: application/json\r\n"
CLIENTS_COUNT = 8
SENT_MB = 200
# The allocator keeps the peak use of the threads, which soon stops growing. A leak
# grows in every round.
ROUNDS_COUNT = 4

# Bodies just below the limit, which the service reads.
BODIES = [
    b" " * BODY_BYTES_MAX,
    b'{"inputs":"' + b"a" * (BODY_BYTES_MAX - 13) + b'"}',
    # Parsed, this would take up to 25 times its size.
    b'{"outputs":["ab"' + b',"ab"' * 209_000 + b"]}",
]
CHUNK = b"10000\r\n" + b" " * 0x10000 + b"\r\n"

# Requests and the status of their answers. Each request gets an equal share of SENT_MB.
REQUESTS = [
    *[
        (HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body, 400)
        for body in BODIES
    ],
    (HEAD + b"Content-Length: 2097152\r\n\r\n" + b"[" * 2_097_152, 413),
    (HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNK * 32 + b"0\r\n\r\n", 413),
    # A length far above what is sent.
    (HEAD + b"Content-Length: 1000000000000\r\n\r\n" + b" " * BODY_BYTES_MAX, 413),
]
SMALL = HEAD + b"Content-Length: 2\r\n\r\n{}"


@pytest.mark.slow
def test_200_mb_of_refused_bodies_leak_no_memory(gunicorn_service):
    service = gunicorn_service()
    # A thread keeps its last request until the next one, so end with small ones.
    settling = [SMALL] * 8 * CLIENTS_COUNT
    expected = Counter()
    sent = []
    for data, status in REQUESTS:
        count = SENT_MB * 10**6 // len(REQUESTS) // len(data) + 1
        sent += [data] * count
        expected[status] += count

    def status_of(data):
        return int(service.send_bytes(data, timeout_s=60).split(b" ")[1])

    sizes_mb = []
    with ThreadPoolExecutor(CLIENTS_COUNT) as clients:
        for _ in range(ROUNDS_COUNT):
            assert Counter(clients.map(status_of, sent)) == expected
            list(clients.map(status_of, settling))
            sizes_mb += children_rss_mb(service.process.pid)

    growths_mb = [after - before for before, after in pairwise(sizes_mb)]
    assert min(growths_mb) <= 10.0, sizes_mb
    assert service.get("/v1/info").status_code == 200
