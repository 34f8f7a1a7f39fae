"""POST /v1/swap (contract 4.2).

What its body may hold is in test_request_schemas.py.
"""

import pytest

from tests.support.api import SUCCESS, good, refusal

# Inputs and outputs in the words of `items`, the code, and the element at fault.
REFUSED = [
    # An input that is not there, or is another item's.
    ("+5.{house}.wrong", "+5.{house}.a", "unknown_input", 0),
    ("+3.{garden}.three", "+3.{garden}.a", "unknown_input", 0),
    ("+5.{house}.five +3.{house}.wrong", "+8.{house}.a", "unknown_input", 1),
    ("+5.{nowhere}.five", "+5.{nowhere}.a", "unknown_item", 0),
    ("+5.deed_é\0.five", "+5.deed_é\0.a", "unknown_item", 0),
    (
        "+5.{garden}.five +1.{nowhere}.x",
        "+5.{garden}.a +1.{nowhere}.a",
        "unknown_item",
        1,
    ),
    # A spent secret cannot be spent again, by the same swap or another.
    ("+2.{house}.two", "+2.{house}.new-two", "spent_input", 0),
    ("+2.{house}.two", "+2.{house}.a", "spent_input", 0),
    # All or nothing, also across items.
    (
        "+5.{house}.five +5.{garden}.five +2.{house}.two",
        "+5.{garden}.a +7.{house}.a",
        "spent_input",
        2,
    ),
    (
        "+5.{garden}.five +5.{house}.five",
        "+5.{garden}.five2 +5.{house}.three",
        "used_secret",
        1,
    ),
    # A secret serves once in the life of an item.
    ("+5.{house}.five", "+5.{house}.three", "used_secret", 0),
    ("+5.{house}.five", "+4.{house}.a +1.{house}.two", "used_secret", 1),
]


def test_a_deed_is_handed_over(api, ledger):
    item_id = api.mint("+5.hers")
    hers, his = [f"+5.{item_id}.hers"], [f"+5.{item_id}.his"]

    answer = api.swap(hers, his)

    assert good(answer) == SUCCESS
    assert api.check(*hers, *his) == ["spent", "unspent"]
    assert (ledger.spent(item_id), ledger.live(item_id)) == ([5], [5])
    assert ledger.operations() == [("mint", 0, 1), ("swap", 1, 1)]


def test_a_deed_is_split_and_its_parts_are_merged(api, ledger):
    item_id = api.mint("+10.whole", "+1.rest")
    parts = [f"+7.{item_id}.a", f"+2.{item_id}.b", f"+1.{item_id}.c"]

    good(api.swap(f"+10.{item_id}.whole", parts))
    after_split = ledger.spent(item_id), ledger.live(item_id)
    good(api.swap(parts[::-1], f"+10.{item_id}.again"))

    assert after_split == ([10], [1, 1, 2, 7])
    assert (ledger.spent(item_id), ledger.live(item_id)) == ([1, 2, 7, 10], [1, 10])


def test_deeds_of_several_items_change_hands_in_one_swap(api, ledger):
    """Their secrets are alike."""
    house, garden = api.mint("+1.same"), api.mint("+100.same")

    answer = api.swap(
        [f"+1.{house}.same", f"+100.{garden}.same"],
        [f"+60.{garden}.next", f"+1.{house}.next", f"+40.{garden}.rest"],
    )

    assert good(answer) == SUCCESS
    assert (ledger.spent(house), ledger.live(house)) == ([1], [1])
    assert (ledger.spent(garden), ledger.live(garden)) == ([100], [40, 60])
    assert ledger.operations()[2:] == [("swap", 2, 3)]


@pytest.fixture(scope="module")
def items(shared_api):
    """`house` has 5 and 3 units live and 2 spent, `garden` has 5 live."""
    house = shared_api.mint("+5.five", "+3.three", "+2.two")
    shared_api.swap(f"+2.{house}.two", f"+2.{house}.new-two")
    garden = shared_api.mint("+5.five")
    return {"house": house, "garden": garden, "nowhere": f"deed_{26 * '0'}"}


@pytest.mark.usefixtures("nothing_moves")
@pytest.mark.parametrize(("inputs", "outputs", "code", "index"), REFUSED)
def test_a_swap_that_the_ledger_refuses_moves_nothing(
    shared_api, items, inputs, outputs, code, index
):
    spent, created = (each.format(**items).split() for each in (inputs, outputs))

    answer = shared_api.swap(spent, created)

    assert refusal(answer) == (400, code, index)
