"""DEEDS_ARGON2 or DEEDS_PEPPER changed on a ledger in use.

An item's secrets are hashed as at its mint, by every process and for its life.
"""

import threading
from contextlib import closing
from functools import partial

import pytest

from app import now_ms, open_database
from deeds.hashing import STRONG_COST, HashJob, argon2id, pepper_fingerprint
from deeds.model import HashPolicy
from storage.repository import Repository
from tests.support.api import fresh, good, refusal, stop_line
from tests.support.hooks import hooked
from tests.support.racing import at_once
from tests.support.strong_secrets import make_strong_secret

ONE = "mark-7c1f9e-first-pepper-of-32-or-more"
OTHER = "mark-7c1f9e-second-pepper-of-32-or-more"
DEAR = HashPolicy(16, 2, 1)

# The settings of two processes on one ledger.
PAIRS = {
    "cost": ({}, {"DEEDS_ARGON2": str(DEAR)}),
    "pepper added": ({"DEEDS_PEPPERS_OLD": ONE}, {"DEEDS_PEPPER": ONE}),
    "both replaced": (
        {"DEEDS_PEPPER": ONE, "DEEDS_PEPPERS_OLD": OTHER},
        {"DEEDS_PEPPER": OTHER, "DEEDS_PEPPERS_OLD": ONE, "DEEDS_ARGON2": str(DEAR)},
    ),
}
CHANGES = pytest.mark.parametrize("settings_changed", PAIRS.values(), ids=PAIRS)


@pytest.fixture(params=["ordinary", "strong"])
def secrets(request):
    if request.param == "ordinary":
        return list("abcd")
    return [make_strong_secret() for _ in "abcd"]


@CHANGES
@pytest.mark.parametrize("turn", [1, -1], ids=["minted before", "minted after"])
def test_each_process_spends_what_another_one_minted_and_once(
    open_api, secrets, ledger, settings_changed, turn
):
    minter, spender = [open_api(**changes) for changes in settings_changed][::turn]
    a, b, c, d = secrets
    item = minter.mint(f"+5.{a}", f"+7.{b}")

    good(spender.swap(f"+5.{item}.{a}", f"+5.{item}.{c}"))
    refused = [
        minter.swap(f"+5.{item}.{a}", f"+5.{item}.{d}"),
        minter.swap(f"+5.{item}.{c}", f"+5.{item}.{a}"),
        spender.swap(f"+5.{item}.{c}", f"+5.{item}.{b}"),
    ]
    good(minter.swap([f"+7.{item}.{b}", f"+5.{item}.{c}"], f"+12.{item}.{d}"))

    codes = ["spent_input", "used_secret", "used_secret"]
    assert [refusal(each) for each in refused] == [(400, code, 0) for code in codes]
    raws = [f"+5.{item}.{a}", f"+5.{item}.{c}", f"+12.{item}.{d}", f"+5.{item}.{d}"]
    states = ["spent", "spent", "unspent", "unknown"]
    assert minter.check(*raws) == spender.check(*raws) == states


@CHANGES
def test_a_secret_is_hashed_once_at_the_cost_and_pepper_of_the_mint(
    open_api, secrets, ledger, hash_costs, settings_changed
):
    minter, spender = [open_api(**changes) for changes in settings_changed]
    item = minter.mint(f"+5.{secrets[0]}", f"+7.{secrets[2]}")
    hash_costs.clear()

    spender.swap(f"+5.{item}.{secrets[0]}", f"+5.{item}.{secrets[1]}")
    spender.check(f"+5.{item}.{secrets[0]}")

    pepper = settings_changed[0].get("DEEDS_PEPPER", "").encode() or None
    [[salt]] = ledger.read("SELECT salt FROM items")
    digests = [digest for [digest] in ledger.read("SELECT digest FROM outputs")]
    # At the settings of the mint an ordinary secret costs what a strong one does.
    assert hash_costs == [str(STRONG_COST)] * 3
    assert set(digests) == {
        argon2id(HashJob(secret, salt, STRONG_COST, pepper)) for secret in secrets[:3]
    }


@pytest.mark.parametrize(
    "changes",
    [{}, {"DEEDS_PEPPER": OTHER}, {"DEEDS_PEPPERS_OLD": OTHER}],
    ids=["none", "another", "another old one"],
)
def test_a_missing_pepper_stops_the_start_with_its_fingerprint(
    open_api, ledger, changes
):
    open_api()
    open_api(DEEDS_PEPPER=ONE).mint("+5.a")

    assert stop_line(open_api, **changes) == (
        "items were minted under the pepper with the"
        f" fingerprint {pepper_fingerprint(ONE.encode())}; name it in DEEDS_PEPPERS_OLD"
        " (or DEEDS_PEPPER)"
    )


def test_a_process_that_lacks_a_pepper_says_503_and_logs_it_once(
    open_api, secrets, ledger, caplog
):
    """It was started before the first item under that pepper was minted."""
    without, given = open_api(), open_api(DEEDS_PEPPER=ONE)
    own, item = without.mint(f"+5.{secrets[0]}"), given.mint(f"+5.{secrets[0]}")
    raws, new = [f"+5.{item}.{secrets[0]}"], [fresh(5, item)]
    offer_id = given.offer_id(f"+5.{own}.{secrets[0]}", new)

    with ledger.unchanged():
        refused = [
            without.swap(raws, new),
            without.send_check(*raws),
            without.offer([], new),
            without.complete(offer_id, raws, f"+5.{own}.{secrets[1]}"),
        ]

    lacking = (503, "scheme_unavailable", None)
    assert [refusal(each) for each in refused] == [lacking] * 4
    said = "".join(each.text for each in refused)
    assert pepper_fingerprint(ONE.encode()) not in said
    assert "mark-7c1f9e" not in said + caplog.text
    [line] = [each for each in caplog.records if each.msg.startswith("an item")]
    assert (line.levelname, line.event) == ("WARNING", "pepper_missing")
    assert pepper_fingerprint(ONE.encode()) in line.getMessage()
    assert given.swap(raws, new).status_code == 200
    assert without.check(f"+5.{own}.{secrets[0]}") == ["unspent"]


def test_first_starts_at_once_agree_on_the_first_policy(database_url, ledger):
    """Each has found no policy when the other one has not written its own."""
    policies = [DEAR, DEAR._replace(time_cost=1)]
    both_have_read = threading.Barrier(2)

    def meet(_connection, sql, _values):
        if "FROM hash_policies ORDER BY" in sql:
            both_have_read.wait(20)

    def start(policy):
        with closing(open_database(database_url, now_ms)) as database:
            return Repository(database).open_policies(policy)

    with hooked("after statement", meet):
        found = at_once([partial(start, each) for each in policies])

    assert found[0] == found[1]
    assert found[0] in ([each] for each in policies)
    assert len(ledger.rows()["hash_policies"]) == 1


def test_a_new_item_is_not_remembered_as_missing(apis):
    first, second = apis
    unknown = "deed_00000000000000000000000000"
    refused = first.swap(f"+5.{unknown}.a", f"+5.{unknown}.b")
    assert refusal(refused) == (400, "unknown_item", 0)

    item = second.mint("+5.a")

    assert first.swap(f"+5.{item}.a", f"+5.{item}.b").status_code == 200
