"""Two gunicorn masters on two ports share one PostgreSQL: races, replays and migrations hold."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import psycopg
import pytest

from deeds.domain.raw_output import make_strong_secret
from tests.faults.journal import Sender
from tests.faults.load import operations
from tests.support.commanding import run_deeds
from tests.support.waiting import wait_until

CLIENTS_COUNT = 16
ROUNDS_COUNT = 4
WAITING = "SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted"


@pytest.fixture
def senders(emptied_postgres_url, start_services):
    """Clients that are spread over the two services, one after the other."""
    services = start_services(2, emptied_postgres_url)
    senders = [Sender(services[number % 2].find_port) for number in range(CLIENTS_COUNT)]
    yield senders
    for sender in senders:
        sender.close()


def send_at_once(senders, path, bodies, key=None):
    barrier = threading.Barrier(len(senders))

    def send(sender, body):
        barrier.wait()
        return sender.send(path, body, key)

    with ThreadPoolExecutor(len(senders)) as pool:
        return list(pool.map(send, senders, bodies))


def test_of_swaps_of_one_output_sent_to_both_exactly_one_succeeds(senders, emptied_postgres_url):
    for _ in range(ROUNDS_COUNT):
        [source, *new] = (make_strong_secret() for _ in range(CLIENTS_COUNT + 1))
        item = senders[0].send("/v1/mint", {"outputs": [f"+5.{source}"]}).answer["itemId"]
        inputs = [f"+5.{item}.{source}"]
        outputs = [f"+5.{item}.{each}" for each in new]

        said = send_at_once(
            senders, "/v1/swap", [{"inputs": inputs, "outputs": [each]} for each in outputs]
        )

        assert Counter((each.status, each.answer.get("code")) for each in said) == {
            (200, None): 1,
            (400, "spent_input"): CLIENTS_COUNT - 1,
        }
        assert senders[1].check(outputs) == [
            "unspent" if each.status == 200 else "unknown" for each in said
        ]
    kinds = {("mint", 0, 1): ROUNDS_COUNT, ("swap", 1, 1): ROUNDS_COUNT}
    assert Counter(operations(emptied_postgres_url)) == kinds


def test_one_key_sent_to_both_at_once_is_one_operation(senders, emptied_postgres_url):
    for _ in range(ROUNDS_COUNT):
        mint = {"outputs": [f"+5.{make_strong_secret()}"]}
        minted = send_at_once(senders, "/v1/mint", [mint] * CLIENTS_COUNT, str(uuid4()))
        item = minted[0].answer["itemId"]
        swap = {
            "inputs": minted[0].answer["rawOutputs"],
            "outputs": [f"+5.{item}.{make_strong_secret()}"],
        }
        swapped = send_at_once(senders, "/v1/swap", [swap] * CLIENTS_COUNT, str(uuid4()))

        for said in (minted, swapped):
            assert [each.status for each in said] == [200] * CLIENTS_COUNT
            assert [each.answer for each in said] == [said[0].answer] * CLIENTS_COUNT
            assert sum(not each.is_replay for each in said) == 1
    kinds = {("mint", 0, 1): ROUNDS_COUNT, ("swap", 1, 1): ROUNDS_COUNT}
    assert Counter(operations(emptied_postgres_url)) == kinds


def test_migrations_at_once_make_one_ledger(postgres_url):
    """A transaction of ours has made their first table, and ends once each of them waits for it."""
    with ThreadPoolExecutor(2) as pool, psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE alembic_version ()")
        running = [pool.submit(run_deeds, "migrate", DATABASE_URL=postgres_url) for _ in range(2)]
        wait_until(lambda: connection.execute(WAITING).fetchone() == (2,))
        connection.rollback()
    said = [(each.result().stdout, each.result().stderr) for each in running]

    assert said == [("upgraded the database from revision none to 0001\n", "")] * 2
