"""Good clients are served while others are slow, lie or flood, on as many connections
as they like.

Nothing here is timed. The worker waits an hour for each client: what is answered is
answered while every one of the others is still waited for, or was ended to make room.
"""

from contextlib import ExitStack

import pytest

from tests.support.abusers import (
    ABUSES,
    GET,
    STUCK,
    abusing,
    open_connection,
    readable,
)
from tests.support.api import good
from tests.support.applications import PATIENT

# Of each kind more than a process has threads (32), and of all kinds more than it takes
# clients.
CONNECTIONS_MAX = 512
ABUSERS_COUNT = CONNECTIONS_MAX // len(ABUSES) + 1

ANSWERED = [abuse for abuse in ABUSES.values() if abuse.answer]
WAITING = [abuse for abuse in ABUSES.values() if not abuse.answer]
GOOD_CLIENTS_COUNT = 4


@pytest.fixture(scope="module")
def service(shared_service):
    service = shared_service(GUNICORN_CMD_ARGS=PATIENT)
    yield service
    assert "Traceback" not in service.log_text()


def serve_good_clients(service):
    """Mint, swap, check and read from several clients, each on its own connection."""
    with ExitStack() as stack:
        for _ in range(GOOD_CLIENTS_COUNT):
            api = stack.enter_context(service.open_api())
            item_id = api.mint("+5.a")
            assert good(api.swap(f"+5.{item_id}.a", f"+5.{item_id}.b"))
            assert api.check(f"+5.{item_id}.b") == ["unspent"]
            assert good(api.get(f"/v1/item/{item_id}"))["total"] == 5


def test_good_clients_are_served_during_abuses_that_are_answered(service):
    with abusing(service.port, ANSWERED, ABUSERS_COUNT) as abusers:
        serve_good_clients(service)

        answers = [
            (abuse.answer, abuser.recv(len(abuse.answer)))
            for abuser, abuse in zip(abusers, ANSWERED * ABUSERS_COUNT, strict=True)
        ]

    assert [each for each in answers if each[0] != each[1]] == []


def test_good_clients_are_served_during_abuses_that_are_waited_for(service):
    with abusing(service.port, WAITING, ABUSERS_COUNT) as abusers:
        serve_good_clients(service)

        # Neither answered nor ended.
        assert readable(abusers) == []


@pytest.mark.parametrize("name", ["nothing", "endless chunks"])
def test_who_has_waited_longest_makes_room_for_others(service, name):
    with abusing(service.port, [ABUSES[name]], CONNECTIONS_MAX + 1) as abusers:
        serve_good_clients(service)

        first, last = abusers[0], abusers[-1]
        assert readable([first, last]) == [first]


def test_the_address_with_most_connections_makes_room_first(service):
    with (
        open_connection(service, address="127.0.0.2") as other,
        abusing(service.port, [ABUSES["a slow head"]], CONNECTIONS_MAX) as abusers,
    ):
        serve_good_clients(service)

        assert readable([other, abusers[0]]) == [abusers[0]]


def test_of_as_many_addresses_who_has_waited_longest_makes_room(service):
    addresses = [f"127.1.{number // 200}.{number % 200 + 1}" for number in range(520)]
    with ExitStack() as stack:
        clients = [
            stack.enter_context(open_connection(service, address=each))
            for each in addresses
        ]
        assert service.get("/v1/info").status_code == 200

        first, last = clients[0], clients[-1]
        assert readable([first, last]) == [first]


def test_connections_that_come_at_once_are_accepted_together(service):
    """While another client gets answers, each of them in a turn of its own."""
    [worker] = service.workers
    with service.open_api() as api, ExitStack() as stack:
        api.get("/v1/info")
        worker.suspend()
        for _ in range(500):
            last = stack.enter_context(open_connection(service))
        last.sendall(GET + b"\r\n")
        worker.resume()
        answers_count = 0
        while not readable([last]):
            api.get("/v1/info")
            answers_count += 1

    assert answers_count < 20


def test_a_large_body_is_received_while_others_fill_the_room_for_them(service):
    """64 bodies of a megabyte without their last bytes: there is room for half."""
    image = "data:image/png;base64," + "A" * 400_000

    with abusing(service.port, [STUCK], 64), service.open_api() as api:
        assert api.mint("+5.a", metadata={"image": image})
        serve_good_clients(service)


def test_connections_that_are_kept_go_on_during_abuses(service):
    abuses = [ABUSES["a slow head"], ABUSES["a slow body"]]
    with service.open_api() as api:
        stream = api.get("/v1/info").extensions["network_stream"]
        client = stream.get_extra_info("client_addr")

        with abusing(service.port, abuses, ABUSERS_COUNT):
            # By now those before it are let in.
            assert service.get("/v1/info").status_code == 200
            answer = api.get("/v1/info")

        stream = answer.extensions["network_stream"]
        assert good(answer)
        assert stream.get_extra_info("client_addr") == client
