"""Two requests with one Idempotency-Key at the same moment are one operation."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

import deeds.domain.hashing
from storage.engine import WRITES
from storage.tables import item_schemes, items, operations, outputs
from tests.support.evaluations import Evaluations
from tests.support.hooks import hooked, is_writer
from tests.support.requests import mint, post, refusal

ROUNDS = 25
CLIENTS_COUNT = 3
KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"


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
    return sorted(answer.headers.get("Idempotency-Replayed", "first") for answer in answers)


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
        assert [refusal(each) for each in losers] == [(422, "idempotency_key_reused", None)] * (
            CLIENTS_COUNT - 1
        )
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
