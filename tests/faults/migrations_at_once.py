"""Runs `flask --app app deeds migrate` several times at once, so that they surely cross."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import psycopg

from tests.support.serving import REPOSITORY
from tests.support.starting import environment
from tests.support.waiting import wait_until

# Imports all that takes time, and waits for the word.
_MIGRATE = """
import sys
import alembic.command, app
from flask.cli import main
print("ready", flush=True)
sys.stdin.readline()
sys.argv = ["flask", "--app", "app", "deeds", "migrate"]
main()
"""

# The first table that a migration makes.
_FIRST_TABLE = "CREATE TABLE alembic_version ()"
_WAITING = "SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted"


class _UndoneError(Exception):
    """Ends a transaction without a trace."""


def migrate_at_once(database_url: str, count: int) -> list[tuple[int, str]]:
    """Migrate an empty PostgreSQL database by so many processes; return exit code and stderr.

    All begin while a transaction of ours has made their first table, and is undone once each of
    them waits: for it, or for one another.
    """
    with (
        ExitStack() as stack,
        psycopg.connect(database_url, autocommit=True) as connection,
    ):
        processes = [stack.enter_context(_ready_process(database_url)) for _ in range(count)]
        with suppress(_UndoneError), connection.transaction():
            connection.execute(_FIRST_TABLE)
            for process in processes:
                assert process.stdin is not None
                process.stdin.write("\n")
                process.stdin.flush()
            wait_until(lambda: connection.execute(_WAITING).fetchone() == (count,))
            raise _UndoneError
        said = [process.communicate()[1] for process in processes]
        return [(process.returncode, each) for process, each in zip(processes, said, strict=True)]


@contextmanager
def _ready_process(database_url: str) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [sys.executable, "-c", _MIGRATE],
        cwd=REPOSITORY,
        env=environment(DATABASE_URL=database_url),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()
