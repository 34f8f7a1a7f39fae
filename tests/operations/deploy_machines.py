"""Two machines behind nginx, restarted one after the other under load: `make operations`.

A machine is a group of gunicorn processes with a port of its own; both share a PostgreSQL.
"""

import json
import os
import signal
import subprocess
import threading
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from deeds.domain.strong_secret import make_strong_secret
from tests.faults.load import ledger_view
from tests.support.proxies import free_port, running_nginx, upstream
from tests.support.reporting import add_line
from tests.support.serving import start_gunicorn
from tests.support.waiting import wait_until

CLIENTS_COUNT = 12
ROUNDS_COUNT = 2

# Answers that the clients get between one step of a restart and the next.
ANSWERS_BETWEEN = 60


class Machine:
    """Starts and stops the service on one port."""

    def __init__(self, directory, database_url):
        self.port = free_port()
        self._log = directory / f"{self.port}.log"
        self._settings = {
            "DATABASE_URL": database_url,
            "DEEDS_MARK_FILE": str(directory / f"{self.port}.mark"),
            "GUNICORN_CMD_ARGS": f"--bind 127.0.0.1:{self.port}",
            "WEB_CONCURRENCY": "2",
            "DEEDS_TRUSTED_PROXIES": "1",
        }
        self._running = ExitStack()
        self._process = None

    def start(self):
        self._process = self._running.enter_context(start_gunicorn(self._log, self._settings))
        ready = ["curl", "-sf", f"http://127.0.0.1:{self.port}/readyz"]
        wait_until(lambda: subprocess.run(ready, capture_output=True, check=False).returncode == 0)

    def stop(self):
        os.kill(self._process.pid, signal.SIGTERM)
        assert self._process.wait(timeout=40) == 0
        self._running.close()

    def close(self):
        self._running.close()


@pytest.fixture
def database_url(postgres):
    url = postgres.create_migrated_database()
    yield url
    postgres.drop_database(url)


@pytest.fixture
def machines(tmp_path, database_url):
    machines = [Machine(tmp_path, database_url) for _ in range(2)]
    with ExitStack() as closing:
        for machine in machines:
            closing.callback(machine.close)
            machine.start()
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
        item = json.loads(self._ask("mint", {"outputs": [f"+5.{secret}"]}, next(addresses)))[
            "itemId"
        ]
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

    def wait_for_answers(self, count=ANSWERS_BETWEEN):
        """Wait until so many more requests were answered, or one has failed."""
        goal = self.answers.total() + count
        wait_until(
            lambda: self.answers.total() >= goal or any(client.done() for client in self._clients)
        )

    def end(self):
        """Stop the clients; fail if any of their requests has."""
        self._stop.set()
        for client in self._clients:
            client.result()
        self._pool.shutdown()


def children(process):
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return set(path.read_text().split())


def reload_and_wait(nginx):
    """Let nginx read its file again, and wait until the processes from before have ended."""
    before = children(nginx.process)
    nginx.process.send_signal(signal.SIGHUP)
    wait_until(lambda: not before & children(nginx.process))


@pytest.mark.parametrize("drained", [False, True], ids=["with keys", "drained, without keys"])
def test_no_request_fails_while_all_machines_are_restarted(
    machines, database_url, tmp_path, request, drained
):
    ports = [machine.port for machine in machines]
    with running_nginx(tmp_path, ports) as nginx:
        load = Load(nginx, with_keys=not drained)
        for machine in machines * ROUNDS_COUNT:
            load.wait_for_answers()
            if drained:
                down = [upstream(port, " down" * (port == machine.port)) for port in ports]
                nginx.set_upstreams(*down)
                reload_and_wait(nginx)
            machine.stop()
            load.wait_for_answers()
            machine.start()
            if drained:
                nginx.set_upstreams(*map(upstream, ports))
                reload_and_wait(nginx)
        load.wait_for_answers()
        load.end()

    counts = ", ".join(f"{name} {count}" for (name, _), count in sorted(load.answers.items()))
    add_line(request.node, f"restarts {len(machines) * ROUNDS_COUNT}, {counts}")
    assert {status for _, status in load.answers} == {200}
    with ledger_view(database_url) as ledger:
        ledger.assert_sound()
        assert len(ledger.operations()) == load.answers["mint", 200] + load.answers["swap", 200]
