"""The recipe of docs/operations/recovery.md, run unchanged: `make operations`."""

import os
import re
import shutil
import sys

import pytest

from tests.support.commanding import printed_by
from tests.support.databases import connected
from tests.support.postgres import PostgresCluster, running_server
from tests.support.readme import FENCE
from tests.support.serving import (
    REPOSITORY,
    clean_environment,
    running_service,
    start_gunicorn,
)
from tests.support.sources import read_text
from tests.support.stoppable_postgres import StoppablePostgres
from tests.support.waiting import wait_until


class Recipe:
    """The blocks of the document, run one after the other on a server of this test."""

    def __init__(self, server, settings):
        self._server = server
        self._blocks = iter(FENCE.findall(read_text("docs/operations/recovery.md")))
        data = server.pgdata
        self.replacements = {
            "cd /var/lib/postgresql/18": f"cd {data.parent}",
            "main": data.name,
            "/var/backups/deeds": f"{data.parent}/backups",
            ".venv/bin/python": sys.executable,
        }
        environment = {
            "PATH": f"{server.bin_path}:{os.environ['PATH']}",
            "PGHOST": re.search(r"host=([^&]+)", server.get_uri())[1],
            "PGUSER": "postgres",
        }
        self.as_postgres = {"cwd": "/", "env": environment, "user": server.system_user}
        self.as_operator = {"cwd": REPOSITORY, "env": clean_environment(settings)}

    def _next(self, language):
        """Return the next block, with the paths of this server."""
        block_language, text = next(self._blocks)
        assert block_language == language
        for old, new in self.replacements.items():
            text = text.replace(old, new)
        return text

    def run_next(self, user, stdin=""):
        """Run the next block as one of the users; return what it prints."""
        return printed_by("bash", "-euc", self._next("sh"), input=stdin, **user)

    def prepare(self):
        """Run the first blocks: the server archives its WAL and is backed up."""
        self.run_next(self.as_postgres)
        with (self._server.pgdata / "postgresql.conf").open("a") as file:
            file.write(self._next("ini"))
        self._server.stop()
        self._server.ensure_postgres_running()
        self.run_next(self.as_postgres)


def ask(url, statement):
    with connected(url) as connection:
        return connection.execute(statement).fetchone()[0]


@pytest.fixture
def server():
    """A server with a directory for backups beside its data."""
    with running_server() as server:
        parent = server.pgdata.parent
        (parent / "backups").mkdir()
        if server.system_user is not None:
            # As after an installation of PostgreSQL.
            shutil.chown(parent, server.system_user)
            shutil.chown(parent / "backups", server.system_user)
        yield server


def test_a_ledger_goes_back_to_a_moment_once_that_is_accepted(server, tmp_path):
    url = PostgresCluster(server.get_uri()).create_migrated_database()
    checkpoint = tmp_path / "checkpoint"
    settings = {"DATABASE_URL": url, "DEEDS_CHECKPOINT_FILE": str(checkpoint)}
    recipe = Recipe(server, settings)
    recipe.prepare()
    with (
        running_service(tmp_path, **settings) as service,
        service.open_api() as api,
    ):
        item = api.mint("+5.a")
        a, b, c = (f"+5.{item}.{secret}" for secret in "abc")
        assert api.swap([a], [b]).status_code == 200
        recipe.replacements["2026-11-22 10:00:00+00"] = str(
            ask(url, "SELECT clock_timestamp()")
        )
        # The archive gets a part of the WAL; the rest is only beside the database.
        ask(url, "SELECT pg_switch_wal()")
        wait_until(lambda: ask(url, "SELECT archived_count FROM pg_stat_archiver") > 1)
        assert api.swap([b], [c]).status_code == 200
        wait_until(lambda: checkpoint.exists() and " 3 " in checkpoint.read_text())

    StoppablePostgres(server).kill()
    recipe.run_next(recipe.as_postgres)
    # This library puts the socket among the data, so the backup contains its lock.
    for lock in server.pgdata.glob(".s.PGSQL.*.lock"):
        lock.unlink()
    server.ensure_postgres_running()
    wait_until(lambda: not ask(url, "SELECT pg_is_in_recovery()"))

    audited = recipe.run_next(recipe.as_operator)
    with start_gunicorn(tmp_path / "refused.log", settings) as refused:
        assert refused.wait(timeout=30) != 0
    accepted = recipe.run_next(recipe.as_operator, stdin="accept\n")
    with (
        running_service(tmp_path, **settings) as service,
        service.open_api() as api,
    ):
        states = api.check(a, b, c)
    recipe.run_next(recipe.as_postgres)

    assert states == ["spent", "unspent", "unknown"]
    assert "Every invariant holds." in audited
    assert (
        "is not in the ledger: this is an older copy"
        in (tmp_path / "refused.log").read_text()
    )
    assert "accepted: the ledger continues after operation 2" in accepted
