"""Behind proxies: whom a request counts for, and the address that links to the service have."""

import http.client
import json
import re
from contextlib import closing

import pytest
from flask import Request
from werkzeug.middleware.proxy_fix import ProxyFix

from deeds.blueprints.requests import client_of
from deeds.domain.model import Argon2Cost
from deeds.settings import Settings
from tests.support.requests import mint
from tests.support.serving import Service

PEER = "198.51.100.7"
CLIENT = "203.0.113.9"

# Proxies of ours, X-Forwarded-For, and who is counted.
SENT = {
    "no proxy, no header": (0, None, PEER),
    "no proxy, a header": (0, CLIENT, PEER),
    "one proxy": (1, CLIENT, CLIENT),
    "one proxy and what the client wrote": (1, f"10.0.0.1, {CLIENT}", CLIENT),
    "one proxy and much that the client wrote": (1, "10.0.0.1," * 800 + CLIENT, CLIENT),
    "two proxies and what the client wrote": (2, f"10.0.0.1, {CLIENT}, 10.0.0.2", CLIENT),
    "no header": (1, None, PEER),
    "empty header": (1, "", PEER),
    "past the outer proxy": (2, CLIENT, PEER),
    "a quotation mark before two proxies": (2, f'10.0.0.1, "x, {CLIENT}, 10.0.0.2', PEER),
    "a word": (1, "unknown", "-"),
    "an octal number": (1, "203.0.113.011", "-"),
    "digits of another script": (1, "203.0.113.\u0669", "-"),
    "a network": (1, "203.0.113.9/8", "-"),
    "a line end": (1, f"{CLIENT}\n10.0.0.1", "-"),
    "half a bracket": (1, "[2001:db8:1:2::99", "-"),
    "with its port": (1, f"{CLIENT}:5555", CLIENT),
    "IPv6 of the same network": (1, "2001:DB8:1:2::99", "2001:db8:1:2::/64"),
    "IPv6 with its port": (1, "[2001:db8:1:2::99]:5555", "2001:db8:1:2::/64"),
    "IPv6 with a zone": (1, "fe80::1%eth0", "fe80::/64"),
    "IPv4 written as IPv6": (1, f"::ffff:{CLIENT}", CLIENT),
}


def counted_as(trusted_proxies, environ):
    counted = []
    app = lambda environ, _: counted.append(client_of(Request(environ)))  # noqa: E731
    proxied = ProxyFix(app, x_for=trusted_proxies, x_proto=1) if trusted_proxies else app
    proxied(environ, None)
    return counted[0]


@pytest.mark.parametrize(("trusted_proxies", "header", "client"), SENT.values(), ids=SENT)
def test_a_request_counts_for_its_client(trusted_proxies, header, client):
    environ = {"REMOTE_ADDR": PEER} | ({} if header is None else {"HTTP_X_FORWARDED_FOR": header})

    assert counted_as(trusted_proxies, environ) == client


@pytest.mark.parametrize(
    ("peer", "client"),
    [
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("", "-"),  # As from a Unix socket.
    ],
)
def test_a_request_without_proxies_counts_for_its_peer(peer, client):
    assert counted_as(0, {"REMOTE_ADDR": peer}) == client


def status_of_a_wrong_secret(service: Service, *headers: tuple[str, str]) -> int:
    """Check a secret that nobody has, with these header lines, and return the status."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=10)
    body = json.dumps({"outputs": ["+1.deed_0.wrong"]}).encode()
    length = ("Content-Length", str(len(body)))
    with closing(connection):
        connection.putrequest("POST", "/v1/check")
        for name, value in (*headers, ("Content-Type", "application/json"), length):
            connection.putheader(name, value)
        connection.endheaders(body)
        return connection.getresponse().status


def test_a_client_behind_the_proxy_cannot_pass_for_another(gunicorn_service):
    service = gunicorn_service(
        WEB_CONCURRENCY="1", DEEDS_TRUSTED_PROXIES="1", DEEDS_RATE_LIMITS="failures=1/day"
    )
    name = "X-Forwarded-For"

    assert status_of_a_wrong_secret(service, (name, CLIENT)) == 200
    tries = [
        [(name, CLIENT)],
        [(name, f"10.0.0.1, {CLIENT}")],
        [(name, "10.0.0.3, 10.0.0.4"), (name, CLIENT)],
        [(name, CLIENT), ("X_Forwarded_For", "10.0.0.5")],
        [("x-forwarded-for", f"unknown, {CLIENT}")],
        [(name, f"{CLIENT}:1234")],
    ]
    assert [status_of_a_wrong_secret(service, *headers) for headers in tries] == [429] * len(tries)
    assert status_of_a_wrong_secret(service, (name, "203.0.113.10")) == 200


@pytest.mark.parametrize(
    ("proxies", "host", "forwarded", "origin"),
    [
        (0, "deeds.example.org:8080", None, "http://deeds.example.org:8080"),
        (0, "[::1]:8000", None, "http://[::1]:8000"),
        (0, 'x"><script>', None, None),
        (0, "user@x", None, None),
        (0, "x:99999", None, None),
        (0, "ex\u00e4mple", None, None),
        # By TLS where the proxy before us says so.
        (0, "a.example", "https", "http://a.example"),
        (1, "a.example", "https", "https://a.example"),
        (1, "a.example", "http", "http://a.example"),
        (1, "a.example", "https, http", "http://a.example"),
        (1, "a.example", "javascript", "http://a.example"),
        (2, "a.example", "https", "https://a.example"),
    ],
)
def test_a_page_links_to_the_host_that_was_asked_for_if_it_can_be_one(
    sqlite_url, open_app, proxies, host, forwarded, origin
):
    settings = Settings(sqlite_url, ordinary_cost=Argon2Cost(8, 1, 1), trusted_proxies=proxies)
    client = open_app(settings).test_client()
    item = mint(client, "+5.a")
    headers = {"Host": host} | ({"X-Forwarded-Proto": forwarded} if forwarded else {})

    html = client.get(f"/item/{item}", headers=headers).text

    linked = re.search(f'<link rel="canonical" href="(.*?)/item/{item}">', html)
    assert (linked and linked[1]) == origin
