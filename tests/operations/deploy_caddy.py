"""The README's walk and the limits through deploy/Caddyfile: `make operations`.

Caddy comes as a wheel, where there is one for this machine.
"""

import json
import os
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.proxies import (
    Proxy,
    assert_hsts_in_every_answer,
    assert_walk_of_the_readme,
    free_port,
    run,
)
from tests.support.serving import REPOSITORY, running_service
from tests.support.waiting import wait_until

CADDY = Path(sys.executable).parent / "caddy"
CONFIGURATION = REPOSITORY / "deploy" / "Caddyfile"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def service(tmp_path):
    with running_service(tmp_path, DEEDS_TRUSTED_PROXIES="1") as service:
        yield service


@pytest.fixture
def trusted(tmp_path):
    """The certificate of Caddy's own authority, which signs for localhost."""
    return tmp_path / "caddy" / "pki" / "authorities" / "local" / "root.crt"


@pytest.fixture
def caddy(tmp_path, service, trusted):
    """Caddy before the service, with the example's own settings."""
    port = free_port()
    # Only what would change this machine is taken from it.
    apart = "{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n"
    file = tmp_path / "Caddyfile"
    file.write_text(CONFIGURATION.read_text().replace("{\n", apart, 1))
    environment = os.environ | {
        "SITE": f"https://localhost:{port}",
        "UPSTREAM": f"127.0.0.1:{service.port}",
        "XDG_DATA_HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path),
    }
    with (
        (tmp_path / "caddy.log").open("wb") as log,
        subprocess.Popen(
            [CADDY, "run", "--config", file], env=environment, stdout=log, stderr=log
        ) as process,
    ):
        try:
            wait_until(lambda: "certificate obtained successfully" in read_log(tmp_path))
            proxy = Proxy(process, tmp_path, 0, port, ssl.create_default_context(cafile=trusted))
            wait_until(lambda: is_served(proxy))
            yield proxy
        finally:
            process.terminate()


def is_served(proxy):
    try:
        return proxy.ask("GET", "/v1/info")[0] == 200
    except ssl.SSLError:  # The certificate is not in use yet.
        return False


def read_log(tmp_path):
    return (tmp_path / "caddy.log").read_text()


def mint(caddy, secret):
    body = json.dumps({"outputs": [f"+5.{secret}"]}).encode()
    _, _, answer = caddy.ask("POST", "/v1/mint", body, JSON)
    return json.loads(answer)["itemId"]


def test_caddy_finds_nothing_wrong_with_the_file(tmp_path):
    run(CADDY, "validate", "--config", CONFIGURATION, XDG_DATA_HOME=str(tmp_path))
    assert run(CADDY, "fmt", CONFIGURATION) == CONFIGURATION.read_text()


def test_the_walk_of_the_readme_answers_the_same_through_caddy(caddy, trusted):
    assert_walk_of_the_readme(caddy.url, trusted)


def test_no_log_and_no_file_of_caddy_holds_a_secret(caddy, service, tmp_path):
    secret = "mark-" + "7c1f9e"
    item = mint(caddy, secret)
    caddy.ask("GET", f"/v1/item/{item}?secret={secret}")
    service.process.terminate()
    service.process.wait(timeout=30)
    status, _, _ = caddy.ask("GET", f"/v1/check/+5.{item}.{secret}")

    files = [path for path in tmp_path.rglob("*") if path.is_file() and "deeds.db" not in path.name]
    assert status == 502
    assert [path.name for path in files if secret.encode() in path.read_bytes()] == []


def test_every_answer_tells_browsers_to_stay_on_tls(caddy, service):
    assert_hsts_in_every_answer(caddy, service, away_status=502)


def test_a_body_above_the_limit_is_refused(caddy):
    status, _, body = caddy.ask("POST", "/v1/mint", b" " * (1024 * 1024 + 1), JSON)

    # Caddy, which says nothing, or the service, when the length it was told gets there before
    # Caddy has read one byte too many.
    assert (status, body[:43]) in [
        (413, b""),
        (413, b'{"type":"/problems#body_too_large","title":'),
    ]


def test_a_body_that_comes_slowly_costs_the_service_no_connection(caddy, service):
    """The service closes a client after 20 s; one that Caddy holds back it does not see."""
    body = json.dumps({"outputs": ["+5.slow"]}).encode()
    connection = caddy.connect()
    connection.putrequest("POST", "/v1/mint")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders()
    connection.send(body[:-1])
    caddy.ask("GET", "/v1/info")
    held = connections_count(service.port)
    connection.send(body[-1:])
    status = connection.getresponse().status
    connection.close()

    assert (held, status) == (1, 200)


def connections_count(port):
    """Return how many connections to a port of this machine are open."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    established = "01"
    return sum(row[2] == f"0100007F:{port:04X}" and row[3] == established for row in rows)
