"""POST /v1/swap (contract 4.2).

What its body may hold is in test_request_schemas.py.
"""

from tests.support.requests import check, mint, refusal, swap

SUCCESS = {"success": True}
NOWHERE = "deed_00000000000000000000000000"


def test_a_deed_is_handed_over(client, ledger):
    item_id = mint(client, "+5.hers")

    answer = swap(client, [f"+5.{item_id}.hers"], [f"+5.{item_id}.his"])

    assert (answer.status_code, answer.content_type) == (200, "application/json")
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.get_json() == SUCCESS
    assert check(client, f"+5.{item_id}.hers", f"+5.{item_id}.his") == [
        "spent",
        "unspent",
    ]
    assert (ledger.spent(item_id), ledger.live(item_id)) == ([5], [5])
    assert ledger.operations() == [("mint", 0, 1), ("swap", 1, 1)]


def test_a_deed_is_split_and_its_parts_are_merged(client, ledger):
    item_id = mint(client, "+10.whole", "+1.rest")
    parts = [f"+7.{item_id}.a", f"+2.{item_id}.b", f"+1.{item_id}.c"]

    split = swap(client, [f"+10.{item_id}.whole"], parts)
    after_split = ledger.spent(item_id), ledger.live(item_id)
    merged = swap(client, parts[::-1], [f"+10.{item_id}.again"])

    assert [split.get_json(), merged.get_json()] == [SUCCESS, SUCCESS]
    assert after_split == ([10], [1, 1, 2, 7])
    assert (ledger.spent(item_id), ledger.live(item_id)) == ([1, 2, 7, 10], [1, 10])


def test_deeds_of_several_items_change_hands_in_one_swap_though_their_secrets_are_alike(
    client, ledger
):
    house, garden = mint(client, "+1.same"), mint(client, "+100.same")

    answer = swap(
        client,
        [f"+1.{house}.same", f"+100.{garden}.same"],
        [f"+60.{garden}.next", f"+1.{house}.next", f"+40.{garden}.rest"],
    )

    assert answer.get_json() == SUCCESS
    assert (ledger.spent(house), ledger.live(house)) == ([1], [1])
    assert (ledger.spent(garden), ledger.live(garden)) == ([100], [40, 60])
    assert ledger.operations()[2:] == [("swap", 2, 3)]


# `house` has 5 and 3 units live and 2 spent, `garden` has 5 live.
REFUSED = [
    # An input that is not there, or is another amount or item's.
    (["+5.{house}.wrong"], ["+5.{house}.a"], ("unknown_input", 0)),
    (["+3.{house}.five"], ["+3.{house}.a"], ("unknown_input", 0)),
    (["+3.{garden}.three"], ["+3.{garden}.a"], ("unknown_input", 0)),
    # A spent secret cannot be spent again, by the same swap or another.
    (["+2.{house}.two"], ["+2.{house}.new two"], ("spent_input", 0)),
    (["+2.{house}.two"], ["+2.{house}.a"], ("spent_input", 0)),
    (["+5.{nowhere}.five"], ["+5.{nowhere}.a"], ("unknown_item", 0)),
    (["+5.deed_é\0.five"], ["+5.deed_é\0.a"], ("unknown_item", 0)),
    (["+5.{house}.five", "+3.{house}.wrong"], ["+8.{house}.a"], ("unknown_input", 1)),
    (
        ["+5.{garden}.five", "+1.{nowhere}.x"],
        ["+5.{garden}.a", "+1.{nowhere}.a"],
        ("unknown_item", 1),
    ),
    # All or nothing, also across items.
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
    # A secret serves once in the life of an item.
    (["+5.{house}.five"], ["+5.{house}.three"], ("used_secret", 0)),
    (["+5.{house}.five"], ["+4.{house}.a", "+1.{house}.two"], ("used_secret", 1)),
]


def test_a_swap_that_the_ledger_refuses_moves_nothing(client, ledger):
    house = mint(client, "+5.five", "+3.three", "+2.two")
    swap(client, [f"+2.{house}.two"], [f"+2.{house}.new two"])
    items = {"house": house, "garden": mint(client, "+5.five"), "nowhere": NOWHERE}
    before = ledger.rows()

    for inputs, outputs, refused in REFUSED:
        sides = [[raw.format(**items) for raw in side] for side in (inputs, outputs)]
        assert refusal(swap(client, *sides)) == (400, *refused), (inputs, outputs)

    assert ledger.rows() == before
