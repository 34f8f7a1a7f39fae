"""Makes what httpx sends requests with, out of options and the environment."""

import os
from collections.abc import Mapping
from typing import Any

import httpx

from deeds_client.errors import InvalidInputError

# What httpx raises at what it cannot use.
_NOT_VALID = (httpx.InvalidURL, ImportError, OSError, ValueError)
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
# What a variable must be, by its name in small letters.
_FORMS = {
    **dict.fromkeys(_PROXIES, "a proxy such as http://proxy.example.com:3128"),
    "no_proxy": "hosts separated by commas, and ::1 without brackets",
    "ssl_cert_file": "a file of certificates",
    "sslkeylogfile": "a file that can be written",
}


def make_client(options: Mapping[str, Any]) -> httpx.Client:
    """Return a client with these options.

    Raise InvalidInputError where one of them, or a variable, is not valid.
    """
    try:
        return httpx.Client(**options)
    except _NOT_VALID as error:
        name = _name_of_variable(error)
    # What httpx says may hold the password of a proxy.
    if not name:
        raise InvalidInputError("httpx cannot work with these options or settings.")
    raise InvalidInputError(f"{name} must be {_FORMS[name.lower()]}.")


def _name_of_variable(error: Exception) -> str:
    """Return the name of the variable that is not valid, or "" for one of no name."""
    # Of two that differ in case alone, the one in small letters counts.
    names = {name.lower(): name for name in sorted(os.environ)}
    if isinstance(error, OSError):
        # Of certificates Python does not say which file it was.
        return names.get("sslkeylogfile" if error.filename else "ssl_cert_file", "")
    for kind in _PROXIES:
        if kind in names and not _is_proxy(os.environ[names[kind]]):
            return names[kind]
    return names.get("no_proxy", "")


def _is_proxy(address: str) -> bool:
    whole = address if "://" in address else f"http://{address}"
    try:
        httpx.Client(proxy=whole, trust_env=False, verify=False).close()  # noqa: S501
    except _NOT_VALID:
        return False
    return True
