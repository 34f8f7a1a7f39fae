"""The header Idempotency-Key on mint and swap (contract part 2, "retries")."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest

import deeds.domain.hashing
from deeds.domain.model import Argon2Cost
from deeds.domain.strong_secret import make_strong_secret
from storage.engine import WRITES
from storage.tables import item_schemes, items, operations, outputs
from tests.support.evaluations import Evaluations
from tests.support.hooks import hooked, is_writer
from tests.support.requests import check, mint, post, refusal, swap

KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"
MINT = {"outputs": ["+5.a", "+3.b"], "metadata": {"name": "N"}}
REUSED = (422, "idempotency_key_reused", None)

ROUNDS = 25
CLIENTS_COUNT = 3


def replayed(answer):
    return answer.headers.get("Idempotency-Replayed")


def fill(texts, *ids):
    return [each.format(*ids) for each in texts]


@pytest.mark.parametrize(
    "same", [MINT["outputs"], [{"secret": "b", "amount": 3}, {"secret": "a", "amount": 5}]]
)
def test_a_repeated_mint_answers_as_the_first_time_in_whatever_order(client, ledger, same):
    first = post(client, "/v1/mint", MINT, KEY)
    before = ledger.rows()

    again = post(client, "/v1/mint", MINT | {"outputs": same}, KEY)

    assert (first.status_code, replayed(first)) == (200, None)
    assert (again.status_code, replayed(again)) == (200, "true")
    turn = 1 if same == MINT["outputs"] else -1
    for name in ("outputs", "rawOutputs"):
        assert again.get_json()[name] == first.get_json()[name][::turn]
    assert (again.data == first.data) == (turn == 1)
    assert ledger.rows() == before


@pytest.mark.parametrize("turn", [1, -1])
def test_a_repeated_swap_answers_as_the_first_time_in_whatever_order(client, ledger, turn):
    item_id = mint(client, "+5.a", "+3.b")
    inputs = fill(["+5.{0}.a", "+3.{0}.b"], item_id)
    outputs = fill(["+1.{0}.c", "+7.{0}.d"], item_id)
    first = swap(client, inputs, outputs, key=KEY)
    before = ledger.rows()

    again = swap(client, inputs[::turn], outputs[::turn], key=KEY)

    assert (first.get_json(), replayed(first)) == ({"success": True}, None)
    assert (again.get_json(), replayed(again)) == ({"success": True}, "true")
    assert ledger.rows() == before


@pytest.mark.parametrize(
    "other",
    [
        {"outputs": ["+6.a", "+3.b"]},
        {"outputs": ["+3.a", "+5.b"]},
        {"outputs": ["+5.x", "+3.b"]},
        {"outputs": ["+5.a"]},
        {"outputs": ["+8.a"]},
        {"outputs": ["+5.a", "+3.b", "+1.c"]},
        {"metadata": {"name": "M"}},
        {"metadata": {"name": "N", "description": ""}},
        {"metadata": {}},
        {"metadata": None},
    ],
)
def test_a_key_does_not_serve_another_mint(client, ledger, other):
    post(client, "/v1/mint", MINT, KEY)
    before = ledger.rows()

    answer = post(client, "/v1/mint", MINT | other, KEY)

    assert refusal(answer) == REUSED
    assert ledger.rows() == before


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        (["+5.{0}.a"], ["+3.{0}.c", "+2.{0}.d"]),
        (["+5.{0}.a"], ["+2.{0}.c", "+3.{0}.x"]),
        (["+5.{0}.a"], ["+2.{0}.x", "+3.{0}.y"]),
        (["+5.{0}.a"], ["+5.{0}.c"]),
        (["+2.{0}.c"], ["+2.{0}.x"]),
        (["+7.{0}.b"], ["+7.{0}.x"]),
        (["+5.{0}.a", "+7.{0}.b"], ["+2.{0}.c", "+3.{0}.d", "+7.{0}.e"]),
        (["+5.{1}.a"], ["+2.{1}.c", "+3.{1}.d"]),
        (["+5.deed_x.a"], ["+5.deed_x.b"]),
    ],
)
def test_a_key_does_not_serve_another_swap(client, ledger, inputs, outputs):
    ids = mint(client, "+5.a", "+7.b"), mint(client, "+5.a")
    swap(client, [f"+5.{ids[0]}.a"], [f"+2.{ids[0]}.c", f"+3.{ids[0]}.d"], key=KEY)
    before = ledger.rows()

    answer = swap(client, fill(inputs, *ids), fill(outputs, *ids), KEY)

    assert refusal(answer) == REUSED
    assert ledger.rows() == before


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [(["+5.{0}.a"], ["+5.{0}.d"]), (["+5.{0}.b"], ["+5.{0}.c"]), (["+5.{0}.b"], ["+5.{0}.d"])],
)
def test_a_key_does_not_serve_for_what_another_swap_did(client, inputs, outputs):
    item_id = mint(client, "+5.a", "+5.b")
    swap(client, [f"+5.{item_id}.a"], [f"+5.{item_id}.c"], key=KEY)
    swap(client, [f"+5.{item_id}.b"], [f"+5.{item_id}.d"])

    answer = swap(client, fill(inputs, item_id), fill(outputs, item_id), KEY)

    assert refusal(answer) == REUSED


def test_the_key_of_a_mint_does_not_serve_for_what_a_swap_made_of_it(client):
    item_id = post(client, "/v1/mint", MINT, KEY).get_json()["itemId"]
    swap(client, [f"+5.{item_id}.a"], [f"+5.{item_id}.c"])

    answer = post(client, "/v1/mint", MINT | {"outputs": ["+5.c", "+3.b"]}, KEY)

    assert refusal(answer) == REUSED


def test_the_key_of_a_mint_does_not_serve_a_swap_nor_the_other_way_round(client, ledger):
    item_id = mint(client, "+5.a", key="of the mint")
    swap(client, [f"+5.{item_id}.a"], [f"+5.{item_id}.b"], key="of the swap")
    before = ledger.rows()

    answers = [
        swap(client, [f"+5.{item_id}.b"], [f"+5.{item_id}.c"], key="of the mint"),
        post(client, "/v1/mint", {"outputs": ["+5.b"]}, "of the swap"),
    ]

    assert [refusal(each) for each in answers] == [REUSED] * 2
    assert ledger.rows() == before


def test_a_refused_request_leaves_its_key_free(client, ledger):
    item_id = mint(client, "+5.a", "+1.b")
    swap(client, [f"+1.{item_id}.b"], [f"+1.{item_id}.c"])
    before = ledger.rows()

    refused = [
        swap(client, [f"+5.{item_id}.a"], [f"+4.{item_id}.d"], KEY),
        swap(client, [f"+5.{item_id}.wrong"], [f"+5.{item_id}.d"], KEY),
        swap(client, [f"+1.{item_id}.b"], [f"+1.{item_id}.d"], KEY),
        swap(client, [f"+5.{item_id}.a"], [f"+5.{item_id}.c"], KEY),
        post(client, "/v1/mint", {"outputs": ["+1.a", "+1.a"]}, KEY),
    ]
    assert [refusal(each)[1] for each in refused] == [
        "unbalanced",
        "unknown_input",
        "spent_input",
        "used_secret",
        "duplicate_secret",
    ]
    assert ledger.rows() == before

    answer = swap(client, [f"+5.{item_id}.a"], [f"+5.{item_id}.d"], KEY)

    assert (answer.get_json(), replayed(answer)) == ({"success": True}, None)


def test_another_process_replays_even_after_the_outputs_were_spent(settings, open_app, ledger):
    client = open_app(settings).test_client()
    first = post(client, "/v1/mint", MINT, "mint")
    item_id = first.get_json()["itemId"]
    request = ([f"+5.{item_id}.a"], [f"+5.{item_id}.c"])
    swap(client, *request, key="swap")
    swap(client, [f"+5.{item_id}.c", f"+3.{item_id}.b"], [f"+8.{item_id}.d"])
    before = ledger.rows()
    restarted = open_app(settings).test_client()

    minted, swapped = post(restarted, "/v1/mint", MINT, "mint"), swap(restarted, *request, "swap")

    assert (minted.data, replayed(minted)) == (first.data, "true")
    assert (swapped.get_json(), replayed(swapped)) == ({"success": True}, "true")
    assert ledger.rows() == before


@pytest.mark.parametrize(
    "changed",
    [
        {"ordinary_cost": Argon2Cost(16, 1, 1)},
        {"pepper": b"0123456789abcdef0123456789abcdef"},
    ],
)
@pytest.mark.parametrize("key", ["order 17", KEY])
def test_a_change_of_settings_loses_no_key(settings, open_app, changed, key):
    client = open_app(settings).test_client()
    strong = make_strong_secret()
    item_id = mint(client, "+5.a")
    request = ([f"+5.{item_id}.a"], [f"+2.{item_id}.b", f"+3.{item_id}.{strong}"])
    swap(client, *request, key=key)
    changed_client = open_app(replace(settings, **changed)).test_client()

    again = swap(changed_client, *request, key=key)
    other = swap(changed_client, request[1], [f"+5.{item_id}.d"], key=key)

    assert (again.get_json(), replayed(again)) == ({"success": True}, "true")
    assert refusal(other) == REUSED
    assert check(changed_client, *request[0], *request[1]) == ["spent", "unspent", "unspent"]


@pytest.fixture(params=["one process", "several processes"])
def clients(request, settings, open_app):
    """Clients of one app, or each of an app of its own on the same database."""
    apps_count = 1 if request.param == "one process" else CLIENTS_COUNT
    apps = [open_app(settings) for _ in range(apps_count)]
    return [apps[number % apps_count].test_client() for number in range(CLIENTS_COUNT)]


def send_at_once(clients, path, bodies, key):
    """Send each client's body at the same moment and return the answers."""
    barrier = Barrier(len(clients))

    def send(client, body):
        barrier.wait()
        return post(client, path, body, key)

    with ThreadPoolExecutor(len(clients)) as pool:
        return list(pool.map(send, clients, bodies))


def marks(answers):
    return sorted(replayed(answer) or "first" for answer in answers)


def test_mints_at_once_with_one_key_make_one_item(clients, ledger):
    for number in range(ROUNDS):
        answers = send_at_once(
            clients, "/v1/mint", [{"outputs": ["+5.a"]}] * CLIENTS_COUNT, f"key {number}"
        )

        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.data for answer in answers}) == 1
        assert marks(answers) == ["first", "true", "true"]
    assert ledger.operations() == [("mint", 0, 1)] * ROUNDS


def test_swaps_at_once_with_one_key_are_one_swap_and_all_succeed(clients, ledger):
    item_id = mint(clients[0], "+5.0")

    for number in range(ROUNDS):
        body = {"inputs": [f"+5.{item_id}.{number}"], "outputs": [f"+5.{item_id}.{number + 1}"]}
        answers = send_at_once(clients, "/v1/swap", [body] * CLIENTS_COUNT, f"key {number}")

        assert [answer.get_json() for answer in answers] == [{"success": True}] * CLIENTS_COUNT
        assert marks(answers) == ["first", "true", "true"]
    assert ledger.operations()[1:] == [("swap", 1, 1)] * ROUNDS
    assert ledger.live(item_id) == [5]


def test_other_requests_at_once_with_one_key_leave_one_winner(clients, ledger):
    bodies = [{"outputs": [f"+{5 + number}.a"]} for number in range(CLIENTS_COUNT)]

    for number in range(ROUNDS):
        answers = send_at_once(clients, "/v1/mint", bodies, f"key {number}")

        losers = [answer for answer in answers if answer.status_code != 200]
        assert [refusal(each) for each in losers] == [REUSED] * (CLIENTS_COUNT - 1)
    assert ledger.operations() == [("mint", 0, 1)] * ROUNDS


def test_a_key_whose_record_is_gone_again_is_a_503(settings, open_app, ledger, monkeypatch):
    """It was there when the mint was to be recorded, and then the ledger was put back."""
    client, other = (open_app(settings).test_client() for _ in range(2))
    evaluations = Evaluations(deeds.domain.hashing.hash_secret_raw)
    monkeypatch.setattr(deeds.domain.hashing, "hash_secret_raw", evaluations)

    def meanwhile():
        evaluations.before = lambda: None
        mint(other, "+5.a", key=KEY)

    def put_back(connection):
        if is_writer(connection):
            undone.append(connection)

    def before_look(_connection, _cursor, statement, *_):
        if undone and "FROM operations" in statement:
            undone.clear()
            delete_all(ledger.engine)

    undone = []
    evaluations.before = meanwhile
    with hooked("rollback", put_back), hooked("before_cursor_execute", before_look):
        answer = post(client, "/v1/mint", {"outputs": ["+5.a"]}, KEY)

    assert refusal(answer) == (503, "ledger_unavailable", None)
    assert answer.get_json()["detail"] == "the ledger has lost the record of this Idempotency-Key"


def delete_all(engine):
    with engine.execution_options(**{WRITES: True}).begin() as connection:
        for table in (outputs, item_schemes, items, operations):
            connection.execute(table.delete())
