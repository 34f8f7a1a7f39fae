"""Runs Debian's pgbouncer, in which each transaction may get another session."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tests.support.databases import changed_url, connected
from tests.support.needs import POSTGRES_USER
from tests.support.waiting import wait_until

_CONFIGURATION = """
[databases]
* = host={host} port={port} user={user} {password}
[pgbouncer]
unix_socket_dir = {directory}
auth_type = any
pool_mode = transaction
default_pool_size = {sessions}
max_client_conn = 500
"""


@contextmanager
def running_pgbouncer(admin_url: str, sessions_count: int = 20) -> Iterator[str]:
    """Run pgbouncer in front of a PostgreSQL server; yield its socket's directory.

    It opens at most `sessions_count` sessions per database, by default as many as
    pgbouncer itself.
    """
    server = conninfo_to_dict(admin_url)
    password = server.get("password")
    # A short path: that of a Unix socket has at most 103 characters.
    directory = tempfile.mkdtemp(prefix="deeds-pgbouncer-")
    configuration = _CONFIGURATION.format(
        host=server["host"],
        port=server.get("port", 5432),
        user=server["user"],
        password=f"password={password}" if password else "",
        directory=directory,
        sessions=sessions_count,
    )
    file = Path(directory) / "pgbouncer.ini"
    file.write_text(configuration)
    as_user = []
    if os.geteuid() == 0:
        # pgbouncer refuses to run as root.
        as_user = ["--user", POSTGRES_USER]
        shutil.chown(directory, POSTGRES_USER)
    with subprocess.Popen(["pgbouncer", "--quiet", *as_user, file], cwd="/") as process:
        try:
            wait_until(lambda: _answers(directory))
            yield directory
        finally:
            process.kill()
    shutil.rmtree(directory)


def behind(url: str, directory: str) -> str:
    """Return the URL of the same database through the pooler in this directory."""
    return changed_url(url, host=directory, port="6432")


def transactions_count(directory: str) -> int:
    """Return the number of transactions that the pooler has passed on."""
    console = behind("postgresql://any@/pgbouncer", directory)
    with connected(console) as own:
        cursor = own.execute("SHOW STATS_TOTALS")
        names = [column.name for column in cursor.description or ()]
        return sum(row[names.index("xact_count")] for row in cursor)


def _answers(directory: str) -> bool:
    try:
        transactions_count(directory)
    except psycopg.OperationalError:
        return False
    return True
