"""Calls over lines that lose requests and answers, to servers that may be hostile."""

import gzip
import json
import logging
import time
import traceback
from contextlib import suppress
from socket import create_server
from threading import Thread
from unittest.mock import Mock

import httpx
import pytest
from client_support import live_at_once, problem

from deeds_client.errors import (
    DeedsError,
    InvalidInputError,
    NoAnswerError,
    ProblemError,
    plain,
)
from deeds_client.service import Deeds
from deeds_client.values import Output, Secret
from tests.support.marker import MARK

NOWHERE = f"deed_{'0' * 26}"
MINE = Output(5, NOWHERE, Secret(MARK))
ITEM = {"total": 5}
LOST, UNANSWERED = "lost", "answer lost"


@pytest.fixture
def five(deeds):
    return deeds.mint([5])[0]


@pytest.fixture
def fresh(five):
    """An output that `five` can be swapped for."""
    return Output.fresh(5, five.item_id)


@pytest.fixture
def refusal(line):
    """A function that returns the error of a swap with these answers."""

    def refusal(*answers, kind=ProblemError):
        with pytest.raises(kind) as caught:
            line(*answers).swap([MINE], [MINE])
        return caught.value

    return refusal


FAULTS = {
    "the request is lost": LOST,
    "another answer": httpx.Response(200, json={"success": "yes"}),
    "a redirect": httpx.Response(302, headers={"Location": "https://a.com/"}),
    "a cookie": httpx.Response(200, headers={"Set-Cookie": f"a=; max-age={10**400}"}),
    "a refusal of another": httpx.Response(403, json={"code": "rest_forbidden"}),
    "a defect": problem(500, "internal"),
    "a busy gateway": httpx.Response(503, headers={"Retry-After": "3"}),
    "too many requests": problem(429, "too_many_requests", "2"),
}
# The seconds of Retry-After of some of these.
WAITS_S = {"a busy gateway": 3, "too many requests": 2}


@pytest.mark.parametrize("name", FAULTS)
def test_a_change_is_made_once_whatever_happens_to_it(line, deeds, five, fresh, name):
    lossy, wait_s = line(FAULTS[name]), WAITS_S.get(name, 0)

    lossy.swap([five], [fresh])

    assert deeds.check([five, fresh]) == ["spent", "unspent"]
    first, second = lossy.requests
    assert first.content == second.content
    assert first.headers["Idempotency-Key"] == second.headers["Idempotency-Key"]
    assert wait_s <= lossy.waits[0] <= wait_s + 0.5


BUSY, IN_DOUBT = problem(503, "overloaded", "7"), problem(503, "ledger_in_doubt")
GIVEN_UP = {
    "unanswered": ([UNANSWERED] * 5, NoAnswerError, 0),
    "busy": ([BUSY] * 5, ProblemError, 503),
    # The service says that nothing was done, but the first request may be under way.
    "busy after it was lost": ([UNANSWERED, *[BUSY] * 4], NoAnswerError, 503),
    "in doubt": ([IN_DOUBT] * 5, NoAnswerError, 503),
}


@pytest.mark.parametrize(("faults", "error", "status"), GIVEN_UP.values(), ids=GIVEN_UP)
def test_a_change_is_given_up_with_the_key_to_go_on(
    line, five, fresh, faults, error, status
):
    lossy = line(*faults)

    with pytest.raises(error) as caught:
        lossy.swap([five], [fresh])

    raised = caught.value
    assert (raised.attempts, raised.status) == (5, status)
    least_s = [7 if fault is BUSY else 0 for fault in faults[:4]]
    for place, (wait_s, least) in enumerate(zip(lossy.waits, least_s, strict=True)):
        assert least <= wait_s <= least + 0.5 * 2**place
    lossy.swap([five], [fresh], key=raised.key)
    assert lossy.check([five, fresh]) == ["spent", "unspent"]


def test_a_refusal_that_follows_a_lost_answer_is_told(line, deeds, five, fresh):
    with pytest.raises(ProblemError, match=r"^Unknown input\. ") as caught:
        line(UNANSWERED).swap([five, fresh], [Output.fresh(10, five.item_id)])

    error = caught.value
    assert (error.code, error.status, error.index) == ("unknown_input", 400, 1)
    assert deeds.check([five]) == ["unspent"]


@pytest.mark.parametrize(("text", "wait_s"), [("3600", 3600), ("9" * 5000, 86400)])
def test_a_wait_that_is_too_long_is_left_to_the_caller(refusal, text, wait_s):
    error = refusal(problem(429, "too_many_failures", text))

    assert (error.status, error.attempts, error.retry_after_s) == (429, 1, wait_s)


@pytest.mark.parametrize("is_final", [True, "true"])
def test_a_refusal_is_final_only_where_the_service_says_so(refusal, is_final):
    answer = problem(400, "spent_input", isFinal=is_final)

    assert refusal(answer).is_final == (is_final is True)


def test_what_a_refusal_says_is_one_line_without_controls(refusal):
    about = {"title": "\x1b[1mNo\n\u202e”", "detail": "d " * 999, "index": -1}

    error = refusal(problem(400, "spent_input", **about))

    assert (str(error), error.index) == (f"[1mNo. {'d ' * 250}", None)
    assert plain("“a”\t\x00b\u2028\ud800c", 4) == "a b "


@pytest.mark.parametrize("code", ["Spent", 5])
def test_a_refusal_whose_code_has_another_form_is_no_refusal(refusal, code):
    refusal(*[problem(400, code)] * 5, kind=NoAnswerError)


@pytest.mark.parametrize(
    "text",
    [
        "deeds.example.com",
        "ftp://h",
        "http://u:p@h",
        "http://h:port",
        "http://h/#a",
    ],
)
def test_an_address_that_is_none_is_refused(text):
    with pytest.raises(InvalidInputError, match="looks like https://"):
        Deeds(text)


def test_the_path_of_an_address_is_kept():
    base_url = "https://deeds.example.com/our/deeds"

    def answer(request):
        assert str(request.url) == f"{base_url}/v1/item/deed_a%2Fb"
        return httpx.Response(200, json=ITEM)

    transport = httpx.MockTransport(answer)
    with Deeds(
        " https://Deeds.Example.com:443/our/deeds/ ", transport=transport
    ) as deeds:
        assert (deeds.item("deed_a/b").total, deeds.base_url) == (5, base_url)


OK = b"HTTP/1.1 200 OK\r\n"
RIGHT = json.dumps(ITEM).encode()


def slowly(*parts):
    yield from parts
    # Takes half a minute, unless the client hangs up.
    for _ in range(1500):
        time.sleep(0.02)
        yield b"H"


HOSTILE = {
    "too large": ([OK, b"\r\n", RIGHT, b" " * 2**22], 200),
    "gzip": ([OK, b"Content-Encoding: gzip\r\n\r\n", gzip.compress(RIGHT)], 200),
    "a slow header": (slowly(OK, b"A: "), 0),
    "a slow body": (slowly(OK, b"\r\n"), 0),
}


@pytest.mark.parametrize(("parts", "status"), HOSTILE.values(), ids=HOSTILE)
def test_no_answer_is_large_compressed_or_late(parts, status):
    def answer():
        with suppress(OSError), listener.accept()[0] as connection:
            connection.recv(65536)
            for part in parts:
                connection.sendall(part)

    with create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        answering = Thread(target=answer)
        answering.start()
        deeds = Deeds(url, tries=1, deadline_s=9 if status else 0.4)
        with deeds, pytest.raises(NoAnswerError) as caught:
            deeds.item(NOWHERE)

    answering.join()
    assert caught.value.status == status
    # The client did not wait for the end of a slow answer.
    assert status or next(parts)


def test_no_wait_is_begun_that_would_outlast_the_deadline():
    busy = httpx.MockTransport(lambda _: BUSY)
    deeds = Deeds("http://h", transport=busy, deadline_s=7, sleep=None)
    with deeds, pytest.raises(ProblemError):
        deeds.item(NOWHERE)


CALLS = {
    "swap": lambda deeds: deeds.swap([MINE], [MINE]),
    "complete": lambda deeds: deeds.complete(f"offer_{'0' * 26}", [MINE], []),
    "mint": lambda deeds: deeds.mint([Output(5, "deed_", Secret(MARK))] * 2),
    "check": lambda deeds: deeds.check([MINE]) and Output(0, NOWHERE, MINE.secret),
    "find": lambda deeds: deeds.find(NOWHERE, [MINE.secret]),
    "parse": lambda _: Output.parse(f"5.{NOWHERE}.{MARK}"),
}
LEAKS = {
    "lost": LOST,
    "a list": httpx.Response(200, json=[MARK]),
    "a text": httpx.Response(200, text=MARK),
    "an echo": problem(400, "x", detail=f"+5.{NOWHERE}.{MARK}, {MARK}", title=MARK),
    "no fault": None,
}


@pytest.mark.parametrize("fault", LEAKS.values(), ids=LEAKS)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_no_secret_is_in_any_error_or_log(line, caplog, call, fault):
    caplog.set_level(logging.DEBUG)
    deeds = line(*[fault] * 10)

    with pytest.raises(DeedsError) as caught:
        call(deeds)

    error = caught.value
    assert (error.__context__, error.__cause__) == (None, None)
    texts = [*traceback.format_exception(error), repr(error), repr(vars(error))]
    texts += [repr(deeds), repr(MINE)]
    texts += [str(request.url) for request in deeds.requests]
    texts += [str(record.__dict__) for record in caplog.records]
    assert [text for text in texts if MARK in text] == []


def test_a_fork_reads_no_answers_on_the_connections_of_its_parent(monkeypatch):
    clients = Mock(wraps=httpx.Client)
    monkeypatch.setattr(httpx, "Client", clients)
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=ITEM))

    def live():
        deeds.item(NOWHERE)
        assert clients.call_count == 2

    with Deeds("http://a.example", transport=transport) as deeds:
        assert clients.call_count == 0
        deeds.item(NOWHERE)
        assert live_at_once(live) == [False]
    assert clients.call_count == 1
