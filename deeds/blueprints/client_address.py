"""Who sent a request, for counting: an IPv4 address, or the /64 network of an IPv6 one.

A provider gives each IPv6 customer a /64 at least, so that one who counts single addresses counts
nothing. An address only counts; nothing is ever allowed because of it.
"""

import re
from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network, ip_address

from flask import Request

# Requests that come over a unix socket have no address: they are counted as one client.
NO_ADDRESS = "-"

_IPV6_PREFIX = 64

# Some proxies write the port too: 192.0.2.1:5555 or [2001:db8::1]:5555.
_IN_BRACKETS = re.compile(r"\[([^\[\]]*)\](?::[0-9]{1,5})?")
_WITH_PORT = re.compile(r"([0-9.]{7,15}):[0-9]{1,5}")

_ADDRESSES_KEPT_MAX = 1024

# The longest form of an address, with brackets, zone and port, has fewer characters.
_LENGTH_MAX = 100


def client_of(request: Request, trusted_proxies: int) -> str:
    """Return the client of a request that came through so many proxies of ours.

    Each of those proxies adds the address that it was called from at the end of X-Forwarded-For,
    so the client's is that many places from the end. All before it was written by the client
    itself. Where there are fewer entries, or the entry is no address, the request did not come
    through our proxies: then it counts for whoever opened the connection.
    """
    if trusted_proxies:
        entries = request.headers.get("X-Forwarded-For", "").rsplit(",", trusted_proxies)
        # With a client's own entries before them, rsplit leaves those in one piece at the start.
        if len(entries) >= trusted_proxies and (named := _counted_as(entries[-trusted_proxies])):
            return named
    peer = request.remote_addr or ""
    # By far the most common case needs no parsing: the kernel wrote it.
    return (_counted_as(peer) if ":" in peer else peer) or NO_ADDRESS


def _counted_as(text: str) -> str | None:
    return _parse(text.strip()) if len(text) <= _LENGTH_MAX else None


@lru_cache(_ADDRESSES_KEPT_MAX)
def _parse(text: str) -> str | None:
    match = _IN_BRACKETS.fullmatch(text) or _WITH_PORT.fullmatch(text)
    try:
        address = ip_address(match[1] if match else text)
    except ValueError:
        return None
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(IPv6Network((int(address), _IPV6_PREFIX), strict=False))
