"""DEEDS_ARGON2 or DEEDS_PEPPER changed on a ledger in use.

Nothing is stranded or used twice.

What a process remembers of an item saves reads, and no answer depends on its age.
"""

from collections import Counter

import pytest

from deeds.domain.errors import StartError
from deeds.domain.hashing import pepper_fingerprint
from deeds.domain.model import Argon2Cost
from deeds.domain.raw_output import make_strong_secret
from deeds.domain.service import TRIES_MAX
from tests.support.hooks import hooked, is_writer, logged_statements
from tests.support.requests import check, mint, post, refusal, swap

FIRST, SECOND, THIRD = (
    {"ordinary_cost": Argon2Cost(memory_cost_kib, 1, 1)}
    for memory_cost_kib in (16, 24, 32)
)
ONE = b"mark-7c1f9e first pepper of 32 or more"
OTHER = b"mark-7c1f9e second pepper of 32 or more"

PLAIN = {"pepper": None}
PEPPERED = {"pepper": ONE}
CHANGED = {"pepper": OTHER, "peppers_old": (ONE,)}
LOST = {"pepper": OTHER}
BROUGHT_BACK = {"pepper": ONE, "peppers_old": (OTHER,)}


@pytest.fixture(params=["ordinary", "strong"])
def secrets(request):
    return (
        list("abcd")
        if request.param == "ordinary"
        else [make_strong_secret() for _ in "abcd"]
    )


def kib(hash_costs):
    """Return how many evaluations there were of how many KiB."""
    return Counter(int(cost[2:4]) for cost in hash_costs)


def mint_raws(client, *secrets):
    """Mint the first of the secrets, and return it and the others as 5 units of that
    item.
    """
    item = mint(client, f"+5.{secrets[0]}")
    return [f"+5.{item}.{secret}" for secret in secrets]


@pytest.mark.parametrize(
    ("before", "after"), [(FIRST, SECOND), (PLAIN, PEPPERED), (PEPPERED, CHANGED)]
)
def test_after_a_change_older_outputs_can_be_spent_and_no_secret_used_again(
    open_client, secrets, ledger, before, after
):
    a, b, c, d = secrets
    item = mint(open_client(before), f"+5.{a}", f"+7.{b}")
    client = open_client(after)

    handed_over = swap(client, [f"+5.{item}.{a}"], [f"+5.{item}.{c}"])
    refused = [
        swap(client, [f"+6.{item}.{b}"], [f"+6.{item}.{d}"]),
        swap(client, [f"+5.{item}.{c}"], [f"+5.{item}.{a}"]),
        swap(client, [f"+5.{item}.{c}"], [f"+5.{item}.{b}"]),
    ]
    merged = swap(client, [f"+7.{item}.{b}", f"+5.{item}.{c}"], [f"+12.{item}.{d}"])

    codes = ["unknown_input", "used_secret", "used_secret"]
    assert [refusal(each) for each in refused] == [(400, code, 0) for code in codes]
    assert (handed_over.status_code, merged.status_code) == (200, 200)
    raws = [f"+5.{item}.{a}", f"+5.{item}.{c}", f"+12.{item}.{d}", f"+5.{item}.{d}"]
    assert check(client, *raws) == ["spent", "spent", "unspent", "unknown"]


def test_an_output_costs_one_evaluation_and_one_for_each_older_scheme_of_its_item(
    open_client, hash_costs
):
    older, newer, newest = (open_client(each) for each in (FIRST, SECOND, THIRD))
    item = mint(older, "+5.a", "+5.b")
    hash_costs.clear()

    first = swap(newer, [f"+5.{item}.a"], [f"+2.{item}.c", f"+3.{item}.d"])
    assert (first.status_code, kib(hash_costs)) == (200, {16: 1 + 2, 24: 2})
    hash_costs.clear()

    second = swap(newest, [f"+2.{item}.c"], [f"+2.{item}.e"])
    # The input is found under the newer of two schemes; the output is tried under both.
    assert (second.status_code, kib(hash_costs)) == (200, {24: 1 + 1, 16: 1, 32: 1})
    hash_costs.clear()

    third = swap(older, [f"+5.{item}.b"], [f"+5.{item}.f"])
    # The input is found under the current scheme, before the newest.
    assert (third.status_code, kib(hash_costs)) == (200, {16: 1 + 1, 24: 1, 32: 1})


def test_a_process_of_older_settings_cannot_use_a_secret_while_another_one_does(
    clients, hash_costs, ledger
):
    """It read which schemes the item has before the other process brought a new one."""
    older, newer = clients
    item = mint(older, "+5.a", "+5.b")
    answers = []

    def meanwhile():
        answers.append(swap(newer, [f"+5.{item}.b"], [f"+5.{item}.same"]))

    hash_costs.meanwhile = meanwhile
    answers.append(swap(older, [f"+5.{item}.a"], [f"+5.{item}.same"]))

    # However it ended, there must be a way to all of the units.
    for turn, secret in enumerate(["a", "b", "same", "same"]):
        swap(newer, [f"+5.{item}.{secret}"], [f"+5.{item}.moved {turn}"])
    assert (
        check(newer, *(f"+5.{item}.moved {turn}" for turn in range(4))).count("unspent")
        == 2
    )
    assert [answer.status_code for answer in answers].count(200) == 1


@pytest.mark.parametrize("at_evaluation", range(1, 4))
def test_one_key_is_one_mint_whatever_the_settings_of_the_processes(
    clients, hash_costs, ledger, at_evaluation
):
    """Another process mints with the same key before the first, second or third
    evaluation.
    """
    older, newer = clients
    body, answers = {"outputs": ["+5.a"]}, []

    def meanwhile():
        if len(hash_costs) == at_evaluation:
            answers.append(post(newer, "/v1/mint", body, "order 17"))
        else:
            hash_costs.meanwhile = meanwhile

    hash_costs.meanwhile = meanwhile
    answers.append(post(older, "/v1/mint", body, "order 17"))

    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].get_json() == answers[1].get_json()
    assert len(ledger.rows()["items"]) == 1


def test_a_pepper_that_is_missing_stops_the_start_with_its_fingerprint(
    open_client, secrets, ledger
):
    mint(open_client(PEPPERED), f"+5.{secrets[0]}")

    for changes in (PLAIN, LOST, LOST | {"peppers_old": (OTHER,)}):
        with pytest.raises(StartError) as stopped:
            open_client(changes)
        assert str(stopped.value) == (
            "deeds cannot start: unspent outputs are guarded by the pepper with the fingerprint "
            f"{pepper_fingerprint(ONE)}; name it in DEEDS_PEPPERS_OLD (or DEEDS_PEPPER)"
        )


def test_a_pepper_that_guards_nothing_any_more_may_go_and_come_back(
    open_client, secrets, ledger
):
    raws = mint_raws(open_client(PEPPERED), *secrets[:3])

    swap(open_client(CHANGED), raws[:1], raws[1:2])
    without = open_client(LOST)
    found = check(without, raws[1])
    swap(without, raws[1:2], raws[2:])

    assert found == ["unspent"]
    assert check(open_client(BROUGHT_BACK), *raws) == ["spent", "spent", "unspent"]


@pytest.mark.parametrize("order", ["before", "after"])
def test_a_process_without_the_new_pepper_answers_503_and_not_400(
    open_client, secrets, ledger, order, caplog
):
    """Started before the other one, or after it but before the first output with its
    pepper.
    """
    if order == "before":
        without, given = open_client(PLAIN), open_client(PEPPERED)
    else:
        given, without = open_client(PEPPERED), open_client(PLAIN)
    a, b, c = mint_raws(without, *secrets[:3])
    other_a, other_b = mint_raws(without, *secrets[:2])
    swap(given, [a], [b])
    assert swap(without, [other_a], [other_b]).status_code == 200
    before = ledger.rows()

    refused = [swap(without, [b], [c]), post(without, "/v1/check", {"outputs": [b]})]

    assert [refusal(each) for each in refused] == [
        (503, "scheme_unavailable", None)
    ] * 2
    assert int(refused[0].headers["Retry-After"]) >= 1
    said = refused[0].text + refused[1].text
    assert pepper_fingerprint(ONE) not in said
    assert "mark-7c1f9e" not in said + caplog.text
    [warning] = [
        each
        for each in caplog.records
        if getattr(each, "event", "") == "pepper_missing"
    ]
    assert (warning.levelname, pepper_fingerprint(ONE) in warning.message) == (
        "WARNING",
        True,
    )
    assert ledger.rows() == before
    assert swap(given, [b], [c]).status_code == 200


def test_a_process_that_lost_a_pepper_does_not_call_another_ones_outputs_unknown(
    open_client, secrets, ledger
):
    """It started while the pepper guarded nothing; another one goes on to use it."""
    given = open_client(PEPPERED)
    raws = mint_raws(given, *secrets[:2])
    swap(open_client(CHANGED), raws[:1], raws[1:])
    without = open_client(LOST)

    checked = post(without, "/v1/check", {"outputs": mint_raws(given, secrets[0])})

    assert refusal(checked) == (503, "scheme_unavailable", None)


def test_a_secret_used_again_while_its_pepper_was_away_can_be_spent_when_it_is_back(
    open_client, secrets, ledger
):
    """Without the pepper nobody can tell that the secret was used before."""
    a, b, c = mint_raws(open_client(PEPPERED), *secrets[:3])
    swap(open_client(CHANGED), [a], [b])
    swap(open_client(LOST), [b], [a])
    client = open_client(BROUGHT_BACK)

    assert check(client, a) == ["unspent"]
    assert swap(client, [a], [c]).status_code == 200


@pytest.fixture
def item_id(clients):
    """An item of 10 units that the first process remembers without the scheme of the
    second.

    Its units are in `+4.older`, hashed by the first process, and `+6.newer`, by the
    second.
    """
    first, second = clients
    item_id = mint(first, "+4.older", "+6.b")
    swap(first, [f"+6.{item_id}.b"], [f"+6.{item_id}.c"])
    swap(second, [f"+6.{item_id}.c"], [f"+6.{item_id}.newer"])
    return item_id


def test_an_item_that_does_not_exist_yet_is_not_remembered_as_missing(clients):
    first, second = clients
    unknown = "deed_00000000000000000000000000"
    assert (
        refusal(swap(first, [f"+5.{unknown}.a"], [f"+5.{unknown}.b"]))[1]
        == "unknown_item"
    )

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


def test_the_first_strong_secret_of_an_item_is_found_by_every_process(
    settings, open_app
):
    """Before it, the item has no scheme of its class, so there is nothing to look for."""
    first, second = (open_app(settings).test_client() for _ in range(2))
    strong = make_strong_secret()
    item_id = mint(first, "+5.a")
    swap(first, [f"+5.{item_id}.a"], [f"+5.{item_id}.b"])
    swap(second, [f"+5.{item_id}.b"], [f"+5.{item_id}.{strong}"])

    answer = swap(first, [f"+5.{item_id}.{strong}"], [f"+5.{item_id}.c"])

    assert answer.status_code == 200


def test_an_item_that_gets_a_scheme_during_each_try_is_a_503(
    open_client, ledger, hash_costs
):
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
