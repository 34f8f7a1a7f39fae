"""Good clients are served while others are slow, lie or flood, on as many connections
as they like.

Nothing here is timed. The worker waits an hour for each client: what is answered is
answered while every one of the others is still waited for, or was ended to make room.
"""

import http.client
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from tests.support.abusers import ABUSES, POST, Abuse, abusing
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
    """Mint, swap, check and read, from several clients, each request on a connection of
    its own.
    """
    clients = Racers(lambda: client_of_port(service.port))

    def serve(number):
        item_id = clients.mint("+5.a")
        swap = {"inputs": [f"+5.{item_id}.a"], "outputs": [f"+5.{item_id}.b{number}"]}
        assert clients.send("/v1/swap", swap) == (200, {"success": True})
        assert clients.check(swap["outputs"]) == ["unspent"]
        assert service.get_status(f"/v1/item/{item_id}") == 200

    with ThreadPoolExecutor(GOOD_CLIENTS_COUNT) as pool:
        list(pool.map(serve, range(2 * GOOD_CLIENTS_COUNT)))


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


def test_a_large_body_is_received_while_others_fill_the_room_for_them(service):
    """Sixty-four of a megabyte, all but their last bytes, where there is room for half
    of them.
    """
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
