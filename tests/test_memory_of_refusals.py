"""Requests that are refused leave no memory behind, in a real gunicorn."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from bench.processes import children_rss_mb
from deeds.limits import BODY_BYTES_MAX
from tests.serving import running_service

HEAD = b"POST /v1/mint HTTP/1.1\r\nHost: deeds\r\nContent-Type: application/json\r\n"
CLIENTS_COUNT = 8
SENT_MB = 200
RSS_GROWTH_MB_MAX = 20.0
CHUNK = b"10000\r\n" + b" " * 0x10000 + b"\r\n"


def with_length(size):
    return HEAD + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % size + b"[" * size


def in_chunks(size):
    return HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNK * (size // 0x10000) + b"0\r\n\r\n"


def lying(size):
    """Announce a terabyte."""
    return HEAD + b"Content-Length: 1000000000000\r\n\r\n" + b" " * size


# Each is sent as often as makes a quarter of all. What is not larger than the limit is read whole.
BODIES = {
    "no JSON": (with_length(BODY_BYTES_MAX), 400),
    "too large": (with_length(2 * BODY_BYTES_MAX), 413),
    "too large in chunks": (in_chunks(2 * BODY_BYTES_MAX), 413),
    "a length far above what is sent": (lying(BODY_BYTES_MAX), 413),
}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with running_service(tmp_path_factory.mktemp("refusals"), WEB_CONCURRENCY="1") as service:
        yield service


def test_200_mb_of_refused_bodies_leave_no_memory_behind(service):
    requests = [
        (data, status)
        for data, status in BODIES.values()
        for _ in range(SENT_MB * 10**6 // len(BODIES) // len(data) + 1)
    ]
    assert sum(len(data) for data, _ in requests) >= SENT_MB * 10**6

    def status_of(data):
        return int(service.send_bytes(data, timeout_s=60).split(b" ")[1])

    # Each thread of the service keeps what its first large request took.
    warm_up = [data for data, _ in BODIES.values()] * CLIENTS_COUNT
    with ThreadPoolExecutor(CLIENTS_COUNT) as clients:
        list(clients.map(status_of, warm_up))
        before_mb = max(children_rss_mb(service.process.pid))
        statuses = list(clients.map(status_of, [data for data, _ in requests]))
        after_mb = max(children_rss_mb(service.process.pid))

    assert Counter(statuses) == Counter(status for _, status in requests)
    assert after_mb - before_mb <= RSS_GROWTH_MB_MAX
    assert service.get_status("/v1/info") == 200
