"""What the start says: where the service is, or in one line which setting is wrong."""

import json
import re
import shlex
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.support.serving import REPOSITORY, running_service, start_gunicorn
from tests.support.watched import said_at_stop

CONSOLE_LINE = re.compile(
    r"\d\d:\d\d:\d\d info     request        request_id=\w{32} route=/v1/item/<item_id> .*"
)


# Settings of gunicorn that do nothing here, and one that does.
USELESS = "--bind 127.0.0.1:0 --access-logfile - --max-requests 9 --ssl-version 2 --keep-alive 9"


def test_collections_of_garbage_do_not_look_through_what_the_start_has_made(tmp_path: Path) -> None:
    with running_service(
        tmp_path, application="tests.support.applications:create_garbage_app()"
    ) as service:
        looked_at, left_alone = map(int, service.get_text("/garbage").split())

    assert looked_at < left_alone / 10


@pytest.mark.parametrize(
    "settings",
    [{"GUNICORN_CMD_ARGS": USELESS}, {"PORT": "0", "GUNICORN_CMD_ARGS": ""}],
    ids=["on this machine alone", "where PORT is set"],
)
def test_a_console_gets_columns_and_a_line_that_mints_a_deed(
    tmp_path: Path, settings: dict[str, str]
) -> None:
    with running_service(tmp_path, DEEDS_LOG="console", **settings) as service:
        service.get_status("/v1/item/deed_nobody")
        lines = service.log_text().splitlines()
        [line] = [each for each in lines if each.startswith("curl ")]
        curl, silent, url, header, media_type, data, body = shlex.split(line)
        request = urllib.request.Request(url, body.encode(), dict([media_type.split(": ")]))
        with urllib.request.urlopen(request, timeout=10) as answer:
            minted = json.load(answer)

    assert [each for each in lines if each.startswith("{")] == []
    assert [each for each in lines if CONSOLE_LINE.fullmatch(each)] != []
    assert (curl, silent, header, data) == ("curl", "-s", "-H", "-d")
    assert [output["amount"] for output in minted["outputs"]] == [5]
    warned = "without effect here: accesslog, max_requests, ssl_version" in service.log_text()
    assert warned == (settings["GUNICORN_CMD_ARGS"] == USELESS)


def test_an_invalid_setting_of_the_server_stops_the_start_in_one_line(tmp_path: Path) -> None:
    log = tmp_path / "service.log"
    with start_gunicorn(log, {"PORT": "000000000099999"}) as process:
        assert process.wait(timeout=30) == 1

    said = "deeds cannot start: PORT must be a whole number from 0 to 65535"
    assert said_at_stop(log.read_text()) == said


def test_the_check_before_gunicorn_names_what_gunicorn_would_not() -> None:
    """gunicorn reads WEB_CONCURRENCY before its own configuration, and ends with a traceback."""
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


def test_behind_a_proxy_on_a_unix_socket_clients_are_told_apart(tmp_path: Path) -> None:
    def status_for(client: str) -> bytes:
        with socket.socket(socket.AF_UNIX) as proxy:
            proxy.connect(str(tmp_path / "socket"))
            proxy.sendall(
                b"GET /v1/item/x HTTP/1.1\r\nConnection: close\r\nX-Forwarded-For: %s\r\n\r\n"
                % client.encode()
            )
            return proxy.recv(65_536).split(b" ")[1]

    settings = {
        "DEEDS_RATE_LIMITS": "item=1/day",
        "DEEDS_TRUSTED_PROXIES": "1",
        "WEB_CONCURRENCY": "1",
        "GUNICORN_CMD_ARGS": f"--bind 127.0.0.1:0 --bind unix:{tmp_path / 'socket'}",
    }
    with running_service(tmp_path, **settings):
        statuses = [status_for(client) for client in ("192.0.2.1", "192.0.2.1", "192.0.2.2")]

    assert statuses == [b"404", b"429", b"404"]
