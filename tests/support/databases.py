"""Databases: marks for tests on one kind, URLs, and connections of the tests."""

import sqlite3
import subprocess
import sys
from contextlib import contextmanager
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import psycopg
import pytest

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
on_shared_sqlite = pytest.mark.parametrize("shared_url", ["sqlite"], indirect=True)

# A service that writes may hold the lock.
BUSY_TIMEOUT_S = 30


# A program that reads once and keeps the file open.
READ = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT count(*) FROM items").fetchone()
print("open", flush=True)
sys.stdin.read()
"""


class OwnConnection(psycopg.Connection):
    """A connection of the tests to PostgreSQL, which `hooks` ignore."""


def is_sqlite(url):
    return url.startswith("sqlite:")


def sqlite_path(url):
    return url.removeprefix("sqlite:///")


@contextmanager
def held_open(path):
    """Make another process read an SQLite file and keep it open within the block."""
    with subprocess.Popen(
        [sys.executable, "-c", READ, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as reader:
        try:
            assert reader.stdout.readline() == "open\n"
            yield
        finally:
            # A process that closes the file itself may write to it.
            reader.kill()


@contextmanager
def connected(url):
    """Yield a connection in autocommit mode, which `hooks` do not see."""
    if is_sqlite(url):
        connection = sqlite3.connect(
            sqlite_path(url),
            timeout=BUSY_TIMEOUT_S,
            isolation_level=None,
            factory=sqlite3.Connection,
        )
    else:
        # A pooler may give each transaction another session, so prepare no statements.
        connection = OwnConnection.connect(url, autocommit=True, prepare_threshold=None)
    try:
        yield connection
    finally:
        connection.close()


def changed_url(url, *, user=None, database=None, **options):
    """Return the URL of PostgreSQL with another user, database, or options of libpq.

    A `host` among the options replaces the host in the URL.
    """
    parts = urlsplit(url)
    old_user, _, place = parts.netloc.rpartition("@")
    if "host" in options:
        place = ""
    query = dict(parse_qsl(parts.query)) | options
    return parts._replace(
        netloc=f"{old_user if user is None else user}@{place}",
        path=parts.path if database is None else f"/{database}",
        query=urlencode(query, quote_via=quote, safe="/,"),
    ).geturl()


def database_of(url):
    """Return the name of the database in a PostgreSQL URL."""
    return urlsplit(url).path.removeprefix("/")
