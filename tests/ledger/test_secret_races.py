"""Two processes whose current schemes differ are offered one new secret at the same moment."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from tests.support.racing import client_of_port
from tests.support.serving import running_service

ROUNDS_COUNT = 300
WAIT_S = 60

# As in the middle of a rolling change of settings.
COSTS = ("m=8,t=1,p=1", "m=8,t=2,p=1")


@pytest.fixture
def clients(tmp_path, emptied_postgres_url):
    """A client of each of the two processes."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                client_of_port(
                    stack.enter_context(
                        running_service(
                            tmp_path,
                            DATABASE_URL=emptied_postgres_url,
                            DEEDS_ARGON2=cost,
                            # Who loses a round has guessed a used secret.
                            DEEDS_RATE_LIMITS="failures=off",
                            WEB_CONCURRENCY="1",
                        )
                    ).port
                )
            )
            for cost in COSTS
        ]


def mint_under_both_schemes(clients):
    """Return an item, and two outputs of it, one under each scheme."""
    first, second = clients
    status, minted = first("/v1/mint", {"outputs": ["+1.a", "+1.b"]})
    assert status == 200, minted
    left, right, new = (f"+1.{minted['itemId']}.{secret}" for secret in ("a", "b", "c"))
    assert second("/v1/swap", {"inputs": [right], "outputs": [new]})[0] == 200
    return minted["itemId"], [left, new]


def test_two_processes_never_take_one_new_secret_twice(clients):
    item, live = mint_under_both_schemes(clients)
    start = threading.Barrier(len(clients))

    def offer(client, old, new):
        start.wait(WAIT_S)
        status, answer = client("/v1/swap", {"inputs": [old], "outputs": [new]})
        return status, answer.get("code")

    said = []
    with ThreadPoolExecutor(len(clients)) as pool:
        for number in range(ROUNDS_COUNT):
            new = f"+1.{item}.new {number}"
            answers = list(pool.map(offer, clients, live, [new, new]))
            said.append(sorted(answers))
            live[answers.index((200, None))] = new

    assert said == [[(200, None), (400, "used_secret")]] * ROUNDS_COUNT
    states = clients[0]("/v1/check", {"outputs": live})[1]["states"]
    assert states == ["unspent", "unspent"]
