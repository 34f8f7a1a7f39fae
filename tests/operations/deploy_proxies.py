"""The README's walk and the limits through nginx.conf and Caddyfile of deploy/.

`make operations`.

nginx has to be on the machine; Caddy comes as a wheel, where there is one for it.
"""

import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
from contextlib import ExitStack, closing, suppress
from itertools import count, islice
from pathlib import Path
from threading import Thread

import pytest

from tests.support.proxies import Proxy, free_port, running_nginx
from tests.support.readme import assert_answers_as_shown, walk
from tests.support.serving import running_service
from tests.support.sources import read_text
from tests.support.waiting import wait_until

JSON = {"Content-Type": "application/json"}
KEY = {"Idempotency-Key": "a-key-of-mine-0001"}

# What signs for localhost, in the directory of each proxy, and what it answers without
# a service.
AUTHORITIES = {"nginx": "cert.pem", "caddy": "caddy/pki/authorities/local/root.crt"}
AWAY = {"nginx": 503, "caddy": 502}

TOO_LARGE = b'{"type":"/problems#body_too_large","title":'
TOO_MANY = ("too_many_requests", "1")
NO_REFUSAL = (None, None)


@pytest.fixture
def service(tmp_path):
    with running_service(tmp_path, DEEDS_TRUSTED_PROXIES="1") as service:
        yield service


@pytest.fixture
def nginx(tmp_path, service):
    """nginx before the service, with the example's own settings."""
    with running_nginx(tmp_path, [service.port]) as nginx:
        yield nginx


@pytest.fixture
def caddy(tmp_path, service):
    """Caddy before the service, with the example's own settings."""
    port = free_port()
    # Only what would change this machine is taken from it.
    apart = "{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n"
    file, log = tmp_path / "Caddyfile", tmp_path / "caddy.log"
    file.write_text(read_text("deploy/Caddyfile").replace("{\n", apart, 1))
    places = {
        "SITE": f"https://localhost:{port}",
        "UPSTREAM": f"127.0.0.1:{service.port}",
    }
    places |= dict.fromkeys(("XDG_DATA_HOME", "XDG_CONFIG_HOME"), str(tmp_path))
    command = [Path(sys.executable).parent / "caddy", "run", "--config", file]
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command, env=os.environ | places, stdout=output, stderr=output
        ) as process,
    ):
        try:
            wait_until(lambda: "certificate obtained successfully" in log.read_text())
            tls = ssl.create_default_context(cafile=tmp_path / AUTHORITIES["caddy"])
            proxy = Proxy(process, tmp_path, 0, port, tls)
            wait_until(lambda: is_served(proxy))
            yield proxy
        finally:
            process.terminate()


def is_served(proxy):
    try:
        return proxy.ask("GET", "/v1/info")[0] == 200
    except ssl.SSLError:  # The certificate is not in use yet.
        return False


@pytest.fixture(params=["nginx", "caddy"])
def kind(request):
    return request.param


@pytest.fixture
def proxy(request, kind):
    return request.getfixturevalue(kind)


def mint(proxy, secret):
    body = json.dumps({"outputs": [f"+5.{secret}"]}).encode()
    status, _, answer = proxy.ask("POST", "/v1/mint", body, JSON)
    assert status == 200, answer
    return json.loads(answer)["itemId"]


def code_of(answer):
    return json.loads(answer[2])["code"]


def stop(service):
    service.process.terminate()
    service.process.wait(timeout=30)


def test_the_walk_of_the_readme_answers_the_same_through_a_proxy(proxy, kind, tmp_path):
    trusted = str(tmp_path / AUTHORITIES[kind])
    assert_answers_as_shown(
        walk(proxy.url, "curl --http1.1 -s", CURL_CA_BUNDLE=trusted)
    )


def test_every_answer_has_hsts_and_no_file_holds_a_secret(
    proxy, kind, service, tmp_path
):
    secret = "mark-" + "7c1f9e"
    item = mint(proxy, secret)
    paths = [
        f"/v1/item/{item}?secret={secret}",
        f"/v1/check/+5.{item}.{secret}",
        "/metrics",
    ]

    said = [proxy.ask("GET", path)[:2] for path in paths]
    stop(service)
    said.append(proxy.ask("GET", f"/v1/check/+5.{item}.{secret}")[:2])

    assert [status for status, _ in said] == [200, 404, 404, AWAY[kind]]
    assert {headers["Strict-Transport-Security"] for _, headers in said} == {
        "max-age=31536000"
    }
    files = [
        path
        for path in tmp_path.rglob("*")
        if path.is_file() and "deeds.db" not in path.name
    ]
    assert [path.name for path in files if secret.encode() in path.read_bytes()] == []


def test_a_body_above_the_limit_is_refused(proxy, kind):
    status, _, body = proxy.ask("POST", "/v1/mint", b" " * (1024 * 1024 + 1), JSON)

    # Caddy says nothing, unless the length it was told gets to the service before Caddy
    # has read one byte too many.
    said = {TOO_LARGE} if kind == "nginx" else {TOO_LARGE, b""}
    assert (status, body[:43] in said) == (413, True)


def test_a_body_that_comes_slowly_costs_the_service_no_connection(caddy, service):
    """The service closes a client after 20 s.

    One that Caddy holds back it does not see.
    """
    body = json.dumps({"outputs": ["+5.slow"]}).encode()
    with closing(caddy.connect()) as connection:
        connection.putrequest("POST", "/v1/mint")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body[:-1])
        caddy.ask("GET", "/v1/info")
        rows = [
            line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        ]
        # The address of the service in hexadecimal, and the state of an open
        # connection.
        held = sum(row[2:4] == [f"0100007F:{service.port:04X}", "01"] for row in rows)
        connection.send(body[-1:])
        status = connection.getresponse().status

    assert (held, status) == (1, 200)


def test_an_item_is_served_from_the_cache_when_the_service_is_away(
    nginx, service, tmp_path
):
    item = mint(nginx, "a")
    paths = [f"/v1/item/{item}", f"/v1/item/deed_{'0' * 26}"]

    first, unknown = (nginx.ask("GET", path) for path in paths)
    stop(service)
    again, away = (nginx.ask("GET", path) for path in paths)

    assert (first[0], first[2]) == (200, again[2])
    assert (code_of(unknown), code_of(away)) == ("item_not_found", "ledger_in_doubt")
    assert f"/v1/item/{item} 200" in (tmp_path / "deeds.log").read_text()


# A list is sent in chunks.
def test_a_mint_may_have_a_quarter_of_a_megabyte(nginx):
    for headers, body in [
        ({}, b" " * 300_000),
        (KEY, b" " * 300_000),
        ({}, [b" " * 300_000]),
    ]:
        said = [
            nginx.ask("POST", f"/v1/{path}", body, JSON | headers)
            for path in ("mint", "swap")
        ]

        assert list(map(code_of, said)) == ["body_too_large", "invalid_json"]


def ask_as_each(nginx, clients, method="GET", path="/v1/info", **headers):
    """Ask as one client after the other, over one connection.

    Return codes and Retry-After.
    """
    said = []
    with closing(nginx.connect()) as connection:
        for client in clients:
            connection.request(method, path, b"", {"X-Test-Client": client} | headers)
            answer = connection.getresponse()
            said.append(
                (json.loads(answer.read()).get("code"), answer.headers["Retry-After"])
            )
    return said


@pytest.mark.parametrize("key", [{}, KEY], ids=["no key", "key"])
def test_an_address_that_mints_too_often_is_told_so_and_may_still_swap(nginx, key):
    said = ask_as_each(nginx, ["192.0.2.1"] * 30, "POST", "/v1/mint", **key)
    [(swapped, _)] = ask_as_each(nginx, ["192.0.2.1"], "POST", "/v1/swap", **key)

    codes = [code for code, _ in said]
    assert codes.count("wrong_media_type") >= 20
    assert set(codes) == {"wrong_media_type", "too_many_requests"}
    assert swapped == "wrong_media_type"


def test_addresses_of_one_ipv6_network_share_a_limit(
    nginx,
):
    def said_to(clients):
        return set(ask_as_each(nginx, islice(clients, 100)))

    assert set(ask_as_each(nginx, ["192.0.2.1"] * 300)) == {NO_REFUSAL, TOO_MANY}
    assert said_to(f"2001:db8:1:2:{n:x}::{n:x}" for n in count(1)) == {
        NO_REFUSAL,
        TOO_MANY,
    }
    assert said_to(f"2001:db8:3:{n:x}::1" for n in count(1)) == {NO_REFUSAL}
    assert said_to(f"192.0.2.{n}" for n in count(2)) == {NO_REFUSAL}


def test_another_name_gets_no_answer(nginx):
    with socket.create_connection(("127.0.0.1", nginx.http), timeout=10) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: other.example\r\n\r\n")
        assert plain.recv(65536) == b""
    with (
        socket.create_connection(("127.0.0.1", nginx.https), timeout=10) as client,
        pytest.raises(ssl.SSLError, match="unrecognized name"),
    ):
        nginx.tls.wrap_socket(client, server_hostname="other")
    with pytest.raises(http.client.RemoteDisconnected):
        nginx.ask("GET", "/v1/info", headers={"Host": "other.example"})


@pytest.fixture
def dying():
    """The ports of two servers that only close, and what they received."""
    seen = []

    def take(server):
        with suppress(OSError):
            while True:
                client, _ = server.accept()
                with client:
                    seen.append(client.recv(65536))

    with ExitStack() as closing:
        servers = [
            closing.enter_context(socket.create_server(("127.0.0.1", 0)))
            for _ in range(2)
        ]
        for server in servers:
            Thread(target=take, args=[server], daemon=True).start()
        yield [server.getsockname()[1] for server in servers], seen


@pytest.mark.parametrize(
    ("headers", "deliveries_count"),
    [({}, 1), ({"Idempotency-Key": ""}, 1), (KEY, 2)],
    ids=["no key", "empty key", "key"],
)
def test_what_a_server_has_received_goes_to_the_next_with_a_key_alone(
    dying, tmp_path, headers, deliveries_count
):
    ports, seen = dying
    with running_nginx(tmp_path, ports) as nginx:
        answer = nginx.ask("POST", "/v1/swap", b'{"inputs": []}', headers)

    assert (answer[0], code_of(answer)) == (503, "ledger_in_doubt")
    assert len(seen) == deliveries_count
    assert all(request.endswith(b'{"inputs": []}') for request in seen)


def test_what_no_server_has_received_goes_to_the_next_without_a_key(service, tmp_path):
    with running_nginx(tmp_path, [free_port(), service.port]) as nginx:
        for secret in "abcd":
            mint(nginx, secret)
