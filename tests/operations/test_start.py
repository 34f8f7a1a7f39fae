"""The start.

How many processes serve, and where, or in one line which setting is wrong.
"""

import json
import os
import re
import shlex
import socket
import sys
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from psycopg.conninfo import conninfo_to_dict

from deeds.process import default_processes_count, usable_cpus_count
from tests.support.api import Api, good
from tests.support.commanding import (
    run_deeds,
    run_program,
    run_python,
    run_redirected,
)
from tests.support.serving import (
    clean_environment,
    running_service,
    start_gunicorn,
)
from tests.support.waiting import wait_until

CONSOLE_LINE = re.compile(
    r"\d\d:\d\d:\d\d info     request        request_id=\w{32}"
    r" route=/v1/item/<item_id> .*"
)


@pytest.mark.parametrize(
    "settings",
    [{}, {"HOST": "0.0.0.0", "PORT": "0", "GUNICORN_CMD_ARGS": ""}],  # noqa: S104
    ids=["on this machine alone", "on all addresses"],
)
def test_a_console_gets_columns_and_a_line_that_mints_a_deed(
    gunicorn_service, settings
):
    service = gunicorn_service(DEEDS_LOG="console", **settings)

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
    assert [output["amount"] for output in minted["outputs"]] == [5]


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


def first_line(tmp_path, **settings):
    with started(tmp_path, **settings) as log:
        return json.loads(log.splitlines()[0])


@pytest.mark.parametrize("preload", ["", "--preload"], ids=["", "preloaded"])
def test_the_first_line_names_the_ledger(tmp_path, preload):
    path = str(tmp_path / "deeds.db")
    always = {"event": "ledger", "level": "info", "ledger": path, "version": 1}

    with started(tmp_path, GUNICORN_CMD_ARGS=preload) as log:
        new, *others = map(json.loads, log.splitlines())
    begun_at = datetime.now(UTC)
    with running_service(tmp_path) as service, service.open_api() as api:
        api.mint("+5.a")
    (tmp_path / "log").unlink()
    used = first_line(tmp_path, GUNICORN_CMD_ARGS=preload)

    del new["time"], used["time"]
    made_at = datetime.fromisoformat(used.pop("last_operation_at"))
    assert new == always | {"last_operation": 0, "new": True}
    assert used == always | {"last_operation": 1, "new": False}
    # It is in whole seconds.
    assert begun_at - timedelta(seconds=1) <= made_at <= datetime.now(UTC)
    assert "ledger" not in {each["event"] for each in others}


def test_the_first_line_names_a_postgresql_without_the_password(tmp_path, postgres_url):
    migrated = run_deeds("migrate", DATABASE_URL=postgres_url)
    line = first_line(tmp_path, DATABASE_URL=postgres_url)

    options = conninfo_to_dict(postgres_url)
    assert migrated.returncode == 0
    assert line["ledger"] == f"{options['host']}/{options['dbname']}"
    assert (line["last_operation"], line["new"]) == (0, False)


def test_a_variable_that_is_no_setting_is_a_warning_of_the_start(tmp_path):
    with started(tmp_path, DEEDS_PEPER="mark-7c1f9e") as log:
        _, warning, *_ = map(json.loads, log.splitlines())

    assert (warning["level"], warning["event"]) == ("warning", "unknown_setting")
    assert warning["message"] == (
        "DEEDS_PEPER is not a setting; the nearest is DEEDS_PEPPER"
    )
    assert "mark-7c1f9e" not in log


@pytest.mark.parametrize(
    ("host", "address"),
    [
        pytest.param("", "127.0.0.1", id="unless told otherwise"),
        pytest.param("127.0.0.2", "127.0.0.2", id="another", marks=pytest.mark.slow),
        pytest.param("::1", "[::1]", id="IPv6", marks=pytest.mark.slow),
        pytest.param("localhost", "127.0.0.1", id="a name"),
    ],
)
def test_it_listens_where_host_says(tmp_path, host, address):
    with started(tmp_path, HOST=host) as log:
        [port] = re.findall(rf"Listening at: http://{re.escape(address)}:(\d+) ", log)
        with closing(Api.of_url(f"http://{address}:{port}")) as api:
            assert api.get("/v1/info").status_code == 200


def test_a_port_that_is_taken_is_said_in_one_line_with_the_remedy(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with started(tmp_path, PORT=str(port), DEEDS_LOG="console") as log:
            assert log.splitlines()[1:] == [
                f"deeds: port {port} is taken; choose another: PORT={port + 1}"
            ]


def test_an_address_of_another_machine_is_said_in_one_line(tmp_path):
    # An address for documents: RFC 5737.
    with started(tmp_path, HOST="192.0.2.1") as log:
        _, refusal = map(json.loads, log.splitlines())

    assert (refusal["event"], refusal["message"]) == (
        "cannot_start",
        "deeds: 192.0.2.1 is not an address of this machine: set DEEDS_HOST",
    )


def test_where_it_cannot_listen_is_one_line_for_any_other_reason(tmp_path):
    path = tmp_path / "nowhere" / "socket"
    with started(tmp_path, GUNICORN_CMD_ARGS=f"--bind unix:{path}") as log:
        _, refusal = map(json.loads, log.splitlines())

    assert refusal["message"] == (
        f"deeds: cannot listen: connection to {path} failed: [Errno 2] No such file or"
        " directory"
    )


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (
            "postgresql://u:mark-7c1f9e@localhost/deeds?pgbouncer=true",
            "DATABASE_URL has options that libpq does not know, or",
        ),
        (
            "postgresql://u:mark-7c1f9e@127.0.0.1/deeds?connect_timeout=soon",
            "DATABASE_URL: the database cannot be opened: bad value",
        ),
    ],
    ids=["of another driver", "of a wrong type"],
)
@pytest.mark.parametrize("preload", ["", "--preload"], ids=["", "preloaded"])
def test_an_option_of_the_database_that_cannot_be_used_is_one_line(
    tmp_path, url, said, preload
):
    with started(tmp_path, DATABASE_URL=url, GUNICORN_CMD_ARGS=preload) as log:
        [line] = log.splitlines()

    assert json.loads(line)["message"].startswith(f"deeds: {said} ")
    assert "mark-7c1f9e" not in line


def test_an_invalid_form_of_the_log_is_one_line(tmp_path):
    with started(tmp_path, DEEDS_LOG="xml") as log:
        assert log == "deeds: DEEDS_LOG must be one of auto, json, console\n"


def test_no_directory_for_temporary_files_is_said_in_one_line():
    # No file takes a byte, wherever it is.
    command = 'ulimit -f 0; exec "$@"'
    gunicorn = [sys.executable, "-m", "gunicorn", "app:create_app()"]
    ran = run_program("sh", "-c", command, "sh", *gunicorn, env=clean_environment({}))

    [line] = ran.stderr.splitlines()
    assert (ran.returncode, ran.stdout) == (1, "")
    assert json.loads(line)["message"] == (
        "deeds: TMPDIR and /tmp are no directories that can be written"
    )


@pytest.mark.parametrize("preload", ["", "--preload"], ids=["", "preloaded"])
def test_settings_of_gunicorn_that_take_the_hardened_server_away_are_a_warning(
    tmp_path, preload
):
    arguments = f"--worker-class gthread --threads 8 --bind 127.0.0.1:0 {preload}"

    with started(tmp_path, GUNICORN_CMD_ARGS=arguments) as log:
        lines = map(json.loads, log.splitlines())
        warnings = [each for each in lines if each["level"] == "warning"]

    [warning] = warnings
    assert warning["message"] == (
        "GUNICORN_CMD_ARGS or the command line changes what keeps slow and hostile"
        " clients from stopping the service: worker_class gthread, threads 8"
    )


def test_serve_names_what_gunicorn_would_not():
    """gunicorn reads WEB_CONCURRENCY first, and ends with a traceback."""
    checked = run_python("-m", "app", "serve", WEB_CONCURRENCY="many")
    full = run_redirected("2>/dev/full", "-m", "app", "serve", WEB_CONCURRENCY="many")

    assert (checked.returncode, full.returncode) == (1, 1)
    assert checked.stderr == (
        "deeds: WEB_CONCURRENCY must be a whole number from 1 to 1024\n"
    )


def test_behind_a_proxy_on_a_unix_socket_clients_are_told_apart(
    gunicorn_service, tmp_path
):
    def status_for(client):
        with socket.socket(socket.AF_UNIX) as proxy:
            proxy.connect(str(tmp_path / "socket"))
            proxy.sendall(
                b"GET /v1/item/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                b"X-Forwarded-For: %s\r\n\r\n" % client.encode()
            )
            return proxy.recv(65_536).split(b" ")[1]

    gunicorn_service(
        DEEDS_RATE_LIMITS="item=1/day",
        DEEDS_TRUSTED_PROXIES="1",
        GUNICORN_CMD_ARGS=f"--bind 127.0.0.1:0 --bind unix:{tmp_path / 'socket'}",
    )
    statuses = [
        status_for(client) for client in ("192.0.2.1", "192.0.2.1", "192.0.2.2")
    ]

    assert statuses == [b"404", b"429", b"404"]


# The groups that a process is in, the files of their quotas, and how many of 16 CPUs it
# may use.
QUOTAS = {
    "no quota": ("0::/\n", {"cpu.max": "max 100000\n"}, 16),
    "rounded up": ("0::/\n", {"cpu.max": "150000 100000\n"}, 2),
    "at least one": ("0::/\n", {"cpu.max": "0 100000\n"}, 1),
    "more than there are": ("0::/\n", {"cpu.max": "9900000 100000\n"}, 16),
    "no period": ("0::/\n", {"cpu.max": "100000 0\n"}, 16),
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
