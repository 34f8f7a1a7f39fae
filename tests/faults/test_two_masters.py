"""Two gunicorn masters on two ports share one PostgreSQL: races, replays and migrations hold."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from uuid import uuid4

import pytest

from deeds.domain.strong_secret import make_strong_secret
from tests.faults.load import ledger_view
from tests.faults.migrations_at_once import migrate_at_once
from tests.faults.mortal_service import MortalService
from tests.faults.sender import Sender

CLIENTS_COUNT = 16
ROUNDS_COUNT = 4
MIGRATIONS_COUNT = 3


@pytest.fixture
def open_services(tmp_path):
    """A function that starts two services on a database at once."""
    with ExitStack() as stack:

        def open_both(database_url):
            services = [MortalService(tmp_path, database_url) for _ in range(2)]
            for service in services:
                stack.callback(service.close)
                service.begin_start()
            for service in services:
                service.wait_until_up()
            return services

        yield open_both


@pytest.fixture
def senders(open_services, emptied_postgres_url):
    """Clients that are spread over the two services, one after the other."""
    services = open_services(emptied_postgres_url)
    stop = threading.Event()
    senders = [Sender(services[number % 2].find_port, stop) for number in range(CLIENTS_COUNT)]
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


def operations(database_url):
    with ledger_view(database_url) as ledger:
        ledger.assert_sound()
        return Counter(ledger.operations())


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
    assert operations(emptied_postgres_url) == kinds


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
    assert operations(emptied_postgres_url) == kinds


def test_migrations_at_once_make_one_ledger_that_both_serve(postgres_url, open_services):
    ran = migrate_at_once(postgres_url, MIGRATIONS_COUNT)
    services = open_services(postgres_url)

    assert ran == [(0, "")] * MIGRATIONS_COUNT
    stop = threading.Event()
    here, there = (Sender(service.find_port, stop) for service in services)
    raws = here.send("/v1/mint", {"outputs": [f"+5.{make_strong_secret()}"]}).answer["rawOutputs"]
    assert there.check(raws) == ["unspent"]
    here.close()
    there.close()
