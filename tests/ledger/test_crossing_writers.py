"""Swaps that meet inside their transactions on PostgreSQL: who waits for whom, and how it ends."""

from dataclasses import replace

import pytest
from psycopg.pq import TransactionStatus

from deeds.domain.model import Argon2Cost
from deeds.settings import MetricsPlace
from tests.support.hooks import AtWrite, hooked
from tests.support.requests import check, mint, post, refusal, swap
from tests.support.waiting import wait_until
from tests.support.watched import moved

WAIT_S = 60
OLDER, NEWER = Argon2Cost(16, 1, 1), Argon2Cost(24, 1, 1)

# Statements of a swap, and those that a mint with a key hashed under two schemes sends.
SWAP_INSERTS_OUTPUTS = 1
MINT_INSERTS_ITEM = 3


@pytest.fixture
def database_url(emptied_postgres_url):
    return emptied_postgres_url


@pytest.fixture
def clients(settings, open_app):
    """Two processes, the second of which hashes new outputs under another scheme."""
    return [
        open_app(replace(settings, ordinary_cost=cost)).test_client() for cost in (OLDER, NEWER)
    ]


class Meanwhile:
    """Sends a request in a thread and goes on when it waits for a lock, or is answered."""

    def __init__(self, other, thread, send):
        self.other = other
        self.thread = thread
        self.send = send
        self.has_waited = False
        self.sent = None

    def __call__(self, _connection):
        self.sent = self.thread.submit(self.send)
        wait_until(lambda: self.sent.done() or self.somebody_waits())
        self.has_waited = not self.sent.done()

    def somebody_waits(self):
        return self.other.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone()

    def answer(self):
        return self.sent.result(WAIT_S)


def test_swaps_of_one_item_do_not_wait_for_each_other(client, ledger, other, thread):
    item = mint(client, "+5.a", "+7.b")
    second = Meanwhile(other, thread, lambda: swap(client, [f"+7.{item}.b"], [f"+7.{item}.d"]))

    with hooked("before_cursor_execute", AtWrite(SWAP_INSERTS_OUTPUTS, second)):
        first = swap(client, [f"+5.{item}.a"], [f"+5.{item}.c"])

    assert not second.has_waited
    assert (first.status_code, second.answer().status_code) == (200, 200)
    assert ledger.live(item) == [5, 7]


def test_a_swap_of_an_output_created_while_it_is_under_way_succeeds_at_the_next_try(
    settings, open_app, ledger, other, thread
):
    """The output is of an operation with a later id, so the first try must not spend it."""
    client = open_app(replace(settings, metrics=MetricsPlace(is_on=True))).test_client()
    item = mint(client, "+5.a")
    creating = Meanwhile(other, thread, lambda: swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"]))
    writes = AtWrite(SWAP_INSERTS_OUTPUTS, creating)

    with hooked("before_cursor_execute", writes):
        spending = swap(client, [f"+5.{item}.b"], [f"+5.{item}.c"])

    assert (creating.answer().status_code, spending.status_code) == (200, 200)
    states = check(client, *(f"+5.{item}.{secret}" for secret in "abc"))
    assert states == ["spent", "spent", "unspent"]
    assert ledger.live(item) == [5]
    assert moved(client.get("/metrics").text, "deeds_database_retries") == {
        "deeds_database_retries_total{reason=conflict}": 1
    }


@pytest.mark.parametrize("wider", [0, 1])
def test_a_swap_that_brings_an_item_a_scheme_runs_while_no_other_swap_does(
    clients, ledger, other, thread, wider
):
    """Else both could create one secret, under two digests, and one of them would be lost."""
    item = mint(clients[0], "+5.a", "+7.b")
    first_client, second_client = clients[wider], clients[1 - wider]
    second = Meanwhile(
        other, thread, lambda: swap(second_client, [f"+7.{item}.b"], [f"+7.{item}.same"])
    )

    with hooked("before_cursor_execute", AtWrite(SWAP_INSERTS_OUTPUTS, second)):
        first = swap(first_client, [f"+5.{item}.a"], [f"+5.{item}.same"])

    assert second.has_waited
    assert first.status_code == 200
    assert refusal(second.answer()) == (400, "used_secret", 0)
    assert ledger.live(item) == [5, 7]


def test_a_key_that_is_being_recorded_under_another_hash_is_waited_for(
    clients, ledger, other, thread
):
    body = {"outputs": ["+5.a"]}
    second = Meanwhile(other, thread, lambda: post(clients[0], "/v1/mint", body, "order 17"))

    with hooked("before_cursor_execute", AtWrite(MINT_INSERTS_ITEM, second)):
        first = post(clients[1], "/v1/mint", body, "order 17")

    assert second.has_waited
    assert second.answer().get_json() == first.get_json()
    assert second.answer().headers["Idempotency-Replayed"] == "true"
    assert len(ledger.rows()["items"]) == 1


def test_a_read_leaves_no_transaction_open(client):
    """There is nothing to undo, and ending one would cost a round trip."""
    item = mint(client, "+5.a")
    statuses = []

    def note(connection, *_):
        statuses.append(connection.connection.driver_connection.info.transaction_status)

    with hooked("after_cursor_execute", note):
        check(client, f"+5.{item}.a")

    assert statuses == [TransactionStatus.IDLE] * 2
