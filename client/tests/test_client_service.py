"""The methods of Deeds, against a running service and against other answers."""

from datetime import UTC

import httpx
import pytest
from client_support import problem

from deeds_client.errors import InvalidInputError, NoAnswerError, ProblemError
from deeds_client.values import Item, Output, Secret, Units
from deeds_client.version import __version__

NOWHERE = f"deed_{'0' * 26}"
MINE = Output(5, NOWHERE, Secret("a"))


def test_units_are_minted_and_traded(deeds):
    own = Output(2, "deed_", Secret("s3cret"))
    five, two = deeds.mint([5, own], metadata={"name": "Night Choir"})
    item_id = five.item_id
    till = Output.fresh(2, item_id)
    offer = deeds.make_offer([], [till], expires_in=60)
    deeds.complete(offer.id, [two], [])

    assert deeds.check([five, two, till]) == ["unspent", "spent", "unspent"]
    halves = (offer.gives, offer.wants)
    assert (offer.state, halves) == ("open", ((), (Units(item_id, 2),)))
    assert offer.expires_at.tzinfo is UTC
    assert deeds.offer(offer.id).state == "completed"
    assert deeds.item(item_id) == Item(item_id, 7, '{"name":"Night Choir"}')


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
    "find": (lambda deeds: deeds.find(NOWHERE, [Secret("a")]), {"outputs": [None]}),
    "check": (lambda deeds: deeds.check([MINE]), {"states": ["unspent"]}),
}
FOUND = {"amount": 5, "state": "spent"}
WRONG = [
    ("mint", "itemId", "item_1"),
    ("make_offer", "offerId", "offer_1"),
    ("offer", "wants", [{"itemId": NOWHERE, "amount": 0}]),
    ("offer", "state", "lost"),
    ("offer", "expiresAt", "soon"),
    ("offer", "expiresAt", "9999-12-31T12:00:00Z"),
    ("offer", "expiresAt", "2026-12-01T10:00"),
    ("item", "metadata", {}),
    ("find", "outputs", []),
    ("find", "outputs", [FOUND | {"amount": "5"}]),
    ("find", "outputs", [FOUND | {"state": "unknown"}]),
    ("check", "states", [[]]),
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


def test_a_defect_of_our_own_is_not_taken_for_a_lost_answer(line):
    with pytest.raises(TypeError):
        line()._ask("/v1/info", lambda answer: answer + 1)


def paths_of(requests):
    return [request.url.path for request in requests]


def test_outputs_are_checked_in_batches_in_order(line, deeds):
    checking = line()
    [five] = deeds.mint([5])
    others = [Output.fresh(5, five.item_id) for _ in range(6)]

    assert checking.check([five, *others]) == ["unspent", *["unknown"] * 6]
    assert checking.check([]) == []
    assert paths_of(checking.requests) == ["/v1/info", "/v1/check", "/v1/check"]
    headers = checking.requests[0].headers
    assert headers["Accept-Encoding"] == "identity"
    assert headers["User-Agent"] == f"deeds-client/{__version__}"


OTHERS = {
    "other fields": httpx.Response(200, json={"version": "1"}),
    "not found": httpx.Response(404, html="Not found"),
}


@pytest.mark.parametrize("answer", OTHERS.values(), ids=OTHERS)
def test_a_service_of_another_kind_is_told(line, url, answer):
    with pytest.raises(InvalidInputError, match=f"no deed service at {url}"):
        line(*[answer] * 5).info()


def test_limits_are_asked_for_again_after_a_refusal(line):
    deeds = line("answered", problem(400, "invalid_request"))

    with pytest.raises(ProblemError):
        deeds.check([MINE])
    deeds.check([MINE])

    assert paths_of(deeds.requests) == ["/v1/info", "/v1/check"] * 2
