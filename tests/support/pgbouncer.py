"""Debian's pgbouncer: each transaction may get another session."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from sqlalchemy import make_url

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
    """Run pgbouncer before the server of a PostgreSQL URL.

    Yield the directory of its socket.

    It opens so many sessions for each database: 20 is its own default.
    """
    url = make_url(admin_url)
    # Short: the path of a unix socket has at most 103 characters.
    directory = tempfile.mkdtemp(prefix="deeds-pgbouncer-")
    configuration = _CONFIGURATION.format(
        host=url.host or url.query["host"],
        port=url.port or 5432,
        user=url.username,
        password=f"password={url.password}" if url.password else "",
        directory=directory,
        sessions=sessions_count,
    )
    file = Path(directory) / "pgbouncer.ini"
    file.write_text(configuration)
    as_user = []
    if os.geteuid() == 0:
        # Nor does this program run as root.
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
    """Return the URL of the same database through the pooler of this socket."""
    socket = {"host": directory, "port": "6432"}
    pooled = make_url(url).set(host=None, port=None).update_query_dict(socket)
    return pooled.render_as_string(hide_password=False)


def transactions_count(directory: str) -> int:
    """Return how many transactions it has passed on."""
    console = behind("postgresql://any@/pgbouncer", directory)
    with psycopg.connect(console, autocommit=True) as own:
        cursor = own.execute("SHOW STATS_TOTALS")
        names = [column.name for column in cursor.description or ()]
        return sum(row[names.index("xact_count")] for row in cursor)


def _answers(directory: str) -> bool:
    try:
        transactions_count(directory)
    except psycopg.OperationalError:
        return False
    return True
