"""Two machines behind nginx, restarted one after the other under load.

`make operations`.

A machine is a group of gunicorn processes with a port of its own; both share a
PostgreSQL.
"""

import ipaddress
import itertools
import signal
from contextlib import ExitStack
from functools import partial

import pytest

from tests.faults.journal import Sender
from tests.faults.load import Load, line_of
from tests.faults.mortal_service import MortalService
from tests.support.proxies import free_port, running_nginx, upstream
from tests.support.serving import children
from tests.support.waiting import wait_until

ANSWERS_COUNT = 60
ROUNDS_COUNT = 2


@pytest.fixture
def machines(tmp_path, emptied_postgres_url):
    """Two of them, each by its port."""
    with ExitStack() as stack:
        machines = {}
        for port in (free_port(), free_port()):
            settings = {
                "DEEDS_CHECKPOINT_FILE": str(tmp_path / f"{port}.checkpoint"),
                "DEEDS_TRUSTED_PROXIES": "1",
                "GUNICORN_CMD_ARGS": f"--bind 127.0.0.1:{port}",
            }
            machines[port] = MortalService(tmp_path, emptied_postgres_url, **settings)
            stack.callback(machines[port].close)
            machines[port].start()
        yield machines


class ProxiedSender(Sender):
    """Sends each request through nginx as another client.

    The limits of one are not looked at.
    """

    addresses = map(ipaddress.ip_address("10.0.0.0").__add__, itertools.count())

    def __init__(self, nginx, with_keys):
        super().__init__(None)
        self._nginx = nginx
        self._with_keys = with_keys

    def send(self, path, body, key=None):
        with self._nginx.open_api() as api:
            api.http.headers["X-Test-Client"] = str(next(self.addresses))
            return api.post(path, body, key if self._with_keys else None)


def set_upstreams(nginx, ports, drained=None):
    """Let nginx send nothing to a port; wait until its old processes have ended."""
    before = children(nginx.process.pid)
    nginx.set_upstreams(
        *(upstream(port, " down" * (port == drained)) for port in ports)
    )
    nginx.process.send_signal(signal.SIGHUP)
    wait_until(lambda: not set(before) & set(children(nginx.process.pid)))


@pytest.mark.parametrize(
    "drained", [False, True], ids=["with keys", "drained, without keys"]
)
def test_no_request_fails_while_all_machines_are_restarted(
    machines, emptied_postgres_url, tmp_path, report, drained
):
    with running_nginx(tmp_path, machines) as nginx:
        load = Load(
            [nginx], 1, make_sender=partial(ProxiedSender, with_keys=not drained)
        )
        with load.running():
            for port, machine in list(machines.items()) * ROUNDS_COUNT:
                load.wait_for_answers(ANSWERS_COUNT)
                if drained:
                    set_upstreams(nginx, machines, drained=port)
                assert machine.stop() == 0
                load.wait_for_answers(ANSWERS_COUNT)
                machine.start()
                if drained:
                    set_upstreams(nginx, machines)
            load.wait_for_answers(ANSWERS_COUNT)

    load.find_ports = [machine.find_port]
    counts = load.assert_nothing_lost(emptied_postgres_url)
    report(f"restarts {len(machines) * ROUNDS_COUNT}, {line_of(counts)}")
