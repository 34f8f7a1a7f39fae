"""Requests that are refused leave no memory behind, in a real gunicorn."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from deeds.domain.model import BODY_BYTES_MAX
from tests.support.serving import children_rss_mb

HEAD = b"POST /v1/mint HTTP/1.1\r\nHost: deeds\r\nContent-Type: application/json\r\n"
CLIENTS_COUNT = 8
SENT_MB = 200


def with_length(body):
    return HEAD + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def in_chunks(size):
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    return (
        HEAD
        + b"Transfer-Encoding: chunked\r\n\r\n"
        + chunk * (size // 0x10000)
        + b"0\r\n\r\n"
    )


def lying(size):
    """Announce a terabyte."""
    return HEAD + b"Content-Length: 1000000000000\r\n\r\n" + b" " * size


def as_often_as_fits(begin, value, end):
    return (
        begin + value * ((BODY_BYTES_MAX - len(begin) - len(end)) // len(value)) + end
    )


# Each is sent as often as makes its share of all. What is not larger than the limit is
# read whole.
BODIES = {
    "no JSON": (with_length(b" " * BODY_BYTES_MAX), 400),
    "too large": (with_length(b"[" * 2 * BODY_BYTES_MAX), 413),
    "too large in chunks": (in_chunks(2 * BODY_BYTES_MAX), 413),
    "a length far above what is sent": (lying(BODY_BYTES_MAX), 413),
    # Parsed, these would take up to 25 times their bytes: 349,000 objects, 131,000
    # pairs.
    "empty objects": (with_length(as_often_as_fits(b"[{}", b",{}", b"]")), 400),
    "pairs": (with_length(as_often_as_fits(b'{"a":[1', b',{"a":1}', b"]}")), 400),
    "texts": (with_length(as_often_as_fits(b'{"outputs":["ab"', b',"ab"', b"]}")), 400),
    "one text": (with_length(as_often_as_fits(b'{"inputs":"', b"a", b'"}')), 400),
}


def test_200_mb_of_refused_bodies_leave_no_memory_behind(gunicorn_service):
    service = gunicorn_service(WEB_CONCURRENCY="1")
    requests = [
        (data, status)
        for data, status in BODIES.values()
        for _ in range(SENT_MB * 10**6 // len(BODIES) // len(data) + 1)
    ]
    assert sum(len(data) for data, _ in requests) >= SENT_MB * 10**6

    def status_of(data):
        return int(service.send_bytes(data, timeout_s=60).split(b" ")[1])

    with ThreadPoolExecutor(CLIENTS_COUNT) as clients:

        def settled_mb():
            """Return the memory after small requests.

            Until then a thread holds its last one.
            """
            list(clients.map(status_of, [with_length(b"{}")] * 8 * CLIENTS_COUNT))
            [rss_mb] = children_rss_mb(service.process.pid)
            return rss_mb

        list(
            clients.map(
                status_of, [data for data, _ in BODIES.values()] * 4 * CLIENTS_COUNT
            )
        )
        before_mb = settled_mb()
        statuses = list(clients.map(status_of, [data for data, _ in requests]))
        after_mb = settled_mb()

    assert Counter(statuses) == Counter(status for _, status in requests)
    assert after_mb - before_mb <= 20.0
    assert service.get_status("/v1/info") == 200
