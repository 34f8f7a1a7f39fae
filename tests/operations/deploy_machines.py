"""Two machines behind nginx, restarted one after the other under load: `make operations`.

A machine is a group of gunicorn processes with a port of its own; both share a PostgreSQL.
"""

import json
import signal
import threading
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from deeds.domain.raw_output import make_strong_secret
from tests.faults.load import ledger_view
from tests.faults.mortal_service import MortalService
from tests.faults.test_killed_workers import children
from tests.support.proxies import free_port, running_nginx, upstream
from tests.support.reporting import add_line
from tests.support.waiting import wait_until

CLIENTS_COUNT = 12
ROUNDS_COUNT = 2

# Answers that the clients get between one step of a restart and the next.
ANSWERS_BETWEEN = 60


@pytest.fixture
def database_url(fresh_postgres_url):
    return fresh_postgres_url()


@pytest.fixture
def ports():
    return [free_port(), free_port()]


@pytest.fixture
def machines(tmp_path, database_url, ports):
    with ExitStack() as closing:
        machines = []
        for port in ports:
            settings = {
                "DEEDS_MARK_FILE": str(tmp_path / f"{port}.mark"),
                "DEEDS_TRUSTED_PROXIES": "1",
                "GUNICORN_CMD_ARGS": f"--bind 127.0.0.1:{port}",
            }
            machines.append(MortalService(tmp_path, database_url, **settings))
            closing.callback(machines[-1].close)
            machines[-1].start()
        yield machines


class Load:
    """Clients that mint once, then swap, read and check what they hold until they are stopped."""

    def __init__(self, nginx, *, with_keys):
        self._nginx = nginx
        self._with_keys = with_keys
        self._stop = threading.Event()
        self.answers = Counter()
        self._pool = ThreadPoolExecutor(CLIENTS_COUNT)
        self._clients = [self._pool.submit(self._run, number) for number in range(CLIENTS_COUNT)]

    def _run(self, number):
        # Each request as another client: the limits of one are not looked at here.
        addresses = (f"10.{number}.{n // 256 % 256}.{n % 256}" for n in range(2**16))
        secret = make_strong_secret()
        minted = self._ask("mint", {"outputs": [f"+5.{secret}"]}, next(addresses))
        item = json.loads(minted)["itemId"]
        while not self._stop.is_set():
            new = make_strong_secret()
            outputs = [f"+5.{item}.{new}"]
            swap = {"inputs": [f"+5.{item}.{secret}"], "outputs": outputs}
            self._ask("swap", swap, next(addresses))
            self._ask("check", {"outputs": outputs}, next(addresses))
            secret = new

    def _ask(self, name, body, address):
        headers = {"Content-Type": "application/json", "X-Test-Client": address}
        if self._with_keys:
            headers["Idempotency-Key"] = str(uuid.uuid4())
        status, _, answer = self._nginx.ask(
            "POST", f"/v1/{name}", json.dumps(body).encode(), headers
        )
        self.answers[name, status] += 1
        assert status == 200, answer
        return answer

    def wait_for_answers(self):
        """Wait until some more requests were answered, or one has failed."""
        goal = self.answers.total() + ANSWERS_BETWEEN
        wait_until(
            lambda: self.answers.total() >= goal or any(client.done() for client in self._clients)
        )

    def end(self):
        """Stop the clients; fail if any of their requests has."""
        self._stop.set()
        for client in self._clients:
            client.result()
        self._pool.shutdown()


def set_upstreams(nginx, *lines):
    """Let nginx read its file with other servers, and wait until the old processes have ended."""
    before = children(nginx.process.pid)
    nginx.set_upstreams(*lines)
    nginx.process.send_signal(signal.SIGHUP)
    wait_until(lambda: not set(before) & set(children(nginx.process.pid)))


@pytest.mark.parametrize("drained", [False, True], ids=["with keys", "drained, without keys"])
def test_no_request_fails_while_all_machines_are_restarted(
    machines, ports, database_url, tmp_path, request, drained
):
    with running_nginx(tmp_path, ports) as nginx:
        load = Load(nginx, with_keys=not drained)
        for restarted, machine in list(zip(ports, machines, strict=True)) * ROUNDS_COUNT:
            load.wait_for_answers()
            if drained:
                set_upstreams(
                    nginx, *(upstream(port, " down" * (port == restarted)) for port in ports)
                )
            assert machine.stop() == 0
            load.wait_for_answers()
            machine.start()
            if drained:
                set_upstreams(nginx, *map(upstream, ports))
        load.wait_for_answers()
        load.end()

    counts = ", ".join(f"{name} {count}" for (name, _), count in sorted(load.answers.items()))
    add_line(request.node, f"restarts {len(machines) * ROUNDS_COUNT}, {counts}")
    assert {status for _, status in load.answers} == {200}
    with ledger_view(database_url) as ledger:
        ledger.assert_sound()
        assert len(ledger.operations()) == load.answers["mint", 200] + load.answers["swap", 200]
