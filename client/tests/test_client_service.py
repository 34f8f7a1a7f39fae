"""The service as programs use it, over lines that lose requests and answers."""

import logging
import traceback
from contextlib import ExitStack

import httpx
import pytest
from client_walk import Lines, problem

from deeds_client.errors import (
    DeedsError,
    InvalidInputError,
    NoAnswerError,
    ProblemError,
)
from deeds_client.service import Deeds
from deeds_client.values import AMOUNT_MAX, Item, Output, Units
from tests.support.marker import MARK

NOWHERE = f"deed_{'0' * 26}"
MINE = Output(5, NOWHERE, MARK)
LOST, UNANSWERED = "lost", "answer lost"


class Line(Deeds):
    """A service on whose line these faults happen to requests, one after the other."""

    def __init__(self, url, *faults):
        self.faults, self.requests, self.waits = list(faults), [], []
        super().__init__(url, transport=Lines(url, self._fate), sleep=self.waits.append)

    def _fate(self, request):
        self.requests.append(request)
        return self.faults.pop(0) if self.faults else None


@pytest.fixture
def line(url):
    with ExitStack() as stack:
        yield lambda *faults: stack.enter_context(Line(url, *faults))


@pytest.fixture
def five(deeds):
    return deeds.mint([5])[0]


def test_units_are_minted_swapped_and_traded(deeds):
    two = Output(2, "deed_", "s3cret")
    five, two = deeds.mint([5, two], metadata={"name": "Night Choir"})
    item_id = five.item_id
    outputs = [Output.fresh(3, item_id), Output.fresh(2, item_id)]
    deeds.swap([five], outputs)
    till = Output.fresh(2, item_id)
    offer = deeds.make_offer([], [till], expires_in=60)
    deeds.complete(offer.id, [two], [])

    states = deeds.check([five, two, *outputs, till])
    assert states == ["spent", "spent", "unspent", "unspent", "unspent"]
    assert (offer.state, offer.gives) == ("open", ())
    assert offer.wants == (Units(item_id, 2),)
    assert deeds.offer(offer.id).state == "completed"
    assert deeds.item(item_id) == Item(item_id, 7, '{"name":"Night Choir"}')


FAULTS = {
    "the request is lost": LOST,
    "the answer is lost": UNANSWERED,
    "a login page": httpx.Response(200, html="<html>"),
    "another answer": httpx.Response(200, json={"success": "yes"}),
    "deep JSON": httpx.Response(200, content=b"[" * 100_000),
    "a redirect": httpx.Response(302, headers={"Location": "https://a.com/"}),
    "a refusal of another": httpx.Response(403, json={"code": "rest_forbidden"}),
    "a defect": problem(500, "internal"),
    "a busy gateway": httpx.Response(503, headers={"Retry-After": "3"}),
    "a busy service": problem(503, "overloaded", "7"),
    "a wait without a number": problem(503, "overloaded", "soon"),
    "too many requests": problem(429, "too_many_requests", "2"),
    "in doubt": problem(503, "ledger_in_doubt"),
}
# For how many seconds some of these ask to wait.
WAITS_S = {"a busy gateway": 3, "a busy service": 7, "too many requests": 2}


@pytest.mark.parametrize("name", FAULTS)
def test_a_change_is_made_once_whatever_happens_to_it(line, five, deeds, name):
    lossy, fresh = line(FAULTS[name]), Output.fresh(5, five.item_id)
    wait_s = WAITS_S.get(name, 0)

    lossy.swap([five], [fresh])

    assert deeds.check([five, fresh]) == ["spent", "unspent"]
    first, second = lossy.requests
    assert first.content == second.content
    assert first.headers["Idempotency-Key"] == second.headers["Idempotency-Key"]
    assert wait_s <= lossy.waits[0] <= wait_s + 0.5


BUSY, IN_DOUBT = problem(503, "overloaded", "7"), problem(503, "ledger_in_doubt")
GIVEN_UP = {
    "unanswered": ([UNANSWERED] * 5, NoAnswerError, 0),
    "another's answer": ([httpx.Response(200, html="")] * 5, NoAnswerError, 200),
    "busy": ([BUSY] * 5, ProblemError, 503),
    # The service says that nothing was done, but the first request may be under way.
    "busy after it was lost": ([UNANSWERED, *[BUSY] * 4], NoAnswerError, 503),
    "in doubt": ([IN_DOUBT] * 5, NoAnswerError, 503),
}


@pytest.mark.parametrize(("faults", "error", "status"), GIVEN_UP.values(), ids=GIVEN_UP)
def test_a_change_is_given_up_with_the_key_to_go_on(
    line, deeds, five, faults, error, status
):
    lossy, fresh = line(*faults), Output.fresh(5, five.item_id)

    with pytest.raises(error) as caught:
        lossy.swap([five], [fresh])

    told = caught.value
    assert (told.attempts, told.status) == (5, status)
    least_s = [7 if fault is BUSY else 0 for fault in faults[:4]]
    for place, (wait_s, least) in enumerate(zip(lossy.waits, least_s, strict=True)):
        assert least <= wait_s <= least + 0.5 * 2**place
    deeds.swap([five], [fresh], key=told.key)
    assert deeds.check([five, fresh]) == ["spent", "unspent"]


def test_a_refusal_that_follows_a_lost_answer_is_told(line, deeds, five):
    unknown = Output.fresh(5, five.item_id)

    with pytest.raises(ProblemError, match=r"^Unknown input\. ") as caught:
        line(UNANSWERED).swap([five, unknown], [Output.fresh(10, five.item_id)])

    told = caught.value
    assert (told.code, told.status, told.index) == ("unknown_input", 400, 1)
    assert (told.attempts, told.retry_after_s) == (2, 0)
    assert deeds.check([five]) == ["unspent"]


def test_a_wait_that_is_too_long_is_left_to_the_caller(line):
    with pytest.raises(ProblemError) as caught:
        line(problem(429, "too_many_failures", "3600")).swap([MINE], [MINE])

    told = caught.value
    assert (told.status, told.attempts, told.retry_after_s) == (429, 1, 3600)


@pytest.mark.parametrize("told", [True, False, None, 1, "true"])
def test_a_refusal_is_final_only_where_the_service_says_so(line, five, told):
    deeds = line(problem(400, "spent_input", isFinal=told))

    with pytest.raises(ProblemError) as caught:
        deeds.swap([five], [Output.fresh(5, five.item_id)])

    assert caught.value.is_final == (told is True)


ITEM = {"id": NOWHERE, "total": 5, "metadata": None}
OFFER = {
    "offerId": f"offer_{'0' * 26}",
    "state": "open",
    "gives": [],
    "wants": [{"itemId": NOWHERE, "amount": 5}],
    "expiresAt": "2026-12-01T10:00Z",
}
ASKS = {
    "mint": (lambda deeds: deeds.mint([MINE]), {"itemId": NOWHERE}),
    "offer": (lambda deeds: deeds.offer(OFFER["offerId"]), OFFER),
    "make_offer": (lambda deeds: deeds.make_offer([], [MINE]), OFFER),
    "item": (lambda deeds: deeds.item(NOWHERE), ITEM),
    "find": (lambda deeds: deeds.find(NOWHERE, ["a"]), {"outputs": [None]}),
    "check": (lambda deeds: deeds.check([MINE]), {"states": ["unspent"]}),
}
FOUND = {"amount": 5, "state": "spent"}
WRONG = [
    ("mint", "itemId", "item_1"),
    ("make_offer", "offerId", "offer_1"),
    ("offer", "wants", [{"itemId": NOWHERE, "amount": 0}]),
    ("offer", "expiresAt", "soon"),
    ("item", "total", AMOUNT_MAX + 1),
    ("item", "total", True),
    ("find", "outputs", []),
    ("find", "outputs", [None, None]),
    ("find", "outputs", [1]),
    ("find", "outputs", [FOUND | {"amount": "5"}]),
    ("find", "outputs", [FOUND | {"state": "unknown"}]),
    *[("check", "states", it) for it in ([], ["unspent"] * 2, ["lost"], [None], [[]])],
]


@pytest.mark.parametrize(("verb", "field", "value"), WRONG)
def test_an_answer_of_another_form_is_no_answer(line, verb, field, value):
    ask, right = ASKS[verb]
    wrong = httpx.Response(200, json=right | {field: value})
    deeds = line()
    deeds.info()
    deeds.faults = [wrong] * 5 + [httpx.Response(200, json=right)]

    with pytest.raises(NoAnswerError):
        ask(deeds)
    ask(deeds)


def test_outputs_are_checked_in_batches_in_order(line, five):
    deeds = line()
    others = [Output.fresh(5, five.item_id) for _ in range(6)]

    assert deeds.check([five, *others]) == ["unspent", *["unknown"] * 6]
    assert deeds.check([]) == []
    paths = [request.url.path for request in deeds.requests]
    assert paths == ["/v1/info", "/v1/check", "/v1/check"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "deeds.example.com",
        "ftp://h",
        "https://",
        "http://u:p@h",
        "http://h:port",
        "http://\x00",
    ],
)
def test_an_address_that_is_none_is_refused(text):
    with pytest.raises(InvalidInputError, match="looks like https://"):
        Deeds(text)


def test_the_path_of_an_address_is_kept():
    base_url = "https://deeds.example.com/our/deeds"

    def answer(request):
        assert str(request.url) == f"{base_url}/v1/item/deed_a%2Fb"
        return httpx.Response(200, json=ITEM | {"id": "deed_a/b"})

    transport = httpx.MockTransport(answer)
    with Deeds(
        " https://Deeds.Example.com:443/our/deeds/ ", transport=transport
    ) as deeds:
        assert (deeds.item("deed_a/b").total, deeds.base_url) == (5, base_url)


OTHERS = {
    "other fields": httpx.Response(200, json={"version": "1"}),
    "not found": httpx.Response(404, html="Not found"),
    "a login page": httpx.Response(200, html="<html>"),
    "a redirect": httpx.Response(302, headers={"Location": "https://example.com/"}),
    "a problem": problem(404, "not_found"),
}


@pytest.mark.parametrize("answer", OTHERS.values(), ids=OTHERS)
def test_a_service_of_another_kind_is_told(line, url, answer):
    with pytest.raises(InvalidInputError, match=f"no deed service at {url}"):
        line(*[answer] * 5).info()


CALLS = {
    "swap": lambda deeds: deeds.swap([MINE], [MINE]),
    "complete": lambda deeds: deeds.complete(OFFER["offerId"], [MINE], []),
    "mint": lambda deeds: deeds.mint([Output(5, "deed_", MARK)] * 2),
    "check": lambda deeds: deeds.check([MINE]) and Output(0, NOWHERE, MARK),
    "find": lambda deeds: deeds.find(NOWHERE, [MARK]),
    "parse": lambda _: Output.parse(f"5.{NOWHERE}.{MARK}"),
}
LEAKS = {
    "lost": LOST,
    "unanswered": UNANSWERED,
    "a list": httpx.Response(200, json=[MARK]),
    "a text": httpx.Response(200, text=MARK),
    "busy": BUSY,
    "no fault": None,
}


@pytest.mark.parametrize("fault", LEAKS.values(), ids=LEAKS)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_no_secret_is_in_any_error_or_log(line, caplog, call, fault):
    caplog.set_level(logging.DEBUG)
    deeds = line(*[fault] * 10)

    with pytest.raises(DeedsError) as caught:
        call(deeds)

    told = caught.value
    assert (told.__context__, told.__cause__) == (None, None)
    texts = [*traceback.format_exception(told), repr(told), repr(vars(told))]
    texts += [repr(deeds), repr(MINE)]
    texts += [str(request.url) for request in deeds.requests]
    texts += [str(record.__dict__) for record in caplog.records]
    assert [text for text in texts if MARK in text] == []
