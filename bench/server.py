"""Starts what is measured: the service on SQLite or PostgreSQL, and the bare Flask application."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psutil import Process

from tests.support.postgres import PostgresCluster
from tests.support.serving import running_service

BARE = "bench.bare_app:create_app()"


@dataclass(frozen=True, slots=True)
class Server:
    """A running application and the processes that work for it."""

    name: str
    port: int
    master_pid: int
    postgres_pid: int | None = None


@contextmanager
def service(
    directory: Path, database_url: str, name: str, settings: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """Run the service on the database with these settings; `directory` takes its log."""
    is_postgres = database_url.startswith("postgres")
    postgres_pid = _postgres_pid(database_url) if is_postgres else None
    environment = {"DATABASE_URL": database_url, **(settings or {})}
    with running_service(_own(directory, name), **environment) as running:
        yield Server(name, running.port, running.process.pid, postgres_pid)


@contextmanager
def bare_server(directory: Path) -> Iterator[Server]:
    """Run the bare Flask application under the gunicorn settings of the service."""
    with running_service(_own(directory, "bare"), application=BARE) as running:
        yield Server("bare", running.port, running.process.pid)


def fresh_sqlite_url(directory: Path) -> str:
    """Return the DATABASE_URL of an SQLite file that is not there yet."""
    return f"sqlite:///{_own(directory, 'ledger') / 'deeds.sqlite3'}"


@contextmanager
def fresh_postgres_url(cluster: PostgresCluster) -> Iterator[str]:
    """Make a PostgreSQL database with the service's tables; drop it after the block."""
    url = cluster.create_migrated_database()
    try:
        yield url
    finally:
        cluster.drop_database(url)


def postgres_facts(database_url: str) -> dict[str, str]:
    """Return the version of PostgreSQL and the settings that durability hangs on."""
    names = ("server_version", "fsync", "synchronous_commit", "shared_buffers")
    with psycopg.connect(database_url) as connection:
        return {
            name: str(connection.execute("SELECT current_setting(%s)", [name]).fetchall()[0][0])
            for name in names
        }


def _own(directory: Path, name: str) -> Path:
    """Make a directory for one start: the port is read from its log."""
    return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=directory))


def _postgres_pid(database_url: str) -> int:
    """Return the main process of PostgreSQL: the parent of the one that serves our session."""
    with psycopg.connect(database_url) as connection:
        # Asked for, not told at the handshake: there may be a pooler in between.
        [[backend]] = connection.execute("SELECT pg_backend_pid()").fetchall()
        return int(Process(backend).ppid())
