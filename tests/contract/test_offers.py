"""Making, reading and completing offers (contract part 3): what is answered, and what is moved."""

from datetime import UTC, datetime

import pytest

from deeds.domain.raw_output import make_strong_secret
from storage.tables import operations
from tests.support.requests import check, complete, mint, offer, post, refusal, swap

SUCCESS = {"success": True}
NOWHERE = "deed_00000000000000000000000000"
NO_OFFER = "offer_00000000000000000000000000"
KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"
STRONG = [make_strong_secret() for _ in range(3)]


def fresh(amount, item):
    return f"+{amount}.{item}.{make_strong_secret()}"


def test_several_items_change_hands_both_ways_and_nothing_else_is_told(client, ledger):
    items = sorted(mint(client, "+5.hers", "+4.his") for _ in range(4))
    a, b, c, d = items
    # She gives 2 of A and 5 of B for 3 of C and 4 of D, and keeps 3 of A and 5 of C.
    hers = [f"+5.{each}.hers" for each in (c, b, a)]
    for_her = [fresh(amount, item) for amount, item in [(4, d), (3, a), (8, c)]]
    offered = offer(client, hers, for_her, expiresIn=61)
    made = ledger.operations()[-1]
    with ledger.engine.connect() as connection:
        made_at_ms = connection.execute(operations.select().order_by(operations.c.id.desc()))
        expires_at = datetime.fromtimestamp(-(-made_at_ms.first().created_at_ms // 1000) + 61, UTC)

    said = offered.get_json()
    path = f"/v1/offers/{said['offerId']}"
    read, head = client.get(path), client.head(path)

    assert said == {
        "offerId": said["offerId"],
        "state": "open",
        "gives": [{"itemId": a, "amount": 2}, {"itemId": b, "amount": 5}],
        "wants": [{"itemId": c, "amount": 3}, {"itemId": d, "amount": 4}],
        "expiresAt": f"{expires_at:%Y-%m-%dT%H:%M:%SZ}",
    }
    assert (read.get_json(), read.headers["Cache-Control"]) == (said, "no-store")
    assert (head.status_code, head.data, made) == (200, b"", ("offer", 3, 3))
    assert check(client, *hers, *for_her) == ["unspent"] * 3 + ["unknown"] * 3

    his = [f"+4.{c}.his", f"+4.{d}.his"]
    for_him = [f"+1.{c}.change", f"+5.{b}.of b", fresh(2, a)]
    completed = complete(client, offered, his, for_him)

    assert (completed.status_code, completed.get_json()) == (200, SUCCESS)
    assert client.get(path).get_json() == said | {"state": "completed"}
    assert check(client, *hers, *his) == ["spent"] * 5
    assert check(client, *for_her, *for_him) == ["unspent"] * 6
    assert ledger.operations()[-1] == ("swap", 5, 6)


def test_256_outputs_and_inputs_a_side_are_one_swap(client, ledger):
    a, b = (mint(client, *(f"+1.{number}" for number in range(256))) for _ in range(2))
    hers, his = ([f"+1.{item}.{number}" for number in range(256)] for item in (a, b))
    offered = offer(client, hers, [fresh(1, b) for _ in range(256)])

    completed = complete(client, offered, his, [fresh(1, a) for _ in range(256)])

    assert completed.get_json() == SUCCESS
    assert ledger.operations()[-1] == ("swap", 512, 512)


@pytest.fixture
def ground(client):
    """Names of raw outputs, and offers by their states.

    The item has 10 units: 5 live as `a`, 3 as `b`, and 2 spent as `s`, now under a strong secret.
    """
    item = mint(client, "+5.a", "+3.b", "+2.s")
    swap(client, [f"+2.{item}.s"], [f"+2.{item}.{STRONG[0]}"])
    post(client, "/v1/mint", {"outputs": ["+1.a"]}, KEY)
    return {"item": item, "nowhere": NOWHERE, "old": STRONG[0], "new": STRONG[1], "two": STRONG[2]}


def fill(texts, names):
    return [each.format(**names) for each in texts]


# Each breaks the rule of its code, and rules that are judged after it. The key is another mint's.
MAKINGS = [
    ([], ["+1.{item}.weak"], {"expiresIn": 59}, KEY, "invalid_request", None),
    ([], ["+1.{item}.weak"], {"expiresIn": 2592001}, KEY, "invalid_request", None),
    ([], ["+1.{item}.weak"], {"expiresIn": 60.0}, KEY, "invalid_request", None),
    ([], ["+1.{item}.weak"], {"expiresIn": None}, KEY, "invalid_request", None),
    ([], ["+1.{item}.weak"], {"inputs": None}, KEY, "invalid_request", None),
    ([], [], {}, KEY, "invalid_request", None),
    (["+1.{item}.a"] * 257, ["+1.{item}.weak"], {}, KEY, "invalid_request", None),
    (["+1.{item}.a"] * 2, ["+1.{item}.weak"], {}, KEY, "duplicate_input", 1),
    (["+1.{item}.a"], ["+1.{item}.b", "+1.{item}.a"], {}, KEY, "duplicate_secret", 1),
    (["+2.{item}.a"], ["+1.{item}.{new}", "+1.{item}.weak"], {}, KEY, "weak_secret", 1),
    (["+2.{nowhere}.a"], ["+2.{nowhere}.{new}"], {}, KEY, "not_an_offer", None),
    ([], ["+2.{nowhere}.{new}"], {}, KEY, "idempotency_key_reused", None),
    (
        ["+1.{item}.x", "+1.{nowhere}.a"],
        ["+11.{item}.{new}", "+2.{nowhere}.{new}"],
        {},
        None,
        "unknown_item",
        1,
    ),
    (["+1.{item}.x"], ["+11.{item}.{new}", "+2.{nowhere}.{new}"], {}, None, "unknown_item", 1),
    (
        ["+1.{item}.x"],
        ["+9.{item}.{new}", "+2.{item}.{old}"],
        {},
        None,
        "total_too_large",
        None,
    ),
    (["+2.{item}.s", "+4.{item}.a"], ["+8.{item}.{old}"], {}, None, "unknown_input", 1),
    (["+5.{item}.a", "+2.{item}.s"], ["+8.{item}.{old}"], {}, None, "spent_input", 1),
    (["+5.{item}.a"], ["+4.{item}.{new}", "+4.{item}.{old}"], {}, None, "used_secret", 1),
]


def test_a_making_is_refused_for_what_is_judged_first_and_leaves_nothing(client, ledger, ground):
    before = ledger.rows()

    for inputs, outputs, rest, key, code, index in MAKINGS:
        sides = fill(inputs, ground), fill(outputs, ground)
        refused = offer(client, *sides, key, **rest)
        status = 422 if key and code == "idempotency_key_reused" else 400
        assert refusal(refused) == (status, code, index), (inputs, outputs)
        if code == "unknown_item":
            array = "inputs" if index < len(inputs) else "outputs"
            assert refused.get_json()["detail"].startswith(array)

    assert ledger.rows() == before


# As MAKINGS. The open offer gives `b`, 3 units, for 4.
COMPLETIONS = [
    ("unknown", [], [], KEY, (400, "invalid_request", None)),
    ("unknown", ["+1.{nowhere}.a"] * 2, [], KEY, (400, "duplicate_input", 1)),
    ("unknown", ["+1.{item}.a"], ["+1.{item}.a"], KEY, (400, "duplicate_secret", 0)),
    ("unknown", ["+1.{nowhere}.a"], [], KEY, (422, "idempotency_key_reused", None)),
    ("unknown", ["+1.{nowhere}.a"], [], None, (404, "unknown_offer", None)),
    ("void", ["+1.{nowhere}.a"], [], None, (400, "offer_not_open", None)),
    ("open", ["+1.{item}.x", "+1.{nowhere}.a"], [], None, (400, "unknown_item", 1)),
    ("open", ["+1.{item}.x"], ["+1.{nowhere}.a"], None, (400, "unknown_item", 0)),
    ("open", ["+2.{item}.x"], ["+2.{item}.a"], None, (400, "unbalanced", None)),
    ("open", ["+2.{item}.s", "+1.{item}.x"], ["+2.{item}.a"], None, (400, "unknown_input", 1)),
    ("open", ["+2.{item}.s"], ["+1.{item}.a"], None, (400, "spent_input", 0)),
    ("open", ["+5.{item}.a"], ["+3.{item}.y", "+1.{item}.s"], None, (400, "used_secret", 1)),
    # What both halves name. Nobody without inputs is told of the maker's.
    ("open", ["+1.{item}.x", "+3.{item}.b"], ["+3.{item}.y"], None, (400, "duplicate_input", 1)),
    ("open", ["+5.{item}.a"], ["+4.{item}.{new}"], None, (400, "duplicate_secret", 0)),
    ("open", ["+5.{item}.a"], ["+1.{item}.y", "+3.{item}.b"], None, (400, "used_secret", 1)),
    ("open", ["+5.{item}.x"], ["+4.{item}.b"], None, (400, "unknown_input", 0)),
    ("open", ["+4.{item}.{new}"], ["+3.{item}.y"], None, (400, "used_secret", None)),
]


def test_a_completion_is_refused_for_what_is_judged_first_and_moves_nothing(client, ledger, ground):
    item, new, two = ground["item"], ground["new"], ground["two"]
    open_ = offer(client, [f"+3.{item}.b"], [f"+4.{item}.{new}"]).get_json()["offerId"]
    other = mint(client, "+1.a")
    void = offer(client, [f"+1.{other}.a"], [f"+1.{item}.{two}"]).get_json()["offerId"]
    swap(client, [f"+1.{other}.a"], [f"+1.{other}.b"])
    ids = {"open": open_, "void": void, "unknown": NO_OFFER}
    before = ledger.rows()

    for name, inputs, outputs, key, refused in COMPLETIONS:
        body = {"inputs": fill(inputs, ground), "outputs": fill(outputs, ground)}
        answer = post(client, f"/v1/offers/{ids[name]}/complete", body, key)
        assert refusal(answer) == refused, (name, inputs, outputs)

    assert ledger.rows() == before
    assert client.get(f"/v1/offers/{open_}").get_json()["state"] == "open"


def spend_an_input(client, trade):
    assert swap(client, trade["hers"], [fresh(5, trade["item"])]).get_json() == SUCCESS


def use_a_new_secret(client, trade):
    assert swap(client, [f"+2.{trade['wanted']}.third"], trade["for_her"]).get_json() == SUCCESS


def complete_it(client, trade):
    half = [f"+2.{trade['wanted']}.his"], [f"+5.{trade['item']}.for him"]
    assert complete(client, trade["offered"], *half).get_json() == SUCCESS


@pytest.mark.parametrize(
    ("happening", "expires", "expected"),
    [
        (spend_an_input, False, "void"),
        (use_a_new_secret, False, "void"),
        (spend_an_input, True, "expired"),
        (complete_it, True, "completed"),
    ],
)
def test_an_offer_that_is_not_open_any_more_says_why_and_moves_nothing(
    client, ledger, happening, expires, expected
):
    item, wanted = mint(client, "+5.hers"), mint(client, "+2.his", "+2.third", "+2.late")
    hers, for_her = [f"+5.{item}.hers"], [fresh(2, wanted)]
    offered = offer(client, hers, for_her)
    trade = {"item": item, "wanted": wanted, "hers": hers, "for_her": for_her, "offered": offered}

    happening(client, trade)
    if expires:
        ledger.expire_offers()
    before = ledger.rows()
    refused = complete(client, offered, [f"+2.{wanted}.late"], [f"+5.{item}.too late"])

    assert client.get(f"/v1/offers/{offered.get_json()['offerId']}").get_json()["state"] == expected
    assert refusal(refused) == (400, "offer_not_open", None)
    assert refused.get_json()["detail"].endswith(expected)
    assert ledger.rows() == before


@pytest.mark.parametrize("offer_id", [NO_OFFER, "offer_x", NO_OFFER.upper(), "é%00"])
def test_an_offer_that_nobody_made_is_not_found(client, offer_id):
    answer = client.get(f"/v1/offers/{offer_id}")

    assert refusal(answer) == (404, "unknown_offer", None)
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("method", "path"), [("GET", ""), ("POST", f"/{NO_OFFER}"), ("GET", f"/{NO_OFFER}/complete")]
)
def test_other_methods_are_refused(client, method, path):
    answer = client.open(f"/v1/offers{path}", method=method)

    assert refusal(answer) == (405, "method_not_allowed", None)
