"""deploy/nginx.conf and deploy/Caddyfile in front of the service: `make operations`.

Needs nginx. Caddy comes as a wheel.
"""

import json
import socket
import ssl
from collections import Counter
from contextlib import suppress
from pathlib import Path
from threading import Thread

import httpx
import pytest

from tests.support.doctoring import examined
from tests.support.proxies import free_port, running_caddy, running_nginx
from tests.support.readme import assert_answers_as_shown, walk

JSON = {"Content-Type": "application/json"}
KEY = {"Idempotency-Key": "a-key-of-mine-0001"}

on_nginx = pytest.mark.parametrize("proxy", [running_nginx], indirect=True)
on_caddy = pytest.mark.parametrize("proxy", [running_caddy], indirect=True)


@pytest.fixture
def service(gunicorn_service):
    return gunicorn_service(DEEDS_TRUSTED_PROXIES="1")


@pytest.fixture(params=[running_nginx, running_caddy], ids=["nginx", "caddy"])
def proxy(request, tmp_path, service):
    """A proxy in front of the service, with its file of deploy/."""
    with request.param(tmp_path, [service.port]) as proxy:
        yield proxy


@pytest.fixture
def api(proxy):
    """A client of the API, through the proxy."""
    with proxy.open_api() as api:
        yield api


def test_the_walk_of_the_readme_answers_the_same_through_a_proxy(proxy):
    trusted = str(proxy.authority)

    printed = walk(proxy.url, "curl --http1.1 -s", CURL_CA_BUNDLE=trusted)

    assert_answers_as_shown(printed)


def test_the_doctor_finds_nothing_wrong(proxy, service, monkeypatch, sqlite_url):
    monkeypatch.setenv("SSL_CERT_FILE", str(proxy.authority))
    port = proxy.http or free_port()
    monkeypatch.setattr("parts.operator.public_url.HTTP_PORT", port)
    environ = {"DATABASE_URL": sqlite_url, "DEEDS_TRUSTED_PROXIES": "1"}

    lines = examined(environ, "--url", proxy.url)

    subjects = {"TLS", "http", "service", "proxy", "metrics", "clients"}
    states = {subject: lines[subject].split()[0] for subject in subjects}
    assert states == dict.fromkeys(subjects, "ok") | {"clients": "unknown"}


def test_every_answer_has_hsts_and_no_file_holds_a_secret(api, service, tmp_path):
    secret = "mark-" + "7c1f9e"
    item = api.mint(f"+5.{secret}")
    path = f"/v1/check/+5.{item}.{secret}"

    answers = [api.get(f"/v1/item/{item}?secret={secret}"), api.get(path)]
    answers.append(api.get("/metrics"))
    service.process.terminate()
    service.process.wait(timeout=30)
    answers.append(api.get(path))

    *served, away = (answer.status_code for answer in answers)
    assert served == [200, 404, 404]
    assert away in (502, 503)
    hsts = {answer.headers["Strict-Transport-Security"] for answer in answers}
    assert hsts == {"max-age=31536000"}
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    leaks = [path.name for path in files if secret.encode() in path.read_bytes()]
    assert [name for name in leaks if "deeds.db" not in name] == []


def test_a_body_above_the_limit_is_refused(api):
    answer = api.http.post("/v1/mint", content=b" " * (1024 * 1024 + 1), headers=JSON)

    assert answer.status_code == 413
    # Caddy's own answer is empty. The service answers if it gets the Content-Length
    # before Caddy has read one byte too many.
    problem = b'{"type":"/problems#body_too_large","title":'
    assert answer.content[:43] in (problem, b"")


@on_caddy
def test_a_body_that_comes_slowly_costs_the_service_no_connection(api, service):
    """Caddy passes a request on once it is complete."""
    body = json.dumps({"outputs": ["+5.slow"]}).encode()
    # The service's address in hexadecimal, and the state of an open connection.
    open_connection = [f"0100007F:{service.port:04X}", "01"]
    connections = []

    def send_slowly():
        yield body[:-1]
        api.get("/v1/info")
        rows = Path("/proc/net/tcp").read_text().splitlines()
        connections.extend(row for row in rows if row.split()[2:4] == open_connection)
        yield body[-1:]

    length = {"Content-Length": str(len(body))}
    answer = api.http.post("/v1/mint", content=send_slowly(), headers=JSON | length)

    assert answer.status_code == 200
    assert len(connections) == 1


@on_nginx
def test_an_item_is_served_from_the_cache_when_the_service_is_away(
    api, service, tmp_path
):
    item = api.mint("+5.a")
    known, unknown = f"/v1/item/{item}", f"/v1/item/deed_{'0' * 26}"

    before = [api.get(known), api.get(unknown)]
    service.process.terminate()
    service.process.wait(timeout=30)
    after = [api.get(known), api.get(unknown)]

    assert after[0].status_code == 200
    assert after[0].content == before[0].content
    assert before[1].json()["code"] == "item_not_found"
    assert after[1].json()["code"] == "ledger_in_doubt"
    assert f"{known} 200" in (tmp_path / "deeds.log").read_text()


@on_nginx
@pytest.mark.parametrize("key", [{}, KEY], ids=["no key", "key"])
def test_a_mint_may_have_a_quarter_of_a_megabyte(api, key):
    minted, swapped = (
        api.http.post(path, content=b" " * 300_000, headers=JSON | key)
        for path in ("/v1/mint", "/v1/swap")
    )

    assert minted.json()["code"] == "body_too_large"
    assert swapped.json()["code"] == "invalid_json"


@on_nginx
@pytest.mark.parametrize(("path", "least"), [("/v1/mint", 20), ("/v1/check", 100)])
def test_an_address_that_mints_or_checks_too_often_may_still_swap(api, path, least):
    headers = {"X-Test-Client": "192.0.2.1"} | KEY

    sent = [api.http.post(path, headers=headers) for _ in range(3 * least)]
    swapped = api.http.post("/v1/swap", headers=headers)

    codes = Counter(each.json()["code"] for each in sent)
    assert codes["wrong_media_type"] >= least
    assert set(codes) == {"wrong_media_type", "too_many_requests"}
    assert swapped.json()["code"] == "wrong_media_type"


@on_nginx
@pytest.mark.parametrize(
    ("address", "expected"),
    [("2001:db8:1:2:{0:x}::{0:x}", {200, 429}), ("2001:db8:3:{0:x}::1", {200})],
    ids=["one IPv6 network", "IPv6 networks"],
)
def test_one_address_or_ipv6_network_has_a_limit(api, address, expected):
    answers = [
        api.get("/v1/info", **{"X-Test-Client": address.format(number)})
        for number in range(1, 250)
    ]

    assert {each.status_code for each in answers} == expected
    refused = [each for each in answers if each.status_code == 429]
    assert {each.json()["code"] for each in refused} <= {"too_many_requests"}
    assert {each.headers["Retry-After"] for each in refused} <= {"1"}


@on_nginx
def test_another_name_gets_no_answer(proxy, api):
    with socket.create_connection(("127.0.0.1", proxy.http), timeout=10) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: other.example\r\n\r\n")
        assert plain.recv(65536) == b""
    with (
        socket.create_connection(("127.0.0.1", proxy.https), timeout=10) as client,
        pytest.raises(ssl.SSLError, match="unrecognized name"),
    ):
        proxy.tls.wrap_socket(client, server_hostname="other")
    with pytest.raises(httpx.RemoteProtocolError):
        api.get("/v1/info", Host="other.example")


@pytest.fixture
def dying():
    """The ports of two servers that only read and close, and what they received."""
    received = []

    def serve(server):
        with suppress(OSError):
            while True:
                client, _ = server.accept()
                with client:
                    received.append(client.recv(65536))

    with (
        socket.create_server(("127.0.0.1", 0)) as first,
        socket.create_server(("127.0.0.1", 0)) as second,
    ):
        for server in (first, second):
            Thread(target=serve, args=[server], daemon=True).start()
        yield [server.getsockname()[1] for server in (first, second)], received


@pytest.mark.parametrize(
    ("headers", "deliveries_count"),
    [({"Idempotency-Key": ""}, 1), (KEY, 2)],
    ids=["empty key", "key"],
)
def test_a_request_that_a_server_received_goes_to_the_next_only_with_a_key(
    dying, tmp_path, headers, deliveries_count
):
    ports, received = dying
    body = b'{"inputs": []}'

    with running_nginx(tmp_path, ports) as nginx, nginx.open_api() as api:
        answer = api.http.post("/v1/swap", content=body, headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (503, "ledger_in_doubt")
    assert len(received) == deliveries_count
    assert all(request.endswith(body) for request in received)


def test_a_request_that_no_server_received_goes_to_the_next(service, tmp_path):
    ports = [free_port(), service.port]

    with running_nginx(tmp_path, ports) as nginx, nginx.open_api() as api:
        for secret in "abcd":
            api.mint(f"+5.{secret}")
