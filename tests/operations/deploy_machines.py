"""Two machines behind nginx: restarted one after the other, or one without a database.

`make operations`.

Each machine is a gunicorn with its own port; both share a PostgreSQL.
"""

import ipaddress
import itertools
import signal

import pytest

from tests.support.api import UNAVAILABLE, refusal
from tests.support.journal import Sender
from tests.support.load import Load, line_of
from tests.support.pgbouncer import behind, running_pgbouncer
from tests.support.proxies import free_port, running_nginx, upstream
from tests.support.serving import children
from tests.support.waiting import wait_until

ANSWERS_COUNT = 60
# Fewer requests than the limits permit one client.
SENT_COUNT = 8
ROUNDS_COUNT = 2


@pytest.fixture
def start_machine(make_service, tmp_path):
    """A function that starts a machine on a port and a database."""

    def start(port, database_url):
        settings = {
            "DEEDS_CHECKPOINT_FILE": str(tmp_path / f"{port}.checkpoint"),
            "DEEDS_TRUSTED_PROXIES": "1",
            "GUNICORN_CMD_ARGS": f"--bind 127.0.0.1:{port}",
        }
        return make_service(database_url, **settings)

    return start


@pytest.fixture
def machines(start_machine, emptied_postgres_url):
    """Two machines, by their ports."""
    return {
        port: start_machine(port, emptied_postgres_url)
        for port in (free_port(), free_port())
    }


class ProxiedSender(Sender):
    """Sends each request through nginx as another client, and without a key.

    So the limits of one client do not matter, and nginx does not repeat requests.
    """

    addresses = map(ipaddress.ip_address("10.0.0.0").__add__, itertools.count())

    def __init__(self, nginx):
        super().__init__(None)
        self._nginx = nginx

    def send(self, path, body, _key=None):
        with self._nginx.open_api() as api:
            api.http.headers["X-Test-Client"] = str(next(self.addresses))
            return api.post(path, body)


def set_upstreams(nginx, ports, drained=None):
    """Make nginx send nothing to the drained port; wait until its old workers end."""
    before = children(nginx.process.pid)
    nginx.set_upstreams(
        *(upstream(port, " down" * (port == drained)) for port in ports)
    )
    nginx.process.send_signal(signal.SIGHUP)
    wait_until(lambda: not set(before) & set(children(nginx.process.pid)))


def test_no_request_fails_while_machines_are_drained_and_restarted(
    machines, emptied_postgres_url, tmp_path, report
):
    with running_nginx(tmp_path, machines) as nginx:
        load = Load([nginx], 1, make_sender=ProxiedSender)
        with load.running():
            for port, machine in list(machines.items()) * ROUNDS_COUNT:
                load.wait_for_answers(ANSWERS_COUNT)
                set_upstreams(nginx, machines, drained=port)
                assert machine.stop() == 0
                load.wait_for_answers(ANSWERS_COUNT)
                machine.start()
                set_upstreams(nginx, machines)
            load.wait_for_answers(ANSWERS_COUNT)

    load.find_ports = [machine.find_port for machine in machines.values()]
    counts = load.assert_nothing_lost(emptied_postgres_url)
    report(f"restarts {len(machines) * ROUNDS_COUNT}, {line_of(counts)}")


def test_a_machine_without_its_database_fails_no_keyed_request_and_no_read(
    start_machine, emptied_postgres_url, tmp_path
):
    ports = [free_port(), free_port()]
    start_machine(ports[0], emptied_postgres_url)
    with running_pgbouncer(emptied_postgres_url) as pooler:
        away = start_machine(ports[1], behind(emptied_postgres_url, pooler))

    with running_nginx(tmp_path, ports) as nginx, nginx.open_api() as api:
        items = [api.mint("+5.a", key=f"key {number}") for number in range(SENT_COUNT)]
        states = [api.check(f"+5.{item}.a") for item in items]
        statuses = [api.get(f"/v1/item/{item}").status_code for item in items]
        unkeyed = [api.post("/v1/mint", {"outputs": ["+5.a"]}) for _ in items]

    assert states == [["unspent"]] * SENT_COUNT
    assert statuses == [200] * SENT_COUNT
    refused = [answer for answer in unkeyed if answer.status_code != 200]
    # nginx uses the machines in turn.
    assert len(refused) == SENT_COUNT / 2
    assert {refusal(answer) for answer in refused} == {UNAVAILABLE}
    # nginx tried this machine for the other requests too.
    wait_until(lambda: away.log.read_text().count('"status":503') > SENT_COUNT)
