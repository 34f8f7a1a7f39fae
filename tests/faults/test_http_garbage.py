"""Bytes that are not HTTP, or barely, sent to a real gunicorn over a real socket.

The service answers with a 4xx problem or closes the connection, logs nothing of what
was sent, and goes on.
"""

import json

import pytest

# Stands for a secret, which must be in no answer and not in the log.
MARK = b"mark-7c1f9e"

HOST = b"Host: localhost\r\n"
CLOSE = HOST + b"Connection: close\r\n"
END = CLOSE + b"\r\n"
GET = b"GET / HTTP/1.1\r\n"
INFO = b"GET /v1/info HTTP/1.1\r\n"
MINT = b"POST /v1/mint HTTP/1.1\r\n" + CLOSE + b"Content-Type: application/json\r\n"
CHUNKED = MINT + b"Transfer-Encoding: chunked\r\n\r\n"

# The start of the first message of a TLS client (RFC 8446, 4.1.2).
TLS_CLIENT_HELLO = bytes.fromhex("16030100f1010000ed0303") + bytes(range(256))[:230]

MALFORMED = {
    "request line of four words": b"GET / mark-7c1f9e HTTP/1.1\r\n\r\n",
    "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nmark-7c1f9e",
    "TLS client hello": TLS_CLIENT_HELLO + MARK,
    "target without slash": b"GET mark-7c1f9e HTTP/1.1\r\n" + END,
    "target of broken IPv6": b"GET http://[mark-7c1f9e/ HTTP/1.1\r\n" + END,
    "header without colon": GET + b"mark-7c1f9e\r\n" + END,
    "header with LF alone": GET + b"X: mark-7c1f9e\nY: b\r\n" + END,
    "header folded": GET + b"X: a\r\n mark-7c1f9e\r\n" + END,
    "no Host": GET + b"X: mark-7c1f9e\r\n\r\n",
    "Host twice": GET + HOST + b"Host: mark-7c1f9e\r\n\r\n",
    "length and chunked": MINT
    + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nmark-7c1f9e",
    "length with plus": MINT + b"Content-Length: +5\r\n\r\nmark-7c1f9e",
    "length of 5000 digits": MINT
    + b"X: mark-7c1f9e\r\nContent-Length: %s\r\n\r\n" % (b"9" * 5000),
    "length twice": MINT + b"Content-Length: 5\r\n" * 2 + b"\r\nmark-7c1f9e",
    "coding before chunked": MINT
    + b"Transfer-Encoding: mark-7c1f9e, chunked\r\n\r\n0\r\n\r\n",
    "chunked twice": MINT + b"Transfer-Encoding: chunked\r\n" * 2 + b"\r\n",
    "chunked in HTTP/1.0": b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"5\r\nmark-7c1f9e",
    "chunk size of letters": CHUNKED + b"mark-7c1f9e\r\n",
    # To answer a request that may start anywhere would permit request smuggling.
    "a good request after it": MARK + b"\r\n\r\n" + INFO + END,
}

# The status and the request. Most of them reach the application, which refuses them.
REFUSED = {
    "target endless": (431, b"GET /" + MARK * 20_000),
    "chunk size huge": (413, CHUNKED + b"f" * 4000 + b"\r\nmark-7c1f9e"),
    "header SCRIPT_NAME": (
        404,
        b"GET /x HTTP/1.0\r\nSCRIPT_NAME: /mark-7c1f9e\r\n\r\n",
    ),
    "Host of no text": (404, b"GET /x HTTP/1.0\r\nHost: \xff:mark-7c1f9e\r\n\r\n"),
    "path with NUL": (404, b"GET /\0mark-7c1f9e HTTP/1.1\r\n" + END),
    "path of no UTF-8": (404, b"GET /v1/item/%ff%femark-7c1f9e HTTP/1.1\r\n" + END),
}

BROKEN_OFF = {
    "lines ended by LF": b"GET /mark-7c1f9e HTTP/1.1\nHost: localhost\n\n",
    "half a head": GET + b"X: mark-7c1f9e\r\n",
    "half a body": MINT + b'Content-Length: 100\r\n\r\n{"outputs":["mark-7c1f9e',
    "chunks without the last": CHUNKED + b"b\r\nmark-7c1f9e\r\n",
}


@pytest.fixture(scope="module")
def service(shared_service):
    talkative = "--bind 127.0.0.1:0 --log-level debug --access-logfile -"
    return shared_service(GUNICORN_CMD_ARGS=talkative)


@pytest.fixture(autouse=True)
def _service_goes_on_and_logs_no_error(service):
    yield
    assert service.get("/v1/info").status_code == 200
    log = service.log_text()
    assert MARK.decode() not in log
    assert '"level":"error"' not in log
    assert "Traceback" not in log


def problem_status(answer):
    """Return the status of an answer, which must be one whole problem."""
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.decode("ascii").split("\r\n")
    assert "Content-Type: application/problem+json" in lines
    assert "Connection: close" in lines
    assert f"Content-Length: {len(body)}" in lines, "one answer, whole"
    assert MARK not in answer
    status = json.loads(body)["status"]
    assert lines[0].split()[1] == str(status)
    return status


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED)
def test_bytes_that_are_not_http_are_refused_with_a_problem(service, data):
    assert problem_status(service.send_bytes(data)) == 400


@pytest.mark.parametrize(("status", "data"), REFUSED.values(), ids=REFUSED)
def test_bytes_that_are_barely_http_are_refused_with_a_problem(service, status, data):
    assert problem_status(service.send_bytes(data)) == status


@pytest.mark.parametrize("data", BROKEN_OFF.values(), ids=BROKEN_OFF)
def test_a_request_that_breaks_off_is_not_answered(service, data):
    assert service.send_bytes(data) == b""


LARGE_HEADS = {
    "digits": b"GET a://" + b"1" * 30_000 + b" ",
    "spaces": GET + b"X:" + b" " * 30_000 + b"\0",
    "spaces in many fields": GET
    + (b"X: " + b"\t" * 60 + b"a" + b" " * 60 + b"\0\r\n") * 90,
}


@pytest.mark.parametrize("head", LARGE_HEADS.values(), ids=LARGE_HEADS)
def test_no_head_takes_long_to_parse(service, head):
    """waitress parses in the thread that serves all connections."""
    [worker] = service.workers
    before_s = sum(worker.cpu_times()[:2])

    assert problem_status(service.send_bytes(head + b"\r\n\r\n")) == 400
    # CPU time, because the machine may be busy.
    assert sum(worker.cpu_times()[:2]) - before_s < 1


def test_a_head_may_have_30_kb_after_empty_lines(service):
    """RFC 9112, 2.2."""
    fields = (b"X: " + b"a" * 6000 + b"\r\n") * 5

    answer = service.send_bytes(b"\r\n" * 1000 + INFO + fields + END)

    assert answer.startswith(b"HTTP/1.1 200 ")


def test_requests_sent_in_one_go_are_answered_in_order(service):
    check = b"POST /v1/check HTTP/1.1\r\nContent-Length: 2\r\n" + HOST + b"\r\n{}"

    answer = service.send_bytes(INFO + HOST + b"\r\n" + check + INFO + END)

    statuses = [part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"400", b"200"]
