"""Good clients are served while others are slow, lie or flood, on as many connections
as they like.

Nothing here is timed. The worker waits an hour for each client: what is answered is
answered while every one of the others is still waited for, or was ended to make room.
"""

import http.client
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from select import select

import psutil
import pytest

from tests.support.abusers import ABUSES, GET, POST, Abuse, abusing, connected
from tests.support.racing import Racers, client_of_port
from tests.support.serving import running_service

# Of each kind more than a process has threads (32), and of all kinds more than it takes
# clients.
CONNECTIONS_MAX = 512
ABUSERS_COUNT = CONNECTIONS_MAX // len(ABUSES) + 1

GOOD_CLIENTS_COUNT = 4


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    directory = tmp_path_factory.mktemp("abused")
    arguments = (
        "--bind 127.0.0.1:0 --worker-class tests.support.applications.PatientWorker"
    )
    with running_service(
        directory, WEB_CONCURRENCY="1", GUNICORN_CMD_ARGS=arguments
    ) as service:
        yield service
        assert "Traceback" not in service.log_text()


def serve_good_clients(service):
    """Mint, swap, check and read from several clients, each on its own connection."""
    clients = Racers(lambda: client_of_port(service.port))

    def serve(number):
        item_id = clients.mint("+5.a")
        swap = {"inputs": [f"+5.{item_id}.a"], "outputs": [f"+5.{item_id}.b{number}"]}
        assert clients.send("/v1/swap", swap) == (200, {"success": True})
        assert clients.check(swap["outputs"]) == ["unspent"]
        assert service.get_status(f"/v1/item/{item_id}") == 200

    with ThreadPoolExecutor(GOOD_CLIENTS_COUNT) as pool:
        list(pool.map(serve, range(2 * GOOD_CLIENTS_COUNT)))


def connected_from(service, address):
    """Return a connection whose client has this address."""
    return socket.create_connection(
        ("127.0.0.1", service.port), source_address=(address, 0)
    )


def is_open(client):
    """Return whether the service has neither answered nor ended the connection."""
    client.setblocking(False)
    try:
        client.recv(1)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


@pytest.mark.parametrize("name", ABUSES)
def test_good_clients_are_served_during_an_abuse(service, name):
    abuse = ABUSES[name]

    with abusing(service.port, [abuse], ABUSERS_COUNT) as abusers:
        serve_good_clients(service)

        if abuse.answer:
            answers = {abuser.recv(len(abuse.answer)) for abuser in abusers}
            assert answers == {abuse.answer}
        else:
            assert all(is_open(abuser) for abuser in abusers)


def test_good_clients_are_served_during_all_abuses_at_once(service):
    """These are more connections than the process takes."""
    with abusing(service.port, list(ABUSES.values()), ABUSERS_COUNT) as abusers:
        assert len(abusers) > CONNECTIONS_MAX
        serve_good_clients(service)


@pytest.mark.parametrize(
    "name", ["nothing", "a slow head", "a slow body", "endless chunks"]
)
def test_who_has_waited_longest_makes_room_for_others(service, name):
    with abusing(service.port, [ABUSES[name]], CONNECTIONS_MAX + 1) as abusers:
        serve_good_clients(service)

        assert not is_open(abusers[0])
        assert is_open(abusers[-1])


def test_the_address_with_most_connections_makes_room_first(service):
    with (
        connected_from(service, "127.0.0.2") as other,
        abusing(service.port, [ABUSES["a slow head"]], CONNECTIONS_MAX) as abusers,
    ):
        serve_good_clients(service)

        assert is_open(other)
        assert not is_open(abusers[0])


def test_of_as_many_addresses_who_has_waited_longest_makes_room(service):
    addresses = [f"127.1.{number // 200}.{number % 200 + 1}" for number in range(520)]
    with ExitStack() as stack:
        clients = [
            stack.enter_context(connected_from(service, each)) for each in addresses
        ]
        assert service.get_status("/v1/info") == 200

        assert not is_open(clients[0])
        assert is_open(clients[-1])


def test_connections_that_come_at_once_are_accepted_together(service):
    """While another client gets answers, each of them in a turn of its own."""
    [worker] = psutil.Process(service.process.pid).children()
    with client_of_port(service.port) as send, ExitStack() as stack:
        send("/v1/info")
        worker.suspend()
        for _ in range(500):
            last = stack.enter_context(connected(service, b""))
        last.sendall(GET + b"\r\n")
        worker.resume()
        answers_count = 0
        while not select([last], [], [], 0)[0]:
            send("/v1/info")
            answers_count += 1

    assert answers_count < 100


def test_a_large_body_is_received_while_others_fill_the_room_for_them(service):
    """64 bodies of a megabyte without their last bytes: there is room for half."""
    stuck = Abuse(POST + b"Content-Length: 1048576\r\n\r\n" + b" " * 1_000_000)

    with abusing(service.port, [stuck], 64):
        image = "data:image/png;base64," + "A" * 400_000
        with client_of_port(service.port) as send:
            body = {"outputs": ["+5.a"], "metadata": {"image": image}}
            assert send("/v1/mint", body)[0] == 200
        serve_good_clients(service)


def test_connections_that_are_kept_go_on_during_abuses(service):
    with closing(
        http.client.HTTPConnection("127.0.0.1", service.port, timeout=10)
    ) as kept:
        kept.request("GET", "/v1/info")
        kept.getresponse().read()
        port_of_client = kept.sock.getsockname()

        with abusing(
            service.port, [ABUSES["a slow head"], ABUSES["a slow body"]], ABUSERS_COUNT
        ):
            assert (
                service.get_status("/v1/info") == 200
            )  # By now those before it are let in.
            kept.request("GET", "/v1/info")

            assert kept.getresponse().status == 200
            assert kept.sock.getsockname() == port_of_client
