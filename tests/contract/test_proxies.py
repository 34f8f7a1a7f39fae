"""Behind proxies: whom a request counts for, and the address in links."""

import re

import pytest

from tests.support.api import Api, environ_of

PEER = "198.51.100.7"
CLIENT = "203.0.113.9"
GUESS = {"outputs": ["+1.deed_0.wrong"]}

# Proxies of ours, X-Forwarded-For, and who is counted.
SENT = {
    "no proxy, a header": (0, CLIENT, PEER),
    "one proxy and much that the client wrote": (1, "10.0.0.1," * 800 + CLIENT, CLIENT),
    "two proxies and what the client wrote": (
        2,
        f"10.0.0.1, {CLIENT}, 10.0.0.2",
        CLIENT,
    ),
    "no header": (1, "", PEER),
    "past the outer proxy": (2, CLIENT, PEER),
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

# Headers with which a client may try to be another one behind the proxy.
FORWARDED = {
    "after another address": [("X-Forwarded-For", f"10.0.0.1, {CLIENT}")],
    "after another line": [
        ("X-Forwarded-For", "10.0.0.3, 10.0.0.4"),
        ("X-Forwarded-For", CLIENT),
    ],
    "before one with underscores": [
        ("X-Forwarded-For", CLIENT),
        ("X_Forwarded_For", "10.0.0.5"),
    ],
}


@pytest.fixture
def counted(sqlite_url, open_app, caplog):
    """A function that sends a wrong secret, and returns for whom it was counted."""

    def send(proxies_count, header, address):
        app = open_app(
            environ_of(
                sqlite_url,
                DEEDS_RATE_LIMITS="failures=1/day",
                DEEDS_TRUSTED_PROXIES=str(proxies_count),
            )
        )
        headers = {"X-Forwarded-For": header}
        Api.of_app(app, address).http.post("/v1/check", json=GUESS, headers=headers)
        return re.findall("too many wrong secrets from (.+): refused", caplog.text)

    return send


@pytest.mark.parametrize(("proxies_count", "header", "client"), SENT.values(), ids=SENT)
def test_a_request_counts_for_its_client(counted, proxies_count, header, client):
    assert counted(proxies_count, header, PEER) == [client]


# Proxies of ours, X-Forwarded-For, the address that opens the connection, and for whom
# a request counts that a proxy has passed on of which the service is not told.
UNTRUSTED = {
    "this machine's": (0, CLIENT, "127.0.0.1", "127.0.0.1"),
    "a private network's": (0, CLIENT, "10.1.2.3", "10.1.2.3"),
    "a provider's": (0, CLIENT, "100.64.0.7", "100.64.0.7"),
    "IPv6": (0, CLIENT, "fd00::1", "fd00::/64"),
    "on a unix socket": (0, CLIENT, "", "-"),
    "a second one": (1, f"{CLIENT}, 10.0.0.2", "127.0.0.1", "10.0.0.2"),
    "the internet": (0, CLIENT, "8.8.8.8", None),
    "no header": (0, "", "127.0.0.1", None),
    "all are trusted": (1, "10.0.0.2", "127.0.0.1", None),
}


@pytest.mark.parametrize("case", UNTRUSTED.values(), ids=UNTRUSTED)
def test_a_proxy_that_is_not_trusted_is_said_once(sqlite_url, open_app, caplog, case):
    proxies_count, header, address, client = case
    proxies = {"DEEDS_TRUSTED_PROXIES": str(proxies_count)}
    api = Api.of_app(open_app(environ_of(sqlite_url, **proxies)), address)

    for _ in range(3):
        api.get("/v1/info", **{"X-Forwarded-For": header})

    said = [
        (each.levelname, re.findall(r"=(\d+) .* as one, (.+?);", each.getMessage()))
        for each in caplog.records
        if each.event == "proxy_not_trusted"
    ]
    assert said == ([("WARNING", [(str(proxies_count), client)])] if client else [])


def test_requests_without_an_address_count_together(counted):
    """As those from a unix socket."""
    assert counted(0, "", address="") == ["-"]


@pytest.fixture(scope="module")
def proxied(shared_service):
    """A client of a service behind a proxy, at which CLIENT has guessed too often."""
    service = shared_service(
        DEEDS_TRUSTED_PROXIES="1", DEEDS_RATE_LIMITS="failures=1/day"
    )
    with service.open_api() as api:
        api.http.post("/v1/check", json=GUESS, headers={"X-Forwarded-For": CLIENT})
        yield api


@pytest.mark.parametrize("headers", FORWARDED.values(), ids=FORWARDED)
def test_a_client_behind_the_proxy_cannot_pass_for_another(proxied, headers):
    answer = proxied.http.post("/v1/check", json=GUESS, headers=headers)

    assert answer.status_code == 429


@pytest.mark.parametrize(
    ("proxies_count", "host", "forwarded", "origin"),
    [
        (0, "[::1]:8000", "", ["http://[::1]:8000"]),
        (0, 'x"><script>', "", []),
        # By TLS where the proxy before us says so.
        (0, "a.example", "https", ["http://a.example"]),
        (1, "a.example", "https", ["https://a.example"]),
        (1, "a.example", "javascript", ["http://a.example"]),
    ],
)
def test_a_page_links_to_the_host_that_was_asked_for(
    limited, proxies_count, host, forwarded, origin
):
    api = limited("failures=off", DEEDS_TRUSTED_PROXIES=str(proxies_count))
    item = api.mint("+5.a")
    headers = {"Host": host, "X-Forwarded-Proto": forwarded}

    answer = api.http.get(f"/item/{item}", headers=headers)

    link = f'<link rel="canonical" href="(.*?)/item/{item}">'
    assert re.findall(link, answer.text) == origin
