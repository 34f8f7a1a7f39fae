"""DATABASE_URL of a PostgreSQL database, as libpq reads it.

Two things differ. A password ends at the last character before the first "@", whatever
it contains, so that nothing of it can become a part of a host name, which errors show.
And `prepare_threshold` is an option of psycopg, not of libpq.
"""

import re
from typing import Any
from urllib.parse import quote, unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from deeds.errors import StartError

# What libpq is told unless the URL says otherwise. A server that does not acknowledge
# what was sent, or does not answer three probes of an idle connection, counts as away:
# after 10 and 25 s.
LIBPQ_OPTIONS = {
    "connect_timeout": "2",
    "tcp_user_timeout": "10000",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
}

PREPARE_THRESHOLD = "prepare_threshold"

_URL = re.compile(
    r"postgres(?:ql)?(?:\+\w+)?://"
    r"(?:(?P<user>[^:/]*)(?P<password>:[^@]*)?@)?"
    r"(?P<place>[^?]*)(?:\?(?P<query>.*))?",
    re.DOTALL,
)

_PORTS = re.compile(r"[0-9,]*")


def parse_url(text: str) -> dict[str, Any]:
    """Return what `psycopg.connect` takes; raise StartError without the password."""
    found = _URL.fullmatch(text)
    if found is None or "\0" in text:
        raise StartError("DATABASE_URL is not the URL of a PostgreSQL database")
    user, password, place, query = found.groups(default="")
    if password and "@" in place + query:
        raise StartError("DATABASE_URL has an '@' that is not escaped: write it as %40")
    pairs = _pairs_of(query)
    threshold = pairs.pop(PREPARE_THRESHOLD, None)
    try:
        credentials = f"{_requote(user)}:{_requote(password[1:])}"
        libpq_query = "&".join(pairs.values())
        options = conninfo_to_dict(f"postgresql://{credentials}@{place}?{libpq_query}")
    except (psycopg.ProgrammingError, UnicodeError):
        raise StartError(
            "DATABASE_URL has options that libpq does not know, or characters in names"
            " that must be escaped with %"
        ) from None
    if not _PORTS.fullmatch(str(options.get("port", ""))):
        raise StartError("DATABASE_URL names a port that is not a number")
    # Whatever the URL says of the encoding: another one could not send every text.
    options = LIBPQ_OPTIONS | options | {"client_encoding": "utf8"}
    if threshold is not None:
        options[PREPARE_THRESHOLD] = _parse_threshold(threshold.partition("=")[2])
    return options


def describe(options: dict[str, Any]) -> str:
    """Return the database and its hosts for a log, without user and password."""
    database = options.get("dbname", options.get("user", "of the default name"))
    host = options.get("host", "the default host")
    port = f", port {options['port']}" if "port" in options else ""
    return f"PostgreSQL database {database} on {host}{port}"


def _pairs_of(query: str) -> dict[str, str]:
    """Return `name=value` by name; raise StartError where one comes twice."""
    pairs: dict[str, str] = {}
    for pair in filter(None, query.split("&")):
        name = pair.partition("=")[0]
        if name in pairs:
            # libpq would use the last one and say nothing.
            raise StartError("DATABASE_URL names an option twice")
        pairs[name] = pair
    return pairs


def _requote(text: str) -> str:
    """Escape what is not escaped."""
    return quote(unquote(text), safe="")


def _parse_threshold(text: str) -> int | None:
    if text == "None":
        return None
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise StartError(
            "DATABASE_URL must give prepare_threshold, if at all, as a whole number or"
            " None"
        )
    return int(text)
