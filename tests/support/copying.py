"""Copies of whole databases, as backups put them back."""

import secrets
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from sqlalchemy import make_url


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_url(request):
    """The URL of a database of this test alone, on each kind."""
    if request.param == "sqlite":
        return request.getfixturevalue("sqlite_url")
    make = request.getfixturevalue("fresh_postgres_url")
    return make()


@pytest.fixture
def copy_ledger(request, tmp_path):
    """A function that copies the database at a URL and returns the copy's.

    Who is connected to it is cut off, as PostgreSQL demands.
    """
    with ExitStack() as stack:

        def copy(url):
            if url.startswith("sqlite"):
                path = tmp_path / f"copy-{secrets.token_hex(4)}.sqlite3"
                copy_sqlite(Path(make_url(url).database or ""), path)
                return f"sqlite:///{path}"
            postgres = request.getfixturevalue("postgres")
            copied = postgres.copy_database(url)
            stack.callback(postgres.drop_database, copied)
            return copied

        yield copy


@pytest.fixture
def keep_copy(request, ledger_url, copy_ledger):
    """A function that copies the ledger and returns one that puts the copy in its place."""

    def keep():
        copy = copy_ledger(ledger_url)

        def put_back():
            if ledger_url.startswith("sqlite"):
                paths = (Path(make_url(url).database or "") for url in (copy, ledger_url))
                copy_sqlite(*paths)
            else:
                request.getfixturevalue("postgres").replace_database(ledger_url, copy)

        return put_back

    return keep


def copy_sqlite(path, copy):
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
