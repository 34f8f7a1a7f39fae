"""Behind proxies: whom a request counts for, and the address in links."""

import json
import re

import pytest
from flask import Request
from werkzeug.middleware.proxy_fix import ProxyFix

from deeds.blueprints.requests import client_of
from tests.support.requests import mint

PEER = "198.51.100.7"
CLIENT = "203.0.113.9"

# Proxies of ours, X-Forwarded-For, and who is counted.
SENT = {
    "no proxy, a header": (0, CLIENT, PEER),
    "one proxy and much that the client wrote": (1, "10.0.0.1," * 800 + CLIENT, CLIENT),
    "two proxies and what the client wrote": (
        2,
        f"10.0.0.1, {CLIENT}, 10.0.0.2",
        CLIENT,
    ),
    "no header": (1, None, PEER),
    "past the outer proxy": (2, CLIENT, PEER),
    "a quotation mark before two proxies": (
        2,
        f'10.0.0.1, "x, {CLIENT}, 10.0.0.2',
        PEER,
    ),
    "a word": (1, "unknown", "-"),
    "an octal number": (1, "203.0.113.011", "-"),
    "a network": (1, "203.0.113.9/8", "-"),
    "a line end": (1, f"{CLIENT}\n10.0.0.1", "-"),
    "half a bracket": (1, "[2001:db8:1:2::99", "-"),
    "with its port": (1, f"{CLIENT}:5555", CLIENT),
    "IPv6 of the same network": (1, "2001:DB8:1:2::99", "2001:db8:1:2::/64"),
    "IPv6 with its port": (1, "[2001:db8:1:2::99]:5555", "2001:db8:1:2::/64"),
    "IPv6 with a zone": (1, "fe80::1%eth0", "fe80::/64"),
    "IPv4 written as IPv6": (1, f"::ffff:{CLIENT}", CLIENT),
}


@pytest.mark.parametrize(
    ("trusted_proxies", "header", "client"), SENT.values(), ids=SENT
)
def test_a_request_counts_for_its_client(trusted_proxies, header, client):
    environ = {"REMOTE_ADDR": PEER} | (
        {} if header is None else {"HTTP_X_FORWARDED_FOR": header}
    )
    counted = []
    app = lambda environ, _: counted.append(client_of(Request(environ)))  # noqa: E731

    (ProxyFix(app, x_for=trusted_proxies) if trusted_proxies else app)(environ, None)

    assert counted == [client]


def test_a_request_of_no_address_as_from_a_unix_socket_counts_with_the_like():
    assert client_of(Request({"REMOTE_ADDR": ""})) == "-"


def status_of_a_wrong_secret(service, *headers):
    """Check an unknown secret with these header lines, and return the status."""
    body = json.dumps({"outputs": ["+1.deed_0.wrong"]})
    lines = ["POST /v1/check HTTP/1.1", "Host: a", "Connection: close", *headers]
    lines += [
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "",
        body,
    ]
    return int(service.send_bytes("\r\n".join(lines).encode()).split()[1])


def test_a_client_behind_the_proxy_cannot_pass_for_another(gunicorn_service):
    service = gunicorn_service(
        WEB_CONCURRENCY="1",
        DEEDS_TRUSTED_PROXIES="1",
        DEEDS_RATE_LIMITS="failures=1/day",
    )

    assert status_of_a_wrong_secret(service, f"X-Forwarded-For: {CLIENT}") == 200
    for headers in (
        [f"X-Forwarded-For: {CLIENT}"],
        [f"X-Forwarded-For: 10.0.0.1, {CLIENT}"],
        ["X-Forwarded-For: 10.0.0.3, 10.0.0.4", f"X-Forwarded-For: {CLIENT}"],
        [f"X-Forwarded-For: {CLIENT}", "X_Forwarded_For: 10.0.0.5"],
        [f"x-forwarded-for: unknown, {CLIENT}"],
        [f"X-Forwarded-For: {CLIENT}:1234"],
    ):
        assert status_of_a_wrong_secret(service, *headers) == 429
    assert status_of_a_wrong_secret(service, "X-Forwarded-For: 203.0.113.10") == 200


@pytest.mark.parametrize(
    ("proxies", "host", "forwarded", "origin"),
    [
        (0, "[::1]:8000", None, "http://[::1]:8000"),
        (0, 'x"><script>', None, None),
        (0, "user@x", None, None),
        # By TLS where the proxy before us says so.
        (0, "a.example", "https", "http://a.example"),
        (1, "a.example", "https", "https://a.example"),
        (1, "a.example", "https, http", "http://a.example"),
        (1, "a.example", "javascript", "http://a.example"),
    ],
)
def test_a_page_links_to_the_host_that_was_asked_for_if_it_can_be_one(
    limited, proxies, host, forwarded, origin
):
    client = limited("failures=off", trusted_proxies=proxies)
    item = mint(client, "+5.a")
    headers = {"Host": host} | ({"X-Forwarded-Proto": forwarded} if forwarded else {})

    html = client.get(f"/item/{item}", headers=headers).text

    linked = re.search(f'<link rel="canonical" href="(.*?)/item/{item}">', html)
    assert (linked and linked[1]) == origin
