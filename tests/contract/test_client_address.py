"""Whom a request counts for, whatever it says of itself."""

import http.client
import json

import pytest
from flask import Request

from deeds.blueprints.client_address import client_of
from tests.support.serving import Service

PEER = "198.51.100.7"
CLIENT = "203.0.113.9"

# Proxies of ours, X-Forwarded-For, and who is counted.
SENT = {
    "no proxy, no header": (0, None, PEER),
    "no proxy, a header": (0, CLIENT, PEER),
    "no proxy, a long header": (0, f"10.0.0.1, {CLIENT}", PEER),
    "one proxy": (1, CLIENT, CLIENT),
    "one proxy and what the client wrote": (1, f"10.0.0.1, {CLIENT}", CLIENT),
    "one proxy and much that the client wrote": (1, "10.0.0.1," * 800 + CLIENT, CLIENT),
    "one proxy, no spaces": (1, f"10.0.0.1,{CLIENT}", CLIENT),
    "one proxy, many spaces": (1, f"10.0.0.1 ,\t {CLIENT}  ", CLIENT),
    "two proxies": (2, f"{CLIENT}, 10.0.0.2", CLIENT),
    "two proxies and what the client wrote": (2, f"10.0.0.1, {CLIENT}, 10.0.0.2", CLIENT),
    "three proxies": (3, f"10.0.0.1, {CLIENT}, 10.0.0.3, 10.0.0.2", CLIENT),
    "no header": (1, None, PEER),
    "empty header": (1, "", PEER),
    "past the outer proxy": (2, CLIENT, PEER),
    "an empty last entry": (1, f"{CLIENT},", PEER),
    "an empty entry": (2, f"{CLIENT},,10.0.0.2", PEER),
    "a word": (1, "unknown", PEER),
    "a name": (1, "client.example.org", PEER),
    "too many numbers": (1, "203.0.113.9.1", PEER),
    "a large number": (1, "203.0.113.256", PEER),
    "an octal number": (1, "203.0.113.011", PEER),
    "digits of another script": (1, "203.0.113.\u0669", PEER),
    "a network": (1, "203.0.113.9/8", PEER),
    "a long entry": (1, "1" * 5000, PEER),
    "a line end": (1, f"{CLIENT}\n10.0.0.1", PEER),
    "with its port": (1, f"{CLIENT}:5555", CLIENT),
    "IPv6": (1, "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
    "IPv6 of the same network": (1, "2001:DB8:1:2::99", "2001:db8:1:2::/64"),
    "IPv6 with its port": (1, "[2001:db8:1:2::99]:5555", "2001:db8:1:2::/64"),
    "IPv6 in brackets": (1, "[2001:db8:1:2::99]", "2001:db8:1:2::/64"),
    "IPv6 with a zone": (1, "fe80::1%eth0", "fe80::/64"),
    "IPv4 written as IPv6": (1, f"::ffff:{CLIENT}", CLIENT),
    "half a bracket": (1, "[2001:db8:1:2::99", PEER),
}


@pytest.mark.parametrize("name", SENT)
def test_a_request_counts_for_its_client(name):
    trusted_proxies, header, client = SENT[name]
    environ = {"REMOTE_ADDR": PEER}
    if header is not None:
        environ["HTTP_X_FORWARDED_FOR"] = header

    assert client_of(Request(environ), trusted_proxies) == client


@pytest.mark.parametrize(
    ("peer", "client"),
    [
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("::1", "::/64"),
        ("", "-"),
    ],
)
@pytest.mark.parametrize("trusted_proxies", [0, 1])
def test_a_request_without_proxies_counts_for_who_opened_the_connection(
    peer, client, trusted_proxies
):
    assert client_of(Request({"REMOTE_ADDR": peer}), trusted_proxies) == client


def status_of_a_wrong_secret(service: Service, *headers: tuple[str, str]) -> int:
    """Send a check of a secret that is none, with these header lines, and return the status."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=10)
    body = json.dumps({"outputs": ["+1.deed_0.wrong"]}).encode()
    try:
        connection.putrequest("POST", "/v1/check")
        for name, value in (*headers, ("Content-Type", "application/json")):
            connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_client_behind_the_proxy_cannot_pass_for_another(gunicorn_service):
    service = gunicorn_service(
        WEB_CONCURRENCY="1", DEEDS_TRUSTED_PROXIES="1", DEEDS_RATE_LIMITS="failures=1/day"
    )
    name = "X-Forwarded-For"

    assert status_of_a_wrong_secret(service, (name, CLIENT)) == 200
    tries = [
        [(name, CLIENT)],
        [(name, f"10.0.0.1, {CLIENT}")],
        [(name, "10.0.0.2"), (name, CLIENT)],
        [(name, "10.0.0.3, 10.0.0.4"), (name, CLIENT)],
        [(name, CLIENT), ("X_Forwarded_For", "10.0.0.5")],
        [("x-forwarded-for", f"unknown, {CLIENT}")],
        [(name, f"{CLIENT}:1234")],
    ]
    assert [status_of_a_wrong_secret(service, *headers) for headers in tries] == [429] * len(tries)
    assert status_of_a_wrong_secret(service, (name, "203.0.113.10")) == 200


def test_without_a_proxy_of_ours_the_header_changes_nothing(gunicorn_service):
    service = gunicorn_service(WEB_CONCURRENCY="1", DEEDS_RATE_LIMITS="failures=1/day")

    statuses = [
        status_of_a_wrong_secret(service, ("X-Forwarded-For", f"10.0.0.{n}")) for n in range(3)
    ]

    assert statuses == [200, 429, 429]
