"""How `deeds dev` starts and ends, and where its ledger is."""

import os
import shlex
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from tests.dev.running import dev_command, running_dev, start_dev
from tests.support.api import environ_of, good, opened, served
from tests.support.commanding import run_deeds
from tests.support.readme import run_bash
from tests.support.waiting import WAIT_SECONDS_MAX, wait_until

pytestmark = pytest.mark.slow

# What a developer's shell may have set for another service.
OTHERS = {
    "DATABASE_URL": "postgresql://nowhere.example/deeds",
    "DEEDS_ARGON2": "m=65536,t=3,p=4",
    "DEEDS_CHECKPOINT_FILE": "/nowhere/checkpoint",
    "DEEDS_PEPPER": "short",
    "DEEDS_RATE_LIMITS": "mint=1/day",
    "DEEDS_MAX_ARRAY": "1",
    "WEB_CONCURRENCY": "many",
}
# What a command does, and how `deeds dev --exec` exits then.
ENDS = {"exit 7": 7, "kill -KILL $$": 137}
SEES_URL = "python3 -c \"import os; print(os.environ['DEEDS_URL'])\""


def test_it_listens_on_this_machine_alone_and_other_settings_do_not_leak_in():
    with running_dev(**OTHERS) as dev:
        connections = psutil.Process(dev.process.pid).net_connections()
        listening = [c.laddr for c in connections if c.status == psutil.CONN_LISTEN]
        assert [f"http://{ip}:{port}" for ip, port in listening] == [dev.ready["url"]]
        assert dev.ready["url"].startswith("http://127.0.0.1:")
        assert dev.ready["pid"] == dev.process.pid

        for _ in range(3):
            dev.api.mint("+5.a", "+5.b")
        with closing(sqlite3.connect(dev.ready["ledger"])) as ledger:
            policies = ledger.execute("SELECT * FROM hash_policies").fetchall()
    assert policies == [(0, 8, 1, 1, "")]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, None])
def test_its_end_removes_the_ledger(how):
    with running_dev() as dev:
        directory = Path(dev.ready["ledger"]).parent
        dev.api.mint("+5.a")
        assert directory.stat().st_mode & 0o077 == 0
        dev.tell("fail", {"next": 1, "with": "slow", "seconds": 300})
        with socket.create_connection(
            ("127.0.0.1", dev.api.http.base_url.port)
        ) as late:
            late.sendall(b"GET /v1/info HTTP/1.1\r\nHost: localhost\r\n\r\n")
            ended_at = time.monotonic() + 5
            if how is None:
                # As it ends with the process that has the other end.
                dev.process.stdin.close()
            else:
                dev.process.send_signal(how)

            assert dev.process.wait() == 0
    assert time.monotonic() < ended_at
    assert not directory.exists()


def test_a_person_gets_five_lines_and_can_run_those_with_commands():
    with start_dev() as process:
        lines = [process.stdout.readline() for _ in range(5)]
        told = dict(line.split(maxsplit=1) for line in lines)
        assert list(told) == ["url", "ledger", "export", "faults", "clock"]
        script = f"export {told['export']}{told['clock'].replace('curl', 'curl -s')}"
        assert run_bash(script).startswith('{"now":')
        script = told["faults"].replace("curl", "curl -s")
        assert run_bash(script) == '{"left":1}'
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == ""


def test_a_named_ledger_is_kept_and_none_of_others_is_touched(tmp_path):
    ours, other = tmp_path / "ours", tmp_path / "other"
    with opened(environ_of(f"sqlite:///{other}")):
        pass
    before = other.read_bytes()
    with running_dev("--ledger", ours) as dev:
        item = dev.api.mint("+5.a")

    with running_dev("--ledger", ours) as dev:
        assert dev.api.check(f"+5.{item}.a") == ["unspent"]
        good(dev.tell("reset"))
        assert dev.api.check(f"+5.{item}.a") == ["unknown"]
    ran = run_deeds("dev", "--ledger", str(other))

    assert ran.returncode == 1
    line = f"deeds: {other} was not made by deeds dev: name another file\n"
    assert ran.stderr == line
    assert other.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--port", "{port}"], "port {port} of 127.0.0.1: Address already in use"),
        (["--ledger", "{tmp}/no/ledger"], "{tmp}/no/ledger: No such file or directory"),
        (["--exec", "true", "--json"], "--exec goes with neither --json nor"),
    ],
)
def test_what_it_cannot_do_is_one_line(tmp_path, arguments, line):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        values = {"port": taken.getsockname()[1], "tmp": tmp_path}
        ran = run_deeds("dev", *(each.format(**values) for each in arguments))

    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("deeds: " + line.format(**values))
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize(("command", "code"), ENDS.items())
def test_it_exits_as_the_command_that_it_runs(command, code):
    ran = run_deeds("dev", "--exec", f"{SEES_URL}; {command}")

    assert ran.returncode == code
    assert ran.stdout.startswith("http://127.0.0.1:")
    assert ran.stdout.count("\n") == 1


def test_a_stop_reaches_all_of_the_command_that_it_runs(tmp_path):
    script = "trap 'echo told > told; exit 3' TERM; touch begun; sleep 60 & wait"
    with subprocess.Popen(
        dev_command("--exec", f"cd {tmp_path}; {script}"),
        start_new_session=True,
        stdin=subprocess.DEVNULL,
    ) as process:
        wait_until((tmp_path / "begun").exists)
        [shell] = psutil.Process(process.pid).children()
        # Forked alone, it would lose a signal.
        wait_until(lambda: [c.name() for c in shell.children()] == ["sleep"])
        [sleeping] = shell.children()

        process.terminate()

        assert process.wait() == 3
    assert (tmp_path / "told").read_text() == "told\n"
    wait_until(lambda: not sleeping.is_running())


def take(terminal):
    """Take the terminal, and signals, which parts.server.worker holds at a fork."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.login_tty(terminal)


def test_a_terminal_and_its_ctrl_c_are_for_the_command():
    code = """
import sys, time
try:
    print("typed:", input())
    time.sleep(60)
except KeyboardInterrupt:
    sys.exit(4)
"""
    terminal, other_end = os.openpty()
    with subprocess.Popen(
        dev_command("--exec", shlex.join(["exec", sys.executable, "-uc", code])),
        preexec_fn=lambda: take(other_end),  # noqa: PLW1509  (no thread here)
    ) as process:
        os.write(terminal, b"a line\n")
        printed = b""
        while b"typed: a line" not in printed:
            printed += os.read(terminal, 1024)
        os.write(terminal, b"\x03")
        assert process.wait(WAIT_SECONDS_MAX) == 4


def test_no_service_has_these_endpoints_whatever_is_set(sqlite_url, monkeypatch):
    monkeypatch.setenv("DEEDS_DEV", "1")
    monkeypatch.setenv("FLASK_DEBUG", "1")

    with served(environ_of(sqlite_url)) as api:
        answers = [api.get("/_dev/audit"), api.post("/_dev/reset", "{}")]

    assert {answer.status_code for answer in answers} == {404}
