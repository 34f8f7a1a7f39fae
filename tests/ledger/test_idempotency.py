"""The header Idempotency-Key on mint and swap (contract part 2, "retries")."""

import pytest

from deeds.domain.hashing import ORDINARY_COST, argon2id_digest
from deeds.domain.model import Argon2Cost
from deeds.domain.raw_output import make_strong_secret
from tests.support.requests import check, mint, post, refusal, swap

KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"
MINT = {"outputs": ["+5.a", "+5.b", "+3.z"], "metadata": {"name": "N"}}
REUSED = (422, "idempotency_key_reused", None)

# Requests beside a ledger where MINT was sent with the key "mint", then its 5 of `a`
# were split into 2 and 3 with the key "swap", and those of `b` without a key. {1} is an
# item of another mint.
OTHER_MINTS = [
    {"outputs": ["+6.a", "+5.b", "+3.z"]},
    {"outputs": ["+5.a", "+3.b", "+5.z"]},
    {"outputs": ["+5.x", "+5.b", "+3.z"]},
    {"outputs": ["+2.c", "+5.b", "+3.z"]},
    {"outputs": ["+5.a"]},
    {"outputs": ["+13.a"]},
    {"outputs": ["+5.a", "+5.b", "+3.z", "+1.x"]},
    {"metadata": {"name": "M"}},
    {"metadata": {"name": "N", "description": ""}},
    {"metadata": {}},
    {"metadata": None},
]
OTHER_SWAPS = [
    ("mint", ["+3.{0}.z"], ["+3.{0}.x"]),
    ("swap", ["+5.{0}.a"], ["+3.{0}.c", "+2.{0}.d"]),
    ("swap", ["+5.{0}.a"], ["+2.{0}.c", "+3.{0}.x"]),
    ("swap", ["+5.{0}.a"], ["+2.{0}.x", "+3.{0}.y"]),
    ("swap", ["+5.{0}.a"], ["+2.{0}.e", "+3.{0}.f"]),
    ("swap", ["+5.{0}.a"], ["+5.{0}.c"]),
    ("swap", ["+5.{0}.b"], ["+2.{0}.c", "+3.{0}.d"]),
    ("swap", ["+5.{0}.b"], ["+2.{0}.e", "+3.{0}.f"]),
    ("swap", ["+2.{0}.c"], ["+2.{0}.x"]),
    ("swap", ["+3.{0}.z"], ["+3.{0}.x"]),
    ("swap", ["+5.{0}.a", "+3.{0}.z"], ["+2.{0}.c", "+3.{0}.d", "+3.{0}.x"]),
    ("swap", ["+5.{1}.a"], ["+2.{1}.c", "+3.{1}.d"]),
    ("swap", ["+5.deed_x.a"], ["+5.deed_x.b"]),
]


def replayed(answer):
    return answer.headers.get("Idempotency-Replayed")


def fill(texts, *ids):
    return [each.format(*ids) for each in texts]


def test_a_key_serves_no_other_request(client, ledger):
    ids = (
        post(client, "/v1/mint", MINT, "mint").get_json()["itemId"],
        mint(client, "+5.a"),
    )
    swap(client, fill(["+5.{0}.a"], *ids), fill(["+2.{0}.c", "+3.{0}.d"], *ids), "swap")
    swap(client, fill(["+5.{0}.b"], *ids), fill(["+2.{0}.e", "+3.{0}.f"], *ids))
    before = ledger.rows()

    answers = [post(client, "/v1/mint", MINT | other, "mint") for other in OTHER_MINTS]
    answers.append(post(client, "/v1/mint", {"outputs": ["+2.c", "+3.d"]}, "swap"))
    for key, inputs, outputs in OTHER_SWAPS:
        answers.append(swap(client, fill(inputs, *ids), fill(outputs, *ids), key))

    assert [refusal(each) for each in answers] == [REUSED] * len(answers)
    assert ledger.rows() == before


def test_a_refused_request_leaves_its_key_free(client, ledger):
    item_id = mint(client, "+5.a", "+1.b")
    swap(client, [f"+1.{item_id}.b"], [f"+1.{item_id}.c"])
    before = ledger.rows()

    refused = {
        "unbalanced": swap(client, [f"+5.{item_id}.a"], [f"+4.{item_id}.d"], KEY),
        "unknown_input": swap(
            client, [f"+5.{item_id}.wrong"], [f"+5.{item_id}.d"], KEY
        ),
        "spent_input": swap(client, [f"+1.{item_id}.b"], [f"+1.{item_id}.d"], KEY),
        "used_secret": swap(client, [f"+5.{item_id}.a"], [f"+5.{item_id}.c"], KEY),
        "duplicate_secret": post(
            client, "/v1/mint", {"outputs": ["+1.a", "+1.a"]}, KEY
        ),
    }
    assert [refusal(each)[1] for each in refused.values()] == list(refused)
    assert ledger.rows() == before

    answer = swap(client, [f"+5.{item_id}.a"], [f"+5.{item_id}.d"], KEY)

    assert (answer.get_json(), replayed(answer)) == ({"success": True}, None)


@pytest.mark.parametrize("turn", [1, -1], ids=["same order", "other order"])
def test_another_process_replays_even_after_the_outputs_were_spent(
    settings, open_app, ledger, turn
):
    client, restarted = (open_app(settings).test_client() for _ in range(2))
    minted = post(client, "/v1/mint", MINT, "mint")
    item_id = minted.get_json()["itemId"]
    inputs = fill(["+5.{0}.a", "+3.{0}.z"], item_id)
    outputs = fill(["+1.{0}.c", "+7.{0}.d"], item_id)
    swapped = swap(client, inputs, outputs, "swap")
    swap(client, outputs, [f"+8.{item_id}.e"])
    before = ledger.rows()

    body = MINT | {"outputs": MINT["outputs"][::turn]}
    minted_again = post(restarted, "/v1/mint", body, "mint")
    swapped_again = swap(restarted, inputs[::turn], outputs[::turn], "swap")

    answers = [minted, minted_again, swapped, swapped_again]
    assert [each.status_code for each in answers] == [200] * 4
    assert [replayed(each) for each in answers] == [None, "true"] * 2
    for name in ("outputs", "rawOutputs"):
        assert minted_again.get_json()[name] == minted.get_json()[name][::turn]
    assert (minted_again.data == minted.data) == (turn == 1)
    assert swapped_again.get_json() == {"success": True}
    assert ledger.rows() == before


# What DEEDS_ARGON2 and DEEDS_PEPPER become, one after the other.
PEPPER, LATER_PEPPER = b"p" * 32, b"q" * 32
CHANGES = [
    {"ordinary_cost": Argon2Cost(16, 1, 1)},
    {"pepper": LATER_PEPPER, "peppers_old": (PEPPER,)},
    {"peppers_old": (LATER_PEPPER, PEPPER)},
]


@pytest.mark.parametrize("key", ["order 17", KEY], ids=["guessable", "random"])
def test_a_key_is_found_again_after_each_change_of_settings(
    open_client, hash_costs, ledger, key
):
    client = open_client({"pepper": PEPPER})
    strong = make_strong_secret()
    item_id = mint(client, "+5.a")
    request = ([f"+5.{item_id}.a"], [f"+2.{item_id}.b", f"+3.{item_id}.{strong}"])
    swap(client, *request, key=key)

    for changes in CHANGES:
        client = open_client(changes | {"peppers_old": (PEPPER, LATER_PEPPER)})
        hash_costs.clear()
        again = swap(client, *request, key=key)
        costs = list(hash_costs)
        other = swap(client, request[1], [f"+5.{item_id}.d"], key=key)

        assert (again.get_json(), replayed(again)) == ({"success": True}, "true")
        assert refusal(other) == REUSED
        assert costs.count(str(ORDINARY_COST)) == int(key != KEY)
        assert len(costs) == 3 + int(key != KEY)
    expected = ["spent", "unspent", "unspent"]
    assert check(client, *request[0], *request[1]) == expected


def test_a_guessable_key_is_hashed_with_the_first_pepper(open_client, ledger):
    """Else a secret in it could be guessed faster than from the outputs."""
    open_client({"pepper": PEPPER})
    client = open_client({"pepper": LATER_PEPPER, "peppers_old": (PEPPER,)})

    mint(client, "+5.a", key="order 17")

    [stored] = [row[2] for row in ledger.rows()["operations"]]
    salt = b"idempotency keys"
    assert stored == argon2id_digest("order 17", salt, ORDINARY_COST, PEPPER)


@pytest.mark.parametrize("key", ["order 17", KEY], ids=["guessable", "random"])
@pytest.mark.parametrize("at_evaluation", [1, 2])
def test_one_key_is_one_mint_whatever_the_settings_of_processes(
    clients, hash_costs, ledger, key, at_evaluation
):
    """Another process mints with the same key before one of the evaluations."""
    older, newer = clients
    body, answers = {"outputs": ["+5.a", "+1.b"]}, []

    def meanwhile():
        if len(hash_costs) == at_evaluation:
            answers.append(post(newer, "/v1/mint", body, key))
        else:
            hash_costs.meanwhile = meanwhile

    hash_costs.meanwhile = meanwhile
    answers.append(post(older, "/v1/mint", body, key))

    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].get_json() == answers[1].get_json()
    assert len(ledger.rows()["items"]) == 1
