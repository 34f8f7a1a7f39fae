"""What a process remembers of an item: it saves reads, and no answer depends on its age."""

import pytest

from deeds.domain.model import Argon2Cost
from deeds.domain.raw_output import make_strong_secret
from deeds.domain.service import TRIES_MAX
from tests.support.hooks import hooked, is_writer, logged_statements
from tests.support.requests import check, mint, refusal, swap


@pytest.fixture
def item_id(clients):
    """An item of 10 units that the first process remembers without the scheme of the second.

    Its units are in `+4.older`, hashed by the first process, and `+6.newer`, by the second.
    """
    first, second = clients
    item_id = mint(first, "+4.older", "+6.b")
    swap(first, [f"+6.{item_id}.b"], [f"+6.{item_id}.c"])
    swap(second, [f"+6.{item_id}.c"], [f"+6.{item_id}.newer"])
    return item_id


def test_the_next_swap_of_an_item_reads_nothing_before_it_writes(client):
    item_id = mint(client, "+5.a")
    swap(client, [f"+5.{item_id}.a"], [f"+5.{item_id}.b"])

    with logged_statements() as log:
        swap(client, [f"+5.{item_id}.b"], [f"+5.{item_id}.c"])

    assert log.names == ["INSERT operations", "INSERT outputs", "UPDATE outputs"]


def test_an_item_that_does_not_exist_yet_is_not_remembered_as_missing(clients):
    first, second = clients
    unknown = "deed_00000000000000000000000000"
    assert refusal(swap(first, [f"+5.{unknown}.a"], [f"+5.{unknown}.b"]))[1] == "unknown_item"

    item_id = mint(second, "+5.a")

    assert swap(first, [f"+5.{item_id}.a"], [f"+5.{item_id}.b"]).status_code == 200


@pytest.mark.parametrize("raw", ["+4.{}.older", "+6.{}.newer"])
def test_a_memory_that_is_out_of_date_costs_one_more_try_and_finds_every_output(
    clients, item_id, raw
):
    first, _ = clients
    spent, created = raw.format(item_id), raw.format(item_id) + " moved"

    with logged_statements() as log:
        answer = swap(first, [spent], [created])

    # The first try is refused inside the transaction.
    assert log.names.count("INSERT operations") == 2
    assert answer.status_code == 200
    assert check(first, spent, created) == ["spent", "unspent"]


@pytest.mark.parametrize(
    ("spent", "created", "code"),
    [
        ("+4.{}.older", "+4.{}.newer", "used_secret"),
        ("+6.{}.newer", "+6.{}.e", "spent_input"),
        ("+6.{}.guess", "+6.{}.e", "unknown_input"),
    ],
)
def test_what_was_used_under_such_a_scheme_is_told_from_what_never_was(
    clients, item_id, ledger, spent, created, code
):
    first, second = clients
    swap(second, [f"+6.{item_id}.newer"], [f"+6.{item_id}.d"])

    refused = swap(first, [spent.format(item_id)], [created.format(item_id)])

    assert refusal(refused)[:2] == (400, code)
    assert ledger.live(item_id) == [4, 6]


def test_the_first_strong_secret_of_an_item_is_found_by_every_process(settings, open_app):
    """Before it, the item has no scheme of its class, so there is nothing to look for."""
    first, second = (open_app(settings).test_client() for _ in range(2))
    strong = make_strong_secret()
    item_id = mint(first, "+5.a")
    swap(first, [f"+5.{item_id}.a"], [f"+5.{item_id}.b"])
    swap(second, [f"+5.{item_id}.b"], [f"+5.{item_id}.{strong}"])

    answer = swap(first, [f"+5.{item_id}.{strong}"], [f"+5.{item_id}.c"])

    assert answer.status_code == 200


def test_an_item_that_gets_a_scheme_during_each_try_is_a_503(open_client, ledger, hash_costs):
    client, *others = (
        open_client({"ordinary_cost": Argon2Cost(16 + number, 1, 1)})
        for number in range(TRIES_MAX + 1)
    )
    item = mint(client, "+5.a", "+7.0")
    moves = iter(enumerate(others))

    def after_reading_schemes(connection, _cursor, statement, *_):
        is_read = "FROM items JOIN" in statement and not is_writer(connection)
        if is_read and len(moved) == len(tries):
            tries.append(statement)
            hash_costs.meanwhile = meanwhile

    def meanwhile():
        number, other = next(moves)
        moved.append(swap(other, [f"+7.{item}.{number}"], [f"+7.{item}.{number + 1}"]))

    tries, moved = [], []
    with hooked("after_cursor_execute", after_reading_schemes):
        refused = swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"])

    assert [answer.status_code for answer in moved] == [200] * TRIES_MAX
    assert refusal(refused) == (503, "overloaded", None)
    assert refused.get_json()["detail"] == (
        "the hash schemes of an item change faster than it can be read"
    )
    assert ledger.live(item) == [5, 7]
    assert swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"]).status_code == 200
