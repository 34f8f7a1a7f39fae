"""The start.

How many processes serve, and where, or in one line which setting is wrong.
"""

import json
import os
import re
import shlex
import socket
import subprocess
import sys
import urllib.request

import pytest

from deeds.server.cpus import default_processes_count, usable_cpus_count
from tests.support.serving import REPOSITORY, running_service

CONSOLE_LINE = re.compile(
    r"\d\d:\d\d:\d\d info     request        request_id=\w{32}"
    r" route=/v1/item/<item_id> .*"
)


def test_collections_of_garbage_skip_what_the_start_has_made(tmp_path):
    with running_service(
        tmp_path, application="tests.support.applications:create_garbage_app()"
    ) as service:
        looked_at, left_alone = map(int, service.get_text("/garbage").split())

    assert looked_at < left_alone / 10


@pytest.mark.parametrize(
    "settings",
    [{}, {"PORT": "0", "GUNICORN_CMD_ARGS": ""}],
    ids=["on this machine alone", "where PORT is set"],
)
def test_a_console_gets_columns_and_a_line_that_mints_a_deed(tmp_path, settings):
    with running_service(tmp_path, DEEDS_LOG="console", **settings) as service:
        service.get_status("/v1/item/deed_nobody")
        lines = service.log_text().splitlines()
        [line] = [each for each in lines if each.startswith("curl ")]
        curl, silent, url, header, media_type, data, body = shlex.split(line)
        request = urllib.request.Request(
            url, body.encode(), dict([media_type.split(": ")])
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            minted = json.load(answer)

    assert [each for each in lines if each.startswith("{")] == []
    assert [each for each in lines if CONSOLE_LINE.fullmatch(each)] != []
    assert (curl, silent, header, data) == ("curl", "-s", "-H", "-d")
    assert [output["amount"] for output in minted["outputs"]] == [5]


def test_the_check_before_gunicorn_names_what_gunicorn_would_not():
    """gunicorn reads WEB_CONCURRENCY first, and ends with a traceback."""
    checked = subprocess.run(
        [sys.executable, "gunicorn.conf.py"],
        cwd=REPOSITORY,
        env={"WEB_CONCURRENCY": "many"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert checked.returncode == 1
    assert checked.stderr == (
        "deeds cannot start: WEB_CONCURRENCY must be a whole number from 1 to 1024\n"
    )


def test_behind_a_proxy_on_a_unix_socket_clients_are_told_apart(tmp_path):
    def status_for(client):
        with socket.socket(socket.AF_UNIX) as proxy:
            proxy.connect(str(tmp_path / "socket"))
            proxy.sendall(
                b"GET /v1/item/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                b"X-Forwarded-For: %s\r\n\r\n" % client.encode()
            )
            return proxy.recv(65_536).split(b" ")[1]

    settings = {
        "DEEDS_RATE_LIMITS": "item=1/day",
        "DEEDS_TRUSTED_PROXIES": "1",
        "WEB_CONCURRENCY": "1",
        "GUNICORN_CMD_ARGS": f"--bind 127.0.0.1:0 --bind unix:{tmp_path / 'socket'}",
    }
    with running_service(tmp_path, **settings):
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
    (tmp_path / "cgroup").write_text(own_cgroups)
    for name, text in files.items():
        path = tmp_path / "mount" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    assert usable_cpus_count(tmp_path / "cgroup", tmp_path / "mount") == expected


def test_without_affinity_all_cpus_count_and_two_processes_serve_at_least(
    tmp_path, monkeypatch
):
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 4)

    assert usable_cpus_count(tmp_path / "cgroup", tmp_path / "mount") == 4

    monkeypatch.setattr("deeds.server.cpus.usable_cpus_count", lambda: 1)
    assert default_processes_count() == 2
