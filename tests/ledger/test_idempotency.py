"""The header Idempotency-Key on mint and swap (contract 5)."""

import pytest

from deeds.hashing import ORDINARY_COST, HashJob, argon2id
from deeds.model import Output
from deeds.service import fingerprint
from tests.support.api import REUSED, SUCCESS, fresh, good, refusal, replayed

KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"
MINT = {"outputs": ["+5.a", "+5.b", "+3.z"], "metadata": {"name": "N"}}

KEYS = pytest.mark.parametrize("key", ["order 17", KEY], ids=["guessable", "random"])
TURNS = pytest.mark.parametrize("turn", [1, -1], ids=["same order", "other order"])
PEPPER, LATER_PEPPER = "p" * 32, "q" * 32


@pytest.fixture(scope="module")
def item_ids(shared_api):
    """The items of a ledger where MINT was sent with the key "mint", then its 5 of `a`
    were split into 2 and 3 with the key "swap", and those of `b` without a key; and of
    another mint.
    """
    item = good(shared_api.post("/v1/mint", MINT, "mint"))["itemId"]
    shared_api.swap(f"+5.{item}.a", [f"+2.{item}.c", f"+3.{item}.d"], "swap")
    shared_api.swap(f"+5.{item}.b", [f"+2.{item}.e", f"+3.{item}.f"])
    return item, shared_api.mint("+5.a")


@pytest.mark.parametrize(
    ("key", "field", "value"),
    [
        ("mint", "outputs", ["+6.a", "+5.b", "+3.z"]),
        ("mint", "outputs", ["+5.x", "+5.b", "+3.z"]),
        ("mint", "outputs", ["+5.a"]),
        ("mint", "outputs", ["+5.a", "+5.b", "+3.z", "+1.x"]),
        ("mint", "metadata", {"name": "M"}),
        ("mint", "metadata", {"name": "N", "description": ""}),
        ("mint", "metadata", {}),
        ("mint", "metadata", None),
    ],
)
def test_a_key_serves_no_other_mint(
    shared_api, shared_ledger, item_ids, key, field, value
):
    with shared_ledger.unchanged():
        answer = shared_api.post("/v1/mint", MINT | {field: value}, key)

    assert refusal(answer) == REUSED


@pytest.mark.parametrize(
    ("key", "inputs", "outputs"),
    [
        ("mint", "+3.{0}.z", "+3.{0}.x"),
        ("swap", "+5.{0}.a", "+3.{0}.c +2.{0}.d"),
        ("swap", "+5.{0}.a", "+2.{0}.c +3.{0}.x"),
        ("swap", "+5.{0}.a", "+2.{0}.e +3.{0}.f"),
        ("swap", "+5.{0}.a", "+5.{0}.c"),
        ("swap", "+5.{0}.b", "+2.{0}.c +3.{0}.d"),
        ("swap", "+5.{0}.a +3.{0}.z", "+2.{0}.c +3.{0}.d +3.{0}.x"),
        ("swap", "+5.{1}.a", "+2.{1}.c +3.{1}.d"),
        ("swap", "+5.deed_x.a", "+5.deed_x.b"),
    ],
)
def test_a_key_serves_no_other_swap(
    shared_api, shared_ledger, item_ids, key, inputs, outputs
):
    with shared_ledger.unchanged():
        answer = shared_api.swap(
            inputs.format(*item_ids).split(), outputs.format(*item_ids).split(), key
        )

    assert refusal(answer) == REUSED


@pytest.mark.parametrize(
    ("code", "given", "wanted"),
    [
        ("unbalanced", "+5.{}.a", "+4.{}.d"),
        ("unknown_input", "+5.{}.wrong", "+5.{}.d"),
        ("spent_input", "+1.{}.b", "+1.{}.d"),
        ("used_secret", "+5.{}.a", "+5.{}.c"),
        ("duplicate_secret", "+5.{}.a", "+5.{}.a"),
    ],
)
def test_a_refused_request_leaves_its_key_free(api, ledger, code, given, wanted):
    item = api.mint("+5.a", "+1.b")
    api.swap(f"+1.{item}.b", f"+1.{item}.c")

    with ledger.unchanged():
        refused = api.swap(given.format(item), wanted.format(item), KEY)

    assert refusal(refused)[:2] == (400, code)
    answer = api.swap(f"+5.{item}.a", f"+5.{item}.d", KEY)
    assert good(answer) == SUCCESS
    assert "Idempotency-Replayed" not in answer.headers


@TURNS
def test_another_process_replays_a_mint(open_api, ledger, turn):
    api, restarted = open_api(), open_api()
    minted = good(api.post("/v1/mint", MINT, KEY))
    item = minted["itemId"]
    api.swap(f"+5.{item}.a", f"+5.{item}.c")

    with ledger.unchanged():
        body = MINT | {"outputs": MINT["outputs"][::turn]}
        again = restarted.post("/v1/mint", body, KEY)

    assert replayed(again) == {
        "itemId": item,
        "outputs": minted["outputs"][::turn],
        "rawOutputs": minted["rawOutputs"][::turn],
    }


@TURNS
def test_another_process_replays_a_swap_whose_outputs_were_spent(
    open_api, ledger, turn
):
    api, restarted = open_api(), open_api()
    item = api.mint("+5.a", "+3.z")
    inputs = [f"+5.{item}.a", f"+3.{item}.z"]
    outputs = [f"+1.{item}.c", f"+7.{item}.d"]
    api.swap(inputs, outputs, KEY)
    api.swap(outputs, f"+8.{item}.e")

    with ledger.unchanged():
        again = restarted.swap(inputs[::turn], outputs[::turn], KEY)

    assert replayed(again) == SUCCESS


@KEYS
@pytest.mark.parametrize(
    "changes",
    [
        {"DEEDS_ARGON2": "m=16,t=1,p=1", "DEEDS_PEPPERS_OLD": PEPPER},
        {"DEEDS_PEPPER": LATER_PEPPER, "DEEDS_PEPPERS_OLD": PEPPER},
        {"DEEDS_PEPPERS_OLD": f"{LATER_PEPPER},{PEPPER}"},
    ],
    ids=["cost", "pepper", "no pepper"],
)
def test_a_key_is_found_again_after_a_change_of_settings(
    open_api, hash_costs, ledger, key, changes
):
    api, restarted = open_api(DEEDS_PEPPER=PEPPER), open_api(**changes)
    item = api.mint("+5.a")
    inputs, outputs = [f"+5.{item}.a"], [f"+2.{item}.b", fresh(3, item)]
    api.swap(inputs, outputs, key)
    hash_costs.clear()

    again = restarted.swap(inputs, outputs, key)

    keys_hashed_count = {"order 17": 1, KEY: 0}[key]
    assert hash_costs.count(str(ORDINARY_COST)) == keys_hashed_count
    assert len(hash_costs) == 3 + keys_hashed_count
    assert replayed(again) == SUCCESS
    other = restarted.swap(outputs, f"+5.{item}.d", key)
    assert refusal(other) == REUSED
    assert restarted.check(*inputs, *outputs) == ["spent", "unspent", "unspent"]


def test_a_guessable_key_is_hashed_with_the_first_pepper(open_api, ledger):
    """Else a secret in it could be guessed faster than from the outputs."""
    later = {"DEEDS_PEPPER": LATER_PEPPER, "DEEDS_PEPPERS_OLD": PEPPER}
    open_api(DEEDS_PEPPER=PEPPER)
    open_api(**later).mint("+5.a")

    open_api(**later).mint("+5.a", key="order 17")

    [_, (_, _, stored, *_)] = ledger.rows()["operations"]
    salt = b"idempotency keys"
    job = HashJob("order 17", salt, ORDINARY_COST, PEPPER.encode())
    assert stored == argon2id(job)


def test_a_fingerprint_is_what_it_has_always_been():
    """Else no request of before an upgrade could be repeated after it."""
    one, other, third = (
        Output(f"deed_{letter}", letter.encode() * 32, amount)
        for letter, amount in [("a", 5), ("b", 2), ("c", 3)]
    )

    assert fingerprint("swap", [one], [third, other]).hex() == (
        "14230f2ca8ded4de231511fcace3d48f3ce6c1cd977d3f7d4cce4703eb5eca3e"
    )


@KEYS
@pytest.mark.parametrize("at_evaluation", [1, 2])
def test_one_key_is_one_mint_whatever_the_settings_of_processes(
    apis, hash_costs, ledger, key, at_evaluation
):
    """Another process mints with the same key before one of the evaluations."""
    older, newer = apis
    body, answers = {"outputs": ["+5.a", "+1.b"]}, []

    def meanwhile():
        if len(hash_costs) == at_evaluation:
            answers.append(newer.post("/v1/mint", body, key))
        else:
            hash_costs.meanwhile = meanwhile

    hash_costs.meanwhile = meanwhile
    answers.append(older.post("/v1/mint", body, key))

    inner, outer = answers
    assert good(inner) == good(outer)
    assert len(ledger.rows()["items"]) == 1
