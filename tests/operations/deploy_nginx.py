"""The README's walk and the limits through deploy/nginx.conf: `make operations`.

Not among the tests of `make test`, which must need no more than Python: this needs nginx.
"""

import json
import os
import re
import socket
import subprocess
from collections import Counter
from contextlib import closing
from itertools import count
from threading import Thread

import pytest

from tests.support.proxies import (
    assert_hsts_in_every_answer,
    assert_walk_of_the_readme,
    free_port,
    run,
    running_nginx,
)
from tests.support.serving import running_service

ITEM = re.compile(r"deed_[0-9a-z]{26}")


@pytest.fixture
def service(tmp_path):
    with running_service(tmp_path) as service:
        yield service


@pytest.fixture
def nginx(tmp_path, service):
    """nginx before the service, with the example's own settings."""
    with running_nginx(tmp_path, [service.port]) as nginx:
        yield nginx


@pytest.fixture
def proxy(nginx):
    """Its address."""
    return nginx.url


@pytest.fixture
def curl(tmp_path):
    def send(*arguments):
        return run("curl", "-s", *arguments, CURL_CA_BUNDLE=str(tmp_path / "cert.pem"))

    return send


def test_the_walk_of_the_readme_answers_the_same_through_nginx(proxy, tmp_path):
    assert_walk_of_the_readme(proxy, tmp_path / "cert.pem")


def mint(curl, proxy, secret):
    body = json.dumps({"outputs": [f"+5.{secret}"]})
    return curl(f"{proxy}/v1/mint", "-H", "Content-Type: application/json", "-d", body)


def test_no_log_and_no_file_of_nginx_holds_a_secret(proxy, curl, tmp_path):
    secret = "mark-" + "7c1f9e"
    item = json.loads(mint(curl, proxy, secret))["itemId"]
    curl(f"{proxy}/v1/check/+5.{item}.{secret}")
    curl(f"{proxy}/v1/item/{item}?secret={secret}")

    files = [path for path in tmp_path.rglob("*") if path.is_file() and "deeds.db" not in path.name]

    assert [path.name for path in files if secret.encode() in path.read_bytes()] == []
    assert f"/v1/item/{item} 200" in (tmp_path / "deeds.log").read_text()


def test_an_item_is_served_from_the_cache_when_the_service_is_away(proxy, curl, service):
    item = json.loads(mint(curl, proxy, "a"))["itemId"]
    first = curl(f"{proxy}/v1/item/{item}")
    unknown = curl(f"{proxy}/v1/item/deed_{'0' * 26}")

    service.process.terminate()
    service.process.wait(timeout=30)
    again = curl(f"{proxy}/v1/item/{item}")
    away = curl(f"{proxy}/v1/item/deed_{'0' * 26}")

    assert first == again
    assert json.loads(unknown)["code"] == "item_not_found"
    assert json.loads(away)["code"] == "ledger_in_doubt"


def test_a_body_above_the_limit_is_refused_in_the_services_own_shape(proxy, curl, tmp_path):
    body = tmp_path / "body"
    body.write_bytes(b" " * (1024 * 1024 + 1))

    answer = curl(f"{proxy}/v1/mint", "--data-binary", f"@{body}", "-w", " %{http_code}")

    problem, status = answer.rsplit(" ", 1)
    assert (json.loads(problem)["code"], status) == ("body_too_large", "413")


@pytest.mark.parametrize(
    "key", [(), ("-H", "Idempotency-Key: a"), ("-H", "Transfer-Encoding: chunked")]
)
def test_a_mint_may_have_a_quarter_of_a_megabyte(proxy, curl, tmp_path, key):
    json_type = ("-H", "Content-Type: application/json")
    body = tmp_path / "body"
    body.write_bytes(b" " * 300_000)

    said = {
        path: curl(f"{proxy}/v1/{path}", *json_type, *key, "--data-binary", f"@{body}")
        for path in ("mint", "swap")
    }

    assert json.loads(said["mint"])["code"] == "body_too_large"
    assert json.loads(said["swap"])["code"] == "invalid_json"


@pytest.mark.parametrize("key", [(), ("-H", "Idempotency-Key: a")])
def test_an_address_that_mints_too_often_is_told_so_and_may_still_swap(proxy, curl, key):
    said = curl(*[f"{proxy}/v1/mint"] * 30, *key, "-d", "")
    swapped = curl(f"{proxy}/v1/swap", *key, "-d", "")

    assert said.count('"code":"too_many_requests"') > 0
    assert said.count('"code":"wrong_media_type"') >= 20
    assert json.loads(swapped)["code"] == "wrong_media_type"


def test_an_address_that_asks_too_often_is_told_when_to_come_back(proxy, curl):
    urls = [f"{proxy}/v1/info"] * 300

    said = curl("-i", *urls)

    assert said.count('"code":"too_many_requests"') > 0
    assert said.lower().count("retry-after: 1") == said.count('"code":"too_many_requests"')


def statuses(nginx, clients, requests_count=100):
    """Ask as often as told, each time as the next of these addresses, and count the answers."""
    counted = Counter()
    with closing(nginx.connect()) as connection:
        for client, _ in zip(clients, range(requests_count), strict=False):
            connection.request("GET", "/v1/info", headers={"X-Test-Client": client})
            answer = connection.getresponse()
            answer.read()
            counted[answer.status] += 1
    return counted


def test_the_addresses_of_one_ipv6_network_share_a_limit_and_networks_do_not(nginx):
    one_network = statuses(nginx, (f"2001:db8:1:2:{n:x}::{n:x}" for n in count(1)))
    networks = statuses(nginx, (f"2001:db8:3:{n:x}::1" for n in count(1)))
    addresses = statuses(nginx, (f"192.0.2.{n}" for n in count(1)))

    assert one_network[429] > 0
    assert networks == addresses == {200: 100}


def test_every_answer_over_tls_tells_browsers_to_stay_there(nginx, service):
    assert_hsts_in_every_answer(nginx, service, away_status=503)


def exchange(port, request):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(request)
        return client.recv(65536)


def test_another_name_gets_no_answer(nginx, proxy, tmp_path):
    other = b"GET / HTTP/1.1\r\nHost: other.example\r\n\r\n"
    tls = ["openssl", "s_client", "-connect", f"localhost:{nginx.https}", "-servername", "other"]

    greeted = subprocess.run(tls, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    asked = subprocess.run(
        ["curl", "--http1.1", "-sS", "-H", "Host: other.example", f"{proxy}/v1/info"],
        env=os.environ | {"CURL_CA_BUNDLE": str(tmp_path / "cert.pem")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert exchange(nginx.http, other) == b""
    assert (greeted.returncode, b"unrecognized name" in greeted.stderr) == (1, True)
    assert (asked.returncode, asked.stdout) == (52, "")  # curl's "empty reply from server"


class DyingServer:
    """Takes requests and closes without an answer, as a service that is killed would."""

    def __init__(self):
        self.seen = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        Thread(target=self._take, daemon=True).start()

    def _take(self):
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            with client:
                self.seen.append(client.recv(65536))

    def close(self):
        self._socket.close()


@pytest.fixture
def dying():
    servers = [DyingServer(), DyingServer()]
    yield servers
    for server in servers:
        server.close()


@pytest.mark.parametrize(
    ("headers", "deliveries_count"),
    [({}, 1), ({"Idempotency-Key": ""}, 1), ({"Idempotency-Key": "a-key-of-mine-0001"}, 2)],
    ids=["no key", "empty key", "key"],
)
def test_what_a_server_has_received_goes_to_the_next_with_a_key_alone(
    dying, tmp_path, headers, deliveries_count
):
    with running_nginx(tmp_path, [server.port for server in dying]) as nginx:
        status, _, body = nginx.ask("POST", "/v1/swap", b'{"inputs": []}', headers)

    assert (status, json.loads(body)["code"]) == (503, "ledger_in_doubt")
    seen = [request for server in dying for request in server.seen]
    assert len(seen) == deliveries_count
    assert all(request.endswith(b'{"inputs": []}') for request in seen)


def test_what_no_server_has_received_goes_to_the_next_without_a_key(service, tmp_path):
    with running_nginx(tmp_path, [free_port(), service.port]) as nginx:
        answers = [
            nginx.ask(
                "POST",
                "/v1/mint",
                json.dumps({"outputs": [f"+5.{secret}"]}).encode(),
                {"Content-Type": "application/json"},
            )
            for secret in "abcd"
        ]

    assert [status for status, _, _ in answers] == [200] * 4
