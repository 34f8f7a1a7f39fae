"""The service as programs use it, over lines that lose requests and answers."""

import logging
import traceback
from contextlib import ExitStack

import httpx
import pytest
from client_walk import PROBLEM, Lines

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
LOST, UNANSWERED = "lost", "answer lost"


def problem(status, code, **headers):
    told = {"code": code, "title": "T", "detail": "D."}
    return httpx.Response(status, headers=PROBLEM | headers, json=told)


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
    five, two = deeds.mint(
        [5, Output(2, "deed_", "s3cret")], metadata={"name": "Night Choir"}
    )
    fresh = [Output.fresh(3, five.item_id), Output.fresh(2, five.item_id)]
    deeds.swap([five], fresh)
    till = Output.fresh(2, five.item_id)
    offer = deeds.make_offer([], [till], expires_in=60)
    deeds.complete(offer.id, [two], [])

    assert deeds.check([five, two, *fresh, till]) == [
        "spent",
        "spent",
        *["unspent"] * 3,
    ]
    assert (offer.state, offer.gives, offer.wants) == (
        "open",
        (),
        (Units(five.item_id, 2),),
    )
    assert deeds.offer(offer.id).state == "completed"
    assert deeds.item(five.item_id) == Item(five.item_id, 7, '{"name":"Night Choir"}')


FAULTS = {
    "the request is lost": (LOST, 0),
    "the answer is lost": (UNANSWERED, 0),
    "a login page": (httpx.Response(200, html="<html>"), 0),
    "another answer": (httpx.Response(200, json={"success": "yes"}), 0),
    "deep JSON": (httpx.Response(200, content=b"[" * 100_000), 0),
    "a redirect": (
        httpx.Response(302, headers={"Location": "https://example.com/"}),
        0,
    ),
    "a refusal of another": (httpx.Response(403, json={"code": "rest_forbidden"}), 0),
    "a defect": (problem(500, "internal"), 0),
    "a busy gateway": (httpx.Response(503, headers={"Retry-After": "3"}), 3),
    "a busy service": (problem(503, "overloaded", **{"Retry-After": "7"}), 7),
    "a wait without a number": (
        problem(503, "overloaded", **{"Retry-After": "soon"}),
        0,
    ),
    "too many requests": (problem(429, "too_many_requests", **{"Retry-After": "2"}), 2),
    "in doubt": (problem(503, "ledger_in_doubt"), 0),
}


@pytest.mark.parametrize(("fault", "wait_s"), FAULTS.values(), ids=FAULTS)
def test_a_change_is_made_once_whatever_happens_to_it(line, five, deeds, fault, wait_s):
    made, fresh = line(fault), Output.fresh(5, five.item_id)

    made.swap([five], [fresh])

    assert deeds.check([five, fresh]) == ["spent", "unspent"]
    assert (
        len({(sent.content, sent.headers["Idempotency-Key"]) for sent in made.requests})
        == 1
    )
    assert len(made.requests) == 2
    assert wait_s <= made.waits[0] <= wait_s + 0.5


BUSY, IN_DOUBT = FAULTS["a busy service"][0], FAULTS["in doubt"][0]
LONG = {"Retry-After": "3600"}
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
    made, fresh = line(*faults), Output.fresh(5, five.item_id)

    with pytest.raises(error) as caught:
        made.swap([five], [fresh])

    told = caught.value
    assert (told.attempts, told.status, len(made.waits)) == (5, status, 4)
    least_s = [
        float(getattr(fault, "headers", {}).get("Retry-After", 0)) for fault in faults
    ]
    for place, wait_s in enumerate(made.waits):
        assert least_s[place] <= wait_s <= least_s[place] + 0.5 * 2**place
    deeds.swap([five], [fresh], key=told.key)
    assert deeds.check([five, fresh]) == ["spent", "unspent"]


def test_a_refusal_is_told_at_once(line, deeds, five):
    swaps = {
        ("too_many_failures", 429, None, 1): (
            problem(429, "too_many_failures", **LONG),
            [five],
            5,
        ),
        ("unknown_input", 400, 1, 2): (
            UNANSWERED,
            [five, Output.fresh(5, five.item_id)],
            10,
        ),
    }
    for expected, (fault, inputs, amount) in swaps.items():
        with pytest.raises(ProblemError) as caught:
            line(fault).swap(inputs, [Output.fresh(amount, five.item_id)])
        told = caught.value
        assert (told.code, told.status, told.index, told.attempts) == expected
        assert told.retry_after_s == (3600 if told.status == 429 else 0)
    assert str(told).startswith("Unknown input. ")
    assert deeds.check([five]) == ["unspent"]


@pytest.mark.parametrize("told", [True, False, None, 1, "true"])
def test_a_refusal_is_final_only_where_the_service_says_so(line, five, told):
    refusal = {"code": "spent_input", "isFinal": told}
    deeds = line(httpx.Response(400, headers=PROBLEM, json=refusal))

    with pytest.raises(ProblemError) as caught:
        deeds.swap([five], [Output.fresh(5, five.item_id)])

    assert caught.value.is_final == (told is True)


ITEM = {"id": NOWHERE, "total": 5, "metadata": None}
SIDES = {"gives": [], "wants": [{"itemId": NOWHERE, "amount": 5}]}
OFFER = SIDES | {
    "offerId": f"offer_{'0' * 26}",
    "state": "open",
    "expiresAt": "2026-12-01T10:00Z",
}
MINTED = {"itemId": NOWHERE}
ASKS = {
    "mint": (lambda deeds: deeds.mint([Output(5, "deed_", "a")]), MINTED),
    "offer": (lambda deeds: deeds.offer(OFFER["offerId"]), OFFER),
    "make_offer": (
        lambda deeds: deeds.make_offer([], [Output(5, NOWHERE, "a")]),
        OFFER,
    ),
    "item": (lambda deeds: deeds.item(NOWHERE), ITEM),
}
WRONG = [
    ("mint", {"itemId": "item_1"}),
    ("make_offer", {"offerId": "offer_1"}),
    ("offer", {"wants": [{"itemId": NOWHERE, "amount": 0}]}),
    ("offer", {"expiresAt": "soon"}),
    ("item", {"total": AMOUNT_MAX + 1}),
    ("item", {"total": True}),
]


@pytest.mark.parametrize(("verb", "wrong"), WRONG)
def test_an_answer_of_another_form_is_no_answer(line, verb, wrong):
    ask, right = ASKS[verb]
    deeds = line(
        *[httpx.Response(200, json=right | wrong)] * 5, httpx.Response(200, json=right)
    )

    with pytest.raises(NoAnswerError):
        ask(deeds)
    ask(deeds)


WRONG_STATES = [[], ["unspent"] * 2, ["lost"], [None], [[]]]


def test_outputs_are_checked_in_batches_in_order(line, five):
    deeds = line()
    outputs = [five, *(Output.fresh(5, five.item_id) for _ in range(6))]

    assert deeds.check(outputs) == ["unspent", *["unknown"] * 6]
    deeds.faults = [
        httpx.Response(200, json={"states": states}) for states in WRONG_STATES
    ]
    with pytest.raises(NoAnswerError):
        deeds.check([five])
    assert deeds.check([]) == []

    paths = [request.url.path for request in deeds.requests]
    assert paths == ["/v1/info", *["/v1/check"] * 7]


ADDRESSES = [
    "",
    "deeds.example.com",
    "ftp://h",
    "https://",
    "http://u:p@h",
    "http://h:port",
]
ADDRESSES += ["http://\x00"]


@pytest.mark.parametrize("text", ADDRESSES)
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


OTHERS = [
    httpx.Response(200, json={"version": "1"}),
    httpx.Response(404, html="Not found"),
]
OTHERS += [
    FAULTS["a login page"][0],
    FAULTS["a redirect"][0],
    problem(404, "not_found"),
]


@pytest.mark.parametrize("answer", OTHERS)
def test_a_service_of_another_kind_is_told(line, url, answer):
    with pytest.raises(InvalidInputError, match=f"no deed service at {url}"):
        line(*[answer] * 5).info()


LEAKS = [
    LOST,
    UNANSWERED,
    httpx.Response(200, json=[MARK]),
    httpx.Response(200, text=MARK),
    BUSY,
]


@pytest.mark.parametrize("fault", [*LEAKS, None])
def test_no_secret_is_in_any_error_or_log(line, caplog, fault):
    mine, new, deeds = (
        Output(5, NOWHERE, MARK),
        Output(5, "deed_", MARK),
        line(*[fault] * 30),
    )
    caplog.set_level(logging.DEBUG)
    for ask in (
        lambda: deeds.swap([mine], [mine]),
        lambda: deeds.complete(OFFER["offerId"], [mine], []),
        lambda: deeds.mint([new, new]),
        lambda: deeds.check([mine]) and Output(0, NOWHERE, MARK),
        lambda: Output.parse(f"5.{NOWHERE}.{MARK}"),
    ):
        with pytest.raises(DeedsError) as caught:
            ask()
        told = caught.value
        assert (told.__context__, told.__cause__) == (None, None)
        texts = [*traceback.format_exception(told), repr(told), repr(vars(told))]
        assert MARK not in f"{texts} {mine} {new!r} {deeds!r}"

    assert not any(MARK in str(record.__dict__) for record in caplog.records)
    assert not any(MARK in str(request.url) for request in deeds.requests)
