"""The start: how many processes serve, and where; a one-line error if it fails."""

import json
import os
import re
import shlex
import socket
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from deeds.process import default_processes_count, usable_cpus_count
from tests.support.api import Api, good
from tests.support.commanding import run_program, run_python
from tests.support.serving import GUNICORN, SERVICE, clean_environment, start_gunicorn
from tests.support.waiting import wait_until

CONSOLE_LINE = re.compile(
    r"\d\d:\d\d:\d\d info     request        request_id=\w{32}"
    r" route=/v1/item/<item_id> .*"
)


def test_a_console_gets_columns_and_a_line_that_mints_a_deed(gunicorn_service):
    everywhere = {"HOST": "0.0.0.0", "PORT": "0", "GUNICORN_CMD_ARGS": ""}  # noqa: S104
    service = gunicorn_service(DEEDS_LOG="console", **everywhere)

    service.get("/v1/item/deed_nobody")
    wait_until(lambda: " route=/v1/item/<item_id> " in service.log_text())
    lines = service.log_text().splitlines()
    [line] = [each for each in lines if each.startswith("curl ")]
    curl, silent, url, header, media_type, data, body = shlex.split(line)
    with service.open_api() as api:
        sent = dict([media_type.split(": ")])
        minted = good(api.http.post(url, content=body, headers=sent))

    assert [each for each in lines if each.startswith("{")] == []
    assert [each for each in lines if CONSOLE_LINE.fullmatch(each)] != []
    assert (curl, silent, header, data) == ("curl", "-s", "-H", "-d")
    assert url == f"{service.url}/v1/mint"
    assert [output["amount"] for output in minted["outputs"]] == [5]


def ledger_line(service):
    """Return the first line of a log, which must be the only one of the ledger."""
    first, *others = map(json.loads, service.log_text().splitlines())
    assert "ledger" not in {each["event"] for each in others}
    del first["time"]
    return first


def test_the_first_line_names_the_ledger(gunicorn_service, tmp_path):
    path = str(tmp_path / "new.db")
    url = f"sqlite:///{path}"
    always = {"event": "ledger", "level": "info", "ledger": path, "version": 1}
    begun_at = datetime.now(UTC)

    preloaded = {"GUNICORN_CMD_ARGS": "--bind 127.0.0.1:0 --preload"}
    service = gunicorn_service(DATABASE_URL=url, **preloaded)
    new = ledger_line(service)
    with service.open_api() as api:
        api.mint("+5.a")
    service.process.terminate()
    service.process.wait()
    used = ledger_line(gunicorn_service(DATABASE_URL=url))

    made_at = datetime.fromisoformat(used.pop("last_operation_at"))
    assert new == always | {"last_operation": 0, "new": True}
    assert used == always | {"last_operation": 1, "new": False}
    # The log has whole seconds.
    assert begun_at - timedelta(seconds=1) <= made_at <= datetime.now(UTC)


@contextmanager
def started(tmp_path, **settings):
    """Start the service with PORT=0; yield its log once it listens or has ended."""
    log = tmp_path / "log"
    database_url = f"sqlite:///{tmp_path / 'deeds.db'}"
    defaults = {"DATABASE_URL": database_url, "GUNICORN_CMD_ARGS": "", "PORT": "0"}
    with start_gunicorn(log, defaults | settings) as process:
        wait_until(
            lambda: process.poll() is not None or "Listening at" in log.read_text()
        )
        yield log.read_text()


def test_unknown_settings_and_unsafe_arguments_are_warnings_of_the_start(tmp_path):
    arguments = "--worker-class gthread --threads 8 --bind 127.0.0.1:0"

    variables = {
        "DEEDS_PEPER": "mark-7c1f9e",
        # Set for the client, and by Kubernetes for a service named "deeds".
        "DEEDS_URL": "http://127.0.0.1",
        "DEEDS_PORT_8000_TCP_ADDR": "127.0.0.1",
    }

    with started(tmp_path, GUNICORN_CMD_ARGS=arguments, **variables) as log:
        lines = map(json.loads, log.splitlines())
        warnings = [each["message"] for each in lines if each["level"] == "warning"]

    assert warnings == [
        "DEEDS_PEPER is not a setting; the nearest is DEEDS_PEPPER",
        (
            "GUNICORN_CMD_ARGS or the command line changes what keeps slow and hostile"
            " clients from stopping the service: worker_class gthread, threads 8"
        ),
    ]
    assert "mark-7c1f9e" not in log


def test_it_listens_at_an_ipv6_address(tmp_path):
    with started(tmp_path, HOST="::1") as log:
        [port] = re.findall(r"Listening at: http://\[::1\]:(\d+) ", log)
        with closing(Api.of_url(f"http://[::1]:{port}")) as api:
            assert api.get("/v1/info").status_code == 200


def test_a_port_that_is_taken_stops_the_start_in_one_line_with_the_remedy(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with started(tmp_path, PORT=str(port), DEEDS_LOG="console") as log:
            assert log.splitlines()[1:] == [
                f"deeds: port {port} is taken; choose another: PORT={port + 1}"
            ]


# A setting, and the reason why the service cannot listen.
UNUSABLE = {
    "an address of another machine": (
        # An address that no machine has: RFC 5737.
        {"HOST": "192.0.2.1"},
        "192.0.2.1 is not an address of this machine: set DEEDS_HOST",
    ),
    "no directory for a socket": (
        {"GUNICORN_CMD_ARGS": "--bind unix:/nowhere/socket"},
        "cannot listen: connection to /nowhere/socket failed: [Errno 2] No such file",
    ),
}


@pytest.mark.parametrize(("settings", "reason"), UNUSABLE.values(), ids=UNUSABLE)
def test_an_unusable_address_stops_the_start_in_one_line(tmp_path, settings, reason):
    with started(tmp_path, **settings) as log:
        _, refusal = map(json.loads, log.splitlines())

    assert refusal["event"] == "cannot_start"
    assert refusal["message"].startswith(f"deeds: {reason}")


def test_an_invalid_form_of_the_log_is_one_line(tmp_path):
    with started(tmp_path, DEEDS_LOG="xml") as log:
        assert log == "deeds: DEEDS_LOG must be one of auto, json, console\n"


def test_without_a_directory_for_temporary_files_the_start_fails_in_one_line():
    # No byte can be written to any file.
    command = 'ulimit -f 0; exec "$@"'
    shell = ("sh", "-c", command, "sh")
    environment = clean_environment({})
    ran = run_program(*shell, *GUNICORN, SERVICE, env=environment)

    [line] = ran.stderr.splitlines()
    assert (ran.returncode, ran.stdout) == (1, "")
    assert json.loads(line)["message"] == (
        "deeds: TMPDIR and /tmp are no directories that can be written"
    )


def test_serve_names_an_invalid_setting_that_gunicorn_reads_first():
    """gunicorn alone would end with a traceback."""
    ran = run_python("-m", "app", "serve", WEB_CONCURRENCY="many")

    assert ran.returncode == 1
    assert (
        ran.stderr == "deeds: WEB_CONCURRENCY must be a whole number from 1 to 1024\n"
    )


def test_it_serves_on_a_unix_socket_too(gunicorn_service, tmp_path):
    path = tmp_path / "socket"
    gunicorn_service(GUNICORN_CMD_ARGS=f"--bind 127.0.0.1:0 --bind unix:{path}")

    transport = httpx.HTTPTransport(uds=str(path))
    with httpx.Client(transport=transport) as client:
        assert client.get("http://localhost/v1/info").status_code == 200


# The cgroups of a process, the files with their quotas, and how many of 16 CPUs it may
# use.
QUOTAS = {
    "no quota": ("0::/\n", {"cpu.max": "max 100000\n"}, 16),
    "rounded up": ("0::/\n", {"cpu.max": "150000 100000\n"}, 2),
    "at least one": ("0::/\n", {"cpu.max": "0 100000\n"}, 1),
    "the tightest group above": (
        "1:memory:/\n0::/pods/ours/service\n",
        {
            "pods/ours/service/cpu.max": "max 100000\n",
            "pods/ours/cpu.max": "300000 100000\n",
            "pods/cpu.max": "800000 100000\n",
        },
        3,
    ),
    "a path of the host": ("0::/docker/0123abcd\n", {"cpu.max": "100000 100000\n"}, 1),
}


@pytest.mark.parametrize(
    ("own_cgroups", "files", "expected"), QUOTAS.values(), ids=QUOTAS
)
def test_quotas_of_all_groups_count_rounded_up(
    tmp_path, monkeypatch, own_cgroups, files, expected
):
    monkeypatch.setattr(
        os, "sched_getaffinity", lambda _pid: set(range(16)), raising=False
    )
    monkeypatch.setattr("deeds.process.OWN_CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr("deeds.process.CGROUP_MOUNT", tmp_path / "mount")
    (tmp_path / "cgroup").write_text(own_cgroups)
    for name, text in files.items():
        path = tmp_path / "mount" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    assert usable_cpus_count() == expected


def test_without_affinity_all_cpus_count_and_two_processes_serve_at_least(
    tmp_path, monkeypatch
):
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr("deeds.process.OWN_CGROUPS", tmp_path / "cgroup")

    assert usable_cpus_count() == 4

    monkeypatch.setattr("deeds.process.usable_cpus_count", lambda: 1)
    assert default_processes_count() == 2
