"""Two machines behind nginx, restarted one after the other under load: `make operations`.

A machine is a group of gunicorn processes with a port of its own; both share a PostgreSQL.
"""

import ipaddress
import itertools
import json
import signal
import threading
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from deeds.domain.raw_output import make_strong_secret
from tests.faults.mortal_service import MortalService
from tests.support.ledger_view import ledger_view
from tests.support.proxies import free_port, running_nginx, upstream
from tests.support.reporting import add_line
from tests.support.serving import children
from tests.support.waiting import wait_until

CLIENTS_COUNT = 12
ROUNDS_COUNT = 2


@pytest.fixture
def machines(tmp_path, emptied_postgres_url):
    """Two of them, each by its port."""
    with ExitStack() as closing:
        machines = {}
        for port in (free_port(), free_port()):
            settings = {
                "DEEDS_MARK_FILE": str(tmp_path / f"{port}.mark"),
                "DEEDS_TRUSTED_PROXIES": "1",
                "GUNICORN_CMD_ARGS": f"--bind 127.0.0.1:{port}",
            }
            machines[port] = MortalService(tmp_path, emptied_postgres_url, **settings)
            closing.callback(machines[port].close)
            machines[port].start()
        yield machines


class Load:
    """Clients that mint once, then swap and check what they hold until the load ends."""

    def __init__(self, nginx, *, with_keys):
        self._nginx = nginx
        self._with_keys = with_keys
        self._is_over = threading.Event()
        # Each request as another client: the limits of one are not looked at here.
        self._numbers = itertools.count()
        self.answers = Counter()
        pool = ThreadPoolExecutor(CLIENTS_COUNT)
        self._clients = [pool.submit(self._run) for _ in range(CLIENTS_COUNT)]

    def _run(self):
        secret = make_strong_secret()
        item = self._ask("mint", outputs=[f"+5.{secret}"])["itemId"]
        while not self._is_over.is_set():
            old, secret = secret, make_strong_secret()
            outputs = [f"+5.{item}.{secret}"]
            self._ask("swap", inputs=[f"+5.{item}.{old}"], outputs=outputs)
            self._ask("check", outputs=outputs)

    def _ask(self, name, **body):
        address = str(ipaddress.ip_address("10.0.0.0") + next(self._numbers))
        headers = {"Content-Type": "application/json", "X-Test-Client": address}
        if self._with_keys:
            headers["Idempotency-Key"] = str(uuid.uuid4())
        data = json.dumps(body).encode()
        status, _, answer = self._nginx.ask("POST", f"/v1/{name}", data, headers)
        self.answers[name, status] += 1
        assert status == 200, answer
        return json.loads(answer)

    def wait_for_answers(self):
        """Wait until some more requests were answered, or one has failed."""
        goal = self.answers.total() + 60
        wait_until(
            lambda: self.answers.total() >= goal or any(client.done() for client in self._clients)
        )

    def end(self):
        """Stop the clients; fail if any of their requests has."""
        self._is_over.set()
        for client in self._clients:
            client.result()


def set_upstreams(nginx, ports, drained=None):
    """Let nginx send nothing to one of the ports, and wait until its old processes have ended."""
    before = children(nginx.process.pid)
    nginx.set_upstreams(*(upstream(port, " down" * (port == drained)) for port in ports))
    nginx.process.send_signal(signal.SIGHUP)
    wait_until(lambda: not set(before) & set(children(nginx.process.pid)))


@pytest.mark.parametrize("drained", [False, True], ids=["with keys", "drained, without keys"])
def test_no_request_fails_while_all_machines_are_restarted(
    machines, emptied_postgres_url, tmp_path, request, drained
):
    with running_nginx(tmp_path, machines) as nginx:
        load = Load(nginx, with_keys=not drained)
        for port, machine in list(machines.items()) * ROUNDS_COUNT:
            load.wait_for_answers()
            if drained:
                set_upstreams(nginx, machines, drained=port)
            assert machine.stop() == 0
            load.wait_for_answers()
            machine.start()
            if drained:
                set_upstreams(nginx, machines)
        load.wait_for_answers()
        load.end()

    counts = ", ".join(f"{name} {count}" for (name, _), count in sorted(load.answers.items()))
    add_line(request.node, f"restarts {len(machines) * ROUNDS_COUNT}, {counts}")
    assert {status for _, status in load.answers} == {200}
    with ledger_view(emptied_postgres_url) as ledger:
        ledger.assert_sound()
        assert len(ledger.operations()) == load.answers["mint", 200] + load.answers["swap", 200]
