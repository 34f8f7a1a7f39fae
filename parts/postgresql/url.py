"""Parses the DATABASE_URL of a PostgreSQL database, with libpq and two rules of ours.

First, the URL must not have an "@" except the one that ends the password. Otherwise a
part of the password could become a host name, and messages show host names. Second, the
URL may have the option `prepare_threshold`, which psycopg has and libpq does not know.
"""

import re
from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from deeds.errors import StartError

# Defaults, which the URL may override. A server counts as unreachable if it does not
# acknowledge data for 10 s, or an idle connection's three keepalive probes, after 25 s.
LIBPQ_OPTIONS = {
    "connect_timeout": "2",
    "tcp_user_timeout": "10000",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
}

PREPARE_THRESHOLD = "prepare_threshold"

_URL = re.compile(r"postgres(?:ql)?(?:\+\w+)?(://(?:[^@/?\0]*@)?[^@\0]*)")
_THRESHOLD = re.compile(rf"(?<=[?&]){PREPARE_THRESHOLD}=(None|[0-9]{{1,9}})(?:&|$)")
_NAME = re.compile(r"[?&]([^=&]*)=")
_PORTS = re.compile(r"[0-9,]*")


def parse_url(text: str) -> dict[str, Any]:
    """Return the arguments of `psycopg.connect`.

    Raises StartError, whose text does not quote the password.
    """
    url = _URL.fullmatch(text)
    if url is None:
        raise StartError(
            "DATABASE_URL is not the URL of a PostgreSQL database, or has characters in"
            " the password that must be escaped: write @ as %40, / as %2F, ? as %3F"
        )
    names = _NAME.findall(url[1])
    if len(names) != len(set(names)):
        # libpq would silently use the last one.
        raise StartError("DATABASE_URL names an option twice")
    try:
        options = conninfo_to_dict(_THRESHOLD.sub("", f"postgresql{url[1]}"))
    except (psycopg.ProgrammingError, UnicodeError):
        raise StartError(
            "DATABASE_URL has options that libpq does not know, or characters in names"
            " that must be escaped with %"
        ) from None
    if not _PORTS.fullmatch(str(options.get("port", ""))):
        raise StartError("DATABASE_URL names a port that is not a number")
    # Overrides the URL, because other encodings cannot represent every text.
    options = LIBPQ_OPTIONS | options | {"client_encoding": "utf8"}
    threshold = _THRESHOLD.search(url[1])
    if threshold is not None:
        is_never = threshold[1] == "None"
        options[PREPARE_THRESHOLD] = None if is_never else int(threshold[1])
    return options


def name_of(options: Mapping[str, Any]) -> str:
    """Return where a database is: its hosts, their ports and its name."""
    host = options.get("host") or options.get("hostaddr") or "default host"
    port = f":{options['port']}" if "port" in options else ""
    return f"{host}{port}/{options.get('dbname', '')}"
