"""Bytes that are not HTTP, or barely, against a real gunicorn over a real socket.

Whatever arrives is answered 4xx, as a problem, or the connection is closed. The log
never holds a byte of it, and the service goes on.
"""

import json
import time

import pytest

from tests.support.serving import running_service

# Stands where a secret could stand. It must come back neither in an answer nor in the
# log.
MARK = b"mark-7c1f9e"

HOST = b"Host: localhost\r\n"
CLOSE = HOST + b"Connection: close\r\n"
GET = b"GET / HTTP/1.1\r\n"
MINT = b"POST /v1/mint HTTP/1.1\r\n" + CLOSE + b"Content-Type: application/json\r\n"
CHUNKED = MINT + b"Transfer-Encoding: chunked\r\n\r\n"
MARKED = b"X: " + MARK + b"\r\n"

# What a client that expects TLS sends first (RFC 8446, 4.1.2), cut short.
TLS_CLIENT_HELLO = (
    bytes.fromhex("16030100f1010000ed0303") + bytes(range(256))[:230] + MARK
)

# Answered 400.
MALFORMED = {
    "request line without version": b"GET /" + MARK + b"\r\n\r\n",
    "request line of four words": b"GET / " + MARK + b" HTTP/1.1\r\n\r\n",
    "request line with a tab": b"GET /\tHTTP/1.1\r\n" + CLOSE + b"\r\n" + MARK,
    "space before the request line": b" " + GET + CLOSE + b"\r\n" + MARK,
    "space alone in a head": b" \r\n\r\n" + GET + CLOSE + b"\r\n",
    "method with brackets": b"G(E)T / HTTP/1.1\r\n" + CLOSE + b"\r\n",
    "version 0.9": b"GET /" + MARK + b" HTTP/0.9\r\n" + CLOSE + b"\r\n",
    "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + MARK,
    "TLS client hello": TLS_CLIENT_HELLO,
    "target without slash": b"GET " + MARK + b" HTTP/1.1\r\n" + CLOSE + b"\r\n",
    "target of broken IPv6": b"GET http://["
    + MARK
    + b"/ HTTP/1.1\r\n"
    + CLOSE
    + b"\r\n",
    "target of UTF-8": "GET /é".encode() + MARK + b" HTTP/1.1\r\n" + CLOSE + b"\r\n",
    "header without colon": GET + MARK + b"\r\n" + CLOSE + b"\r\n",
    "header without name": GET + b": " + MARK + b"\r\n" + CLOSE + b"\r\n",
    "header space before colon": GET + b"X : " + MARK + b"\r\n" + CLOSE + b"\r\n",
    "header with NUL": GET + b"X: \0" + MARK + b"\r\n" + CLOSE + b"\r\n",
    "header with lone CR": GET + b"X: a\r" + MARK + b"\r\n" + CLOSE + b"\r\n",
    "header with LF alone": GET + b"X: " + MARK + b"\nY: b\r\n" + CLOSE + b"\r\n",
    "header folded": GET + b"X: a\r\n " + MARK + b"\r\n" + CLOSE + b"\r\n",
    "no Host": GET + MARKED + b"\r\n",
    "Host twice": GET + HOST + b"Host: " + MARK + b"\r\n\r\n",
    "length and chunked": MINT
    + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    + MARK,
    "length with plus": MINT + b"Content-Length: +5\r\n\r\n" + MARK,
    "length empty": MINT + b"Content-Length:\r\n\r\n" + MARK,
    "length of letters": MINT + b"Content-Length: " + MARK + b"\r\n\r\n",
    "length of 5000 digits": MINT
    + b"Content-Length: "
    + b"9" * 5000
    + b"\r\n\r\n"
    + MARK,
    "length twice": MINT + b"Content-Length: 5\r\n" * 2 + b"\r\n" + MARK,
    "coding before chunked": MINT
    + b"Transfer-Encoding: "
    + MARK
    + b", chunked\r\n\r\n0\r\n\r\n",
    "chunked twice": MINT + b"Transfer-Encoding: chunked\r\n" * 2 + b"\r\n",
    "chunked in HTTP/1.0": b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n"
    + MARK,
    "chunk size of letters": CHUNKED + MARK + b"\r\n",
    "chunk size negative": CHUNKED + b"-5\r\n" + MARK + b"\r\n0\r\n\r\n",
    "chunk without its end": CHUNKED + b"5\r\n" + MARK + b"\r\n0\r\n\r\n",
    "chunk extension of control characters": CHUNKED
    + b"5;\x01"
    + MARK
    + b"\r\n12345\r\n",
    "trailer that sets the length": CHUNKED + b"0\r\nContent-Length: 5\r\n\r\n" + MARK,
    "Content-Type twice": MINT + b"Content-Type: " + MARK + b"\r\n\r\n",
    "body longer than its length": MINT + b"Content-Length: 1\r\n\r\n{" + MARK * 100,
}

# The application gets most of these and refuses them.
REFUSED = {
    "target endless": (431, b"GET /" + MARK * 20_000),
    "chunk size huge": (413, CHUNKED + b"f" * 4000 + b"\r\n" + MARK),
    "body too large": (413, MINT + b"Content-Length: 9999999999999\r\n\r\n" + MARK),
    "path with NUL": (404, b"GET /\0" + MARK + b" HTTP/1.1\r\n" + CLOSE + b"\r\n"),
    "path with an encoded NUL": (
        404,
        b"GET /%00" + MARK + b" HTTP/1.1\r\n" + CLOSE + b"\r\n",
    ),
    "path of no UTF-8": (
        404,
        b"GET /v1/item/%ff%fe" + MARK + b" HTTP/1.1\r\n" + CLOSE + b"\r\n",
    ),
    "path of two slashes": (
        404,
        b"GET //" + MARK + b"//x HTTP/1.1\r\n" + CLOSE + b"\r\n",
    ),
    "method unknown": (405, b"BREW /v1/mint HTTP/1.1\r\n" + MARKED + CLOSE + b"\r\n"),
    "target of another host": (
        404,
        b"GET http://" + MARK + b"/x HTTP/1.1\r\n" + CLOSE + b"\r\n",
    ),
    "header SCRIPT_NAME": (
        404,
        b"GET /x HTTP/1.0\r\nSCRIPT_NAME: /" + MARK + b"\r\n\r\n",
    ),
    "Host of no text": (404, b"GET /x HTTP/1.0\r\nHost: \xff:" + MARK + b"\r\n\r\n"),
    "HTTP/1.0": (404, b"GET /" + MARK + b" HTTP/1.0\r\n\r\n"),
}

BROKEN_OFF = {
    "nothing": b"",
    "an empty line": b"\r\n",
    "lines ended by LF": b"GET /" + MARK + b" HTTP/1.1\nHost: localhost\n\n",
    "half a head": GET + MARKED,
    "half a body": MINT + b'Content-Length: 100\r\n\r\n{"outputs":["' + MARK,
    "half a chunk": CHUNKED + b"ff\r\n" + MARK,
    "chunks without the last": CHUNKED + b"b\r\n" + MARK + b"\r\n",
}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    directory = tmp_path_factory.mktemp("garbage")
    talkative = "--bind 127.0.0.1:0 --log-level debug --access-logfile -"
    with running_service(
        directory, WEB_CONCURRENCY="1", GUNICORN_CMD_ARGS=talkative
    ) as service:
        yield service


@pytest.fixture(autouse=True)
def _service_goes_on_and_says_nothing(service):
    yield
    assert service.get_status("/v1/info") == 200
    log = service.log_text()
    assert MARK.decode() not in log
    assert '"level":"error"' not in log
    assert "Traceback" not in log


def problem_of(answer):
    """Return the problem in a whole response; fail on anything else."""
    head, _, body = answer.partition(b"\r\n\r\n")
    status_line, *fields = head.decode("ascii").split("\r\n")
    headers = {
        name.lower(): value
        for name, value in (field.split(": ", 1) for field in fields)
    }
    assert headers["content-type"] == "application/problem+json"
    assert headers["connection"] == "close"
    assert int(headers["content-length"]) == len(body), (
        "one answer, whole, and nothing after it"
    )
    problem = json.loads(body)
    assert problem["status"] == int(status_line.split()[1])
    assert MARK not in answer
    return problem


@pytest.mark.parametrize(
    ("status", "data"),
    [*((400, data) for data in MALFORMED.values()), *REFUSED.values()],
    ids=[*MALFORMED, *REFUSED],
)
def test_what_is_not_http_or_barely_is_refused_with_a_problem(service, status, data):
    assert problem_of(service.send_bytes(data))["status"] == status


@pytest.mark.parametrize("data", BROKEN_OFF.values(), ids=BROKEN_OFF)
def test_a_request_that_breaks_off_is_not_answered(service, data):
    assert service.send_bytes(data) == b""


@pytest.mark.parametrize(
    "head",
    [
        b"GET a://" + b"1" * 30_000 + b" ",
        GET + b"X:" + b" " * 30_000 + b"\0",
        GET + (b"X: " + b"\t" * 60 + b"a" + b" " * 60 + b"\0\r\n") * 90,
    ],
    ids=["digits", "spaces", "spaces in many fields"],
)
def test_no_head_takes_long_to_parse(service, head):
    """waitress parses in the thread that waits on all connections."""
    started = time.monotonic()

    assert problem_of(service.send_bytes(head + b"\r\n\r\n"))["status"] == 400
    assert time.monotonic() - started < 1


def test_a_good_request_after_a_refused_one_is_not_answered(service):
    """Nobody knows where it starts: answering it would be request smuggling."""
    good = b"GET /v1/info HTTP/1.1\r\n" + CLOSE + b"\r\n"

    assert problem_of(service.send_bytes(MARK + b"\r\n\r\n" + good))["status"] == 400


def test_empty_lines_before_a_request_do_not_delay_it(service):
    """RFC 9112, 2.2."""
    get = b"GET /v1/info HTTP/1.1\r\n" + CLOSE + b"\r\n"

    assert service.send_bytes(b"\r\n" * 1000 + get).startswith(b"HTTP/1.1 200 ")


def test_a_head_may_have_30_kb_after_an_empty_line(service):
    head = (
        b"\r\nGET /v1/info HTTP/1.1\r\n" + (b"X: " + b"a" * 6000 + b"\r\n") * 5 + CLOSE
    )

    assert service.send_bytes(head + b"\r\n").startswith(b"HTTP/1.1 200 ")


def test_requests_sent_in_one_go_are_answered_in_order(service):
    get = b"GET /v1/info HTTP/1.1\r\n"
    check = b"POST /v1/check HTTP/1.1\r\nContent-Length: 2\r\n"

    answer = service.send_bytes(
        get + HOST + b"\r\n" + check + HOST + b"\r\n{}" + get + CLOSE + b"\r\n"
    )

    statuses = [part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"400", b"200"]
