"""DEEDS_ARGON2 or DEEDS_PEPPER changed on a ledger in use.

An item's secrets are hashed as at its mint, by every process and for its life.
"""

import threading
from functools import partial

import pytest
from sqlalchemy import select

from deeds.domain.errors import StartError
from deeds.domain.hashing import STRONG_COST, argon2id_digest
from deeds.domain.model import Argon2Cost, HashPolicy
from deeds.domain.policies import open_policies, pepper_fingerprint
from deeds.domain.raw_output import is_strong_secret, make_strong_secret
from storage.repository import Repository
from storage.tables import items, outputs
from tests.support.hooks import hooked
from tests.support.racing import at_once
from tests.support.requests import check, complete, mint, offer, post, refusal, swap

ONE = b"mark-7c1f9e first pepper of 32 or more"
OTHER = b"mark-7c1f9e second pepper of 32 or more"
DEAR = Argon2Cost(16, 2, 1)

PLAIN = {"pepper": None}
PEPPERED = {"pepper": ONE}
CHANGED = {"pepper": OTHER, "peppers_old": (ONE,)}

# The settings of two processes on one ledger.
PAIRS = {
    "cost": ({}, {"ordinary_cost": DEAR}),
    "pepper added": ({"peppers_old": (ONE,)}, PEPPERED),
    "both replaced": (
        PEPPERED | {"peppers_old": (OTHER,)},
        CHANGED | {"ordinary_cost": DEAR},
    ),
}


@pytest.fixture(params=PAIRS.values(), ids=PAIRS)
def processes(request, open_client):
    return [open_client(changes) for changes in request.param]


@pytest.fixture(params=["ordinary", "strong"])
def secrets(request):
    if request.param == "ordinary":
        return list("abcd")
    return [make_strong_secret() for _ in "abcd"]


@pytest.mark.parametrize("turn", [1, -1], ids=["minted before", "minted after"])
def test_each_process_spends_what_another_one_minted_and_once(
    processes, secrets, ledger, turn
):
    minter, spender = processes[::turn]
    a, b, c, d = secrets
    item = mint(minter, f"+5.{a}", f"+7.{b}")

    handed_over = swap(spender, [f"+5.{item}.{a}"], [f"+5.{item}.{c}"])
    refused = [
        swap(minter, [f"+5.{item}.{a}"], [f"+5.{item}.{d}"]),
        swap(spender, [f"+6.{item}.{b}"], [f"+6.{item}.{d}"]),
        swap(minter, [f"+5.{item}.{c}"], [f"+5.{item}.{a}"]),
        swap(spender, [f"+5.{item}.{c}"], [f"+5.{item}.{b}"]),
    ]
    merged = swap(minter, [f"+7.{item}.{b}", f"+5.{item}.{c}"], [f"+12.{item}.{d}"])

    codes = ["spent_input", "unknown_input", "used_secret", "used_secret"]
    assert [refusal(each) for each in refused] == [(400, code, 0) for code in codes]
    assert (handed_over.status_code, merged.status_code) == (200, 200)
    raws = [f"+5.{item}.{a}", f"+5.{item}.{c}", f"+12.{item}.{d}", f"+5.{item}.{d}"]
    for client in processes:
        assert check(client, *raws) == ["spent", "spent", "unspent", "unknown"]


@pytest.mark.parametrize("settings_changed", PAIRS.values(), ids=PAIRS)
def test_a_secret_is_hashed_once_at_the_cost_and_pepper_of_the_mint(
    settings, open_client, secrets, ledger, hash_costs, settings_changed
):
    minter, spender = map(open_client, settings_changed)
    item = mint(minter, f"+5.{secrets[0]}")
    hash_costs.clear()

    swap(spender, [f"+5.{item}.{secrets[0]}"], [f"+5.{item}.{secrets[1]}"])
    check(spender, f"+5.{item}.{secrets[0]}")

    cost = settings_changed[0].get("ordinary_cost", settings.ordinary_cost)
    cost = STRONG_COST if is_strong_secret(secrets[0]) else cost
    pepper = settings_changed[0].get("pepper")
    with ledger.engine.connect() as connection:
        salt = connection.execute(select(items.c.salt)).scalar_one()
        digests = connection.execute(select(outputs.c.digest)).scalars().all()
    assert hash_costs == [str(cost)] * 3
    assert set(digests) == {
        argon2id_digest(secret, salt, cost, pepper) for secret in secrets[:2]
    }


def test_a_missing_pepper_stops_the_start_with_its_fingerprint(
    open_client, secrets, ledger
):
    open_client(PLAIN)
    mint(open_client(PEPPERED), f"+5.{secrets[0]}")

    for changes in (PLAIN, {"pepper": OTHER}, {"peppers_old": (OTHER,)}):
        with pytest.raises(StartError) as stopped:
            open_client(changes)
        assert str(stopped.value) == (
            "deeds cannot start: items were minted under the pepper with the"
            f" fingerprint {pepper_fingerprint(ONE)}; name it in DEEDS_PEPPERS_OLD"
            " (or DEEDS_PEPPER)"
        )


def test_a_process_that_lacks_a_pepper_says_503_and_logs_it_once(
    open_client, secrets, ledger, caplog
):
    """It was started before the first item under that pepper was minted."""
    without, given = open_client(PLAIN), open_client(PEPPERED)
    own, item = mint(without, f"+5.{secrets[0]}"), mint(given, f"+5.{secrets[0]}")
    raws, new = [f"+5.{item}.{secrets[0]}"], [f"+5.{item}.{make_strong_secret()}"]
    offered = offer(given, [f"+5.{own}.{secrets[0]}"], new)
    before = ledger.rows()

    refused = [
        swap(without, raws, new),
        post(without, "/v1/check", {"outputs": raws}),
        offer(without, [], new),
        complete(without, offered, raws, [f"+5.{own}.{secrets[1]}"]),
    ]

    lacking = (503, "scheme_unavailable", None)
    assert [refusal(each) for each in refused] == [lacking] * 4
    assert int(refused[0].headers["Retry-After"]) >= 1
    said = "".join(each.text for each in refused)
    assert pepper_fingerprint(ONE) not in said
    assert "mark-7c1f9e" not in said + caplog.text
    [line] = [each for each in caplog.records if each.msg.startswith("an item")]
    assert (line.levelname, line.event) == ("WARNING", "pepper_missing")
    assert pepper_fingerprint(ONE) in line.getMessage()
    assert ledger.rows() == before
    assert swap(given, raws, new).status_code == 200
    assert check(without, f"+5.{own}.{secrets[0]}") == ["unspent"]


def policy_of(pepper, cost=DEAR):
    return HashPolicy(cost, pepper_fingerprint(pepper))


def test_policies_are_recorded_once_the_first_one_first(open_client, ledger):
    for changes in (PEPPERED, CHANGED, PEPPERED | CHANGED, CHANGED):
        client = open_client(changes | {"ordinary_cost": DEAR})
        mint(client, "+5.a")

    (first_id, *first), (_, *second) = ledger.rows()["hash_policies"]
    assert (first_id, first) == (0, [16, 2, 1, pepper_fingerprint(ONE)])
    assert second == [16, 2, 1, pepper_fingerprint(OTHER)]


def test_first_starts_at_once_agree_on_the_first_policy(
    database_url, open_engine, ledger
):
    """Each has found no policy when the other one has not written its own."""
    both_have_read = threading.Barrier(2)

    def meet(_connection, _cursor, text, *_):
        if "FROM hash_policies ORDER BY" in text:
            both_have_read.wait(20)

    def start(policy):
        repository = Repository(open_engine(database_url))
        try:
            return open_policies(repository, policy, {"", pepper_fingerprint(ONE)})
        finally:
            repository.close()

    wanted = [policy_of(None), policy_of(ONE)]
    with hooked("after_cursor_execute", meet):
        found = at_once([partial(start, each) for each in wanted])

    assert found[0] == found[1]
    assert found[0] in wanted
    assert len(ledger.rows()["hash_policies"]) == 1


def test_mints_at_once_under_a_new_policy_write_it_once(open_client, ledger):
    open_client(PLAIN)
    clients = [open_client(PEPPERED) for _ in range(4)]

    minted = at_once([partial(mint, client, "+5.a") for client in clients])

    assert check(clients[0], *(f"+5.{item}.a" for item in minted)) == ["unspent"] * 4
    assert len(ledger.rows()["hash_policies"]) == 2


def test_a_new_item_is_not_remembered_as_missing(clients):
    first, second = clients
    unknown = "deed_00000000000000000000000000"
    refused = swap(first, [f"+5.{unknown}.a"], [f"+5.{unknown}.b"])
    assert refusal(refused)[1] == "unknown_item"

    item = mint(second, "+5.a")

    assert swap(first, [f"+5.{item}.a"], [f"+5.{item}.b"]).status_code == 200
