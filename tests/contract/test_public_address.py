"""The scheme and host of the links that others follow: from the request and our own proxies."""

import pytest
from flask import Request
from werkzeug.test import create_environ

from deeds.page.public_address import public_origin


def origin(trusted_proxies, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    environ = create_environ("/", "http://127.0.0.1:8000", headers=named)
    return public_origin(Request(environ), trusted_proxies)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("deeds.example.org", "http://deeds.example.org"),
        ("deeds.example.org:8080", "http://deeds.example.org:8080"),
        ("127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("[::1]:8000", "http://[::1]:8000"),
        ('x"><script>', None),
        ("x/y", None),
        ("user@x", None),
        ("a b", None),
        ("x:99999", None),
        ("ex\u00e4mple", None),
    ],
)
def test_the_host_is_that_of_the_request_if_it_can_be_one(host, expected):
    assert origin(0, Host=host) == expected


@pytest.mark.parametrize(
    ("proxies", "forwarded", "scheme"),
    [
        (0, "https", "http"),
        (1, "https", "https"),
        (1, " HTTPS ", "https"),
        (1, "http", "http"),
        (1, "", "http"),
        (1, "https, http", "http"),
        (1, "javascript", "http"),
        (2, "https, http", "https"),
        (2, "https, http, http", "http"),
    ],
)
def test_tls_is_what_proxies_of_ours_say_and_nobody_else(proxies, forwarded, scheme):
    found = origin(proxies, Host="deeds.example.org", X_Forwarded_Proto=forwarded)

    assert found == f"{scheme}://deeds.example.org"
