"""The recipe of docs/operations/recovery.md, run as it stands: `make operations`."""

import os
import re
import shutil
import subprocess
import sys

import psycopg
import pytest

from storage.checkpoint import CheckpointFile
from tests.support.postgres import PostgresCluster, running_server
from tests.support.racing import client_of_port
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
    """The blocks of the document, run one after the other on a server of our own."""

    def __init__(self, server, settings):
        self._server = server
        self._blocks = iter(FENCE.findall(read_text("docs/operations/recovery.md")))
        data = server.pgdata
        self.replaced = {
            "cd /var/lib/postgresql/18": f"cd {data.parent}",
            "main": data.name,
            "/var/backups/deeds": f"{data.parent}/backups",
            ".venv/bin/flask": f"{sys.executable} -m flask",
        }
        self._settings = settings

    def _next(self, language):
        found, text = next(self._blocks)
        assert found == language
        for written, meant in self.replaced.items():
            text = text.replace(written, meant)
        return text

    def as_postgres(self):
        """Run the next block as the user of the server."""
        environment = {
            "PATH": f"{self._server.bin_path}:{os.environ['PATH']}",
            "PGHOST": re.search(r"host=([^&]+)", self._server.get_uri())[1],
            "PGUSER": "postgres",
        }
        self._run(cwd="/", env=environment, user=self._server.system_user)

    def as_operator(self, said=""):
        """Run the next block with the service's settings; return what it prints."""
        return self._run(
            cwd=REPOSITORY, env=clean_environment(self._settings), input=said
        )

    def _run(self, **how):
        command = ["bash", "-euc", self._next("sh")]
        return subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=True, **how
        ).stdout

    def configure(self):
        """Add the next block to the settings of the server and restart it."""
        with (self._server.pgdata / "postgresql.conf").open("a") as file:
            file.write(self._next("ini"))
        self._server.stop()
        self._server.ensure_postgres_running()


def ask(url, statement):
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(statement).fetchone()[0]


@pytest.fixture
def server():
    """A server with a directory for backups beside that of its data."""
    with running_server() as server:
        above = server.pgdata.parent
        (above / "backups").mkdir()
        if server.system_user is not None:
            # As where PostgreSQL was installed.
            shutil.chown(above, server.system_user)
            shutil.chown(above / "backups", server.system_user)
        yield server


def test_a_ledger_goes_back_to_a_moment_once_that_is_accepted(server, tmp_path):
    url = PostgresCluster(server.get_uri()).create_migrated_database()
    file = CheckpointFile(tmp_path / "checkpoint")
    settings = {"DATABASE_URL": url, "DEEDS_CHECKPOINT_FILE": str(file.path)}
    recipe = Recipe(server, settings)
    for step in (recipe.as_postgres, recipe.configure, recipe.as_postgres):
        step()
    with (
        running_service(tmp_path, **settings) as service,
        client_of_port(service.port) as send,
    ):
        item = send("/v1/mint", {"outputs": ["+5.a"]})[1]["itemId"]
        a, b, c = (f"+5.{item}.{secret}" for secret in "abc")
        assert send("/v1/swap", {"inputs": [a], "outputs": [b]})[0] == 200
        recipe.replaced["2026-11-22 10:00:00+00"] = str(
            ask(url, "SELECT clock_timestamp()")
        )
        # Some of the log is in the archive, the rest beside the database alone.
        ask(url, "SELECT pg_switch_wal()")
        wait_until(lambda: ask(url, "SELECT archived_count FROM pg_stat_archiver") > 1)
        assert send("/v1/swap", {"inputs": [b], "outputs": [c]})[0] == 200
        wait_until(lambda: file.read().operation_id == 3)

    StoppablePostgres(server).kill()
    recipe.as_postgres()
    # Sockets lie elsewhere but for this library: the backup has the lock of one.
    for lock in server.pgdata.glob(".s.PGSQL.*.lock"):
        lock.unlink()
    server.ensure_postgres_running()
    wait_until(lambda: not ask(url, "SELECT pg_is_in_recovery()"))

    audited = recipe.as_operator()
    with start_gunicorn(tmp_path / "refused.log", settings) as refused:
        assert refused.wait(timeout=30) != 0
    told = recipe.as_operator(said="accept\n")
    with (
        running_service(tmp_path, **settings) as service,
        client_of_port(service.port) as send,
    ):
        answer = 200, {"states": ["spent", "unspent", "unknown"]}
        assert send("/v1/check", {"outputs": [a, b, c]}) == answer
    recipe.as_postgres()

    assert "Every invariant holds." in audited
    assert (
        "ends at operation 2: this is an older copy"
        in (tmp_path / "refused.log").read_text()
    )
    assert "accepted: the ledger continues after operation 2" in told
