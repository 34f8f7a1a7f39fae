"""POST /v1/swap (contract 4.2): what it refuses. After each refusal nothing has moved."""

import pytest

from tests.support.requests import check, mint, post, refusal, swap

# Item ids that a swap may name and that exist nowhere.
NOWHERE = "deed_00000000000000000000000000"


@pytest.fixture
def items(client):
    """Two items: `house` has 5 and 3 units live and 2 spent, `garden` has 5 live."""
    house = mint(client, "+5.five", "+3.three", "+2.two")
    swap(client, [f"+2.{house}.two"], [f"+2.{house}.new two"])
    return {"house": house, "garden": mint(client, "+5.five"), "nowhere": NOWHERE}


@pytest.mark.parametrize(
    ("inputs", "outputs", "refused"),
    [
        # The amounts: rule 1, for every item apart.
        (["+5.{house}.five"], ["+4.{house}.a"], ("unbalanced", None)),
        (["+5.{house}.five"], ["+6.{house}.a"], ("unbalanced", None)),
        (["+5.{house}.five"], ["+5.{house}.a", "+1.{house}.b"], ("unbalanced", None)),
        (["+5.{house}.five", "+3.{house}.three"], ["+5.{house}.a"], ("unbalanced", None)),
        (["+5.{house}.five"], ["+5.{garden}.a"], ("unbalanced", None)),
        (["+5.{house}.five"], ["+5.{nowhere}.a"], ("unbalanced", None)),
        (
            ["+5.{house}.five", "+5.{garden}.five"],
            ["+6.{house}.a", "+4.{garden}.a"],
            ("unbalanced", None),
        ),
        # The inputs.
        (["+5.{house}.wrong"], ["+5.{house}.a"], ("unknown_input", 0)),
        (["+4.{house}.five"], ["+4.{house}.a"], ("unknown_input", 0)),
        (["+6.{house}.five"], ["+6.{house}.a"], ("unknown_input", 0)),
        (["+3.{house}.five"], ["+3.{house}.a"], ("unknown_input", 0)),
        (["+3.{garden}.three"], ["+3.{garden}.a"], ("unknown_input", 0)),
        (["+1.{house}.two"], ["+1.{house}.a"], ("unknown_input", 0)),
        (["+2.{house}.two"], ["+2.{house}.a"], ("spent_input", 0)),
        (["+5.{nowhere}.five"], ["+5.{nowhere}.a"], ("unknown_item", 0)),
        (["+5.deed_.five"], ["+5.deed_.a"], ("unknown_item", 0)),
        (["+5.deed_UPPER.five"], ["+5.deed_UPPER.a"], ("unknown_item", 0)),
        (["+5.deed_é\0.five"], ["+5.deed_é\0.a"], ("unknown_item", 0)),
        (["+5.{house}.five", "+3.{house}.wrong"], ["+8.{house}.a"], ("unknown_input", 1)),
        (["+5.{house}.five", "+2.{house}.two"], ["+7.{house}.a"], ("spent_input", 1)),
        (
            ["+5.{garden}.five", "+1.{nowhere}.x"],
            ["+5.{garden}.a", "+1.{nowhere}.a"],
            ("unknown_item", 1),
        ),
        # All or nothing, also across items.
        (
            ["+5.{garden}.five", "+5.{house}.wrong"],
            ["+5.{garden}.a", "+5.{house}.a"],
            ("unknown_input", 1),
        ),
        (
            ["+5.{house}.five", "+5.{garden}.five", "+2.{house}.two"],
            ["+5.{garden}.a", "+7.{house}.a"],
            ("spent_input", 2),
        ),
        (
            ["+5.{garden}.five", "+5.{house}.five"],
            ["+5.{garden}.five2", "+5.{house}.three"],
            ("used_secret", 1),
        ),
        # Named twice.
        (["+5.{house}.five", "+5.{house}.five"], ["+10.{house}.a"], ("duplicate_input", 1)),
        (["+5.{house}.five", "+1.{house}.five"], ["+6.{house}.a"], ("duplicate_input", 1)),
        (["+5.{house}.five"], ["+2.{house}.a", "+3.{house}.a"], ("duplicate_secret", 1)),
        (["+5.{house}.five"], ["+5.{house}.five"], ("duplicate_secret", 0)),
        (["+5.{house}.five"], ["+1.{house}.a", "+4.{house}.five"], ("duplicate_secret", 1)),
        # A secret serves once in the life of an item.
        (["+5.{house}.five"], ["+5.{house}.three"], ("used_secret", 0)),
        (["+5.{house}.five"], ["+5.{house}.two"], ("used_secret", 0)),
        (["+5.{house}.five"], ["+5.{house}.new two"], ("used_secret", 0)),
        (["+5.{house}.five"], ["+4.{house}.a", "+1.{house}.two"], ("used_secret", 1)),
    ],
)
def test_a_swap_against_the_rules_moves_nothing(client, ledger, items, inputs, outputs, refused):
    before = ledger.rows()

    answer = swap(
        client,
        [each.format(**items) for each in inputs],
        [each.format(**items) for each in outputs],
    )

    assert refusal(answer) == (400, *refused)
    assert ledger.rows() == before


@pytest.mark.parametrize("side", ["inputs", "outputs"])
@pytest.mark.parametrize(
    ("elements", "index"),
    [
        ([""], 0),
        (["+"], 0),
        (["+5"], 0),
        (["+5."], 0),
        (["+5.{house}"], 0),
        (["+5.{house}."], 0),
        (["+5.."], 0),
        (["+5..five"], 0),
        (["+5.five"], 0),
        (["5.{house}.five"], 0),
        (["-5.{house}.five"], 0),
        (["++5.{house}.five"], 0),
        ([" +5.{house}.five"], 0),
        (["+5 .{house}.five"], 0),
        (["+5.0.{house}.five"], 0),
        (["+5,{house},five"], 0),
        (["+5.DEED_x.five"], 0),
        (["+5.deedx.five"], 0),
        (["+5.deed_\ud800.five"], 0),
        (["+5.{house}.five", "+5.{house}"], 1),
        (["+5.{house}.five", None], 1),
        ([None], 0),
        ([5], 0),
        ([["+5.{house}.five"]], 0),
        ([{"amount": 5, "secret": "five"}], 0),
        ([{"amount": 5, "itemId": "deed_x", "secret": "five"}], 0),
        ("+5.{house}.five", None),
        (None, None),
        ({}, None),
        (5, None),
    ],
)
def test_what_is_no_array_of_raw_outputs_is_refused(client, ledger, items, side, elements, index):
    before = ledger.rows()
    house = items["house"]
    body = {"inputs": [f"+5.{house}.five"], "outputs": [f"+5.{house}.a"]}

    answer = post(client, "/v1/swap", body | {side: filled_in(elements, items)})

    assert refusal(answer) == (400, "invalid_request", index)
    assert answer.get_json()["detail"].startswith(side)
    assert ledger.rows() == before


def filled_in(elements, items):
    """Put the item ids into those elements that are strings."""
    if isinstance(elements, list):
        return [filled_in(each, items) for each in elements]
    return elements.format(**items) if isinstance(elements, str) else elements


@pytest.mark.parametrize("side", ["inputs", "outputs"])
def test_both_sides_are_required(client, ledger, items, side):
    body = {"inputs": [f"+5.{items['house']}.five"], "outputs": [f"+5.{items['house']}.a"]}
    del body[side]

    answer = post(client, "/v1/swap", body)

    assert refusal(answer) == (400, "invalid_request", None)
    assert answer.get_json()["detail"] == f"{side}: is required"


def test_an_unknown_key_is_refused_by_its_name(client, ledger, items):
    house = items["house"]
    body = {"inputs": [f"+5.{house}.five"], "outputs": [f"+5.{house}.a"], "memo": "thanks"}

    answer = post(client, "/v1/swap", body)

    assert refusal(answer) == (400, "invalid_request", None)
    assert answer.get_json()["detail"] == "memo: is not a field of this request"
    assert check(client, f"+5.{house}.five") == ["unspent"]


@pytest.mark.parametrize("body", [None, [], "x", 5, True, {}])
def test_a_body_that_is_no_swap_request_is_refused(client, body):
    assert refusal(post(client, "/v1/swap", body)) == (400, "invalid_request", None)
