"""Starts the measured servers, and reads the CPU time of their processes."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg

from tests.support.serving import SERVICE, running_service

BARE = "bench.bare_app:create_app()"


@dataclass(frozen=True, slots=True)
class Server:
    """A running application and the processes that work for it."""

    name: str
    port: int
    pid: int
    postgres_pid: int | None

    def cpu_s(self) -> float:
        """Return the CPU seconds used so far, including those of PostgreSQL."""
        return _tree_cpu_s(self.pid) + _tree_cpu_s(self.postgres_pid)


@contextmanager
def running(
    directory: Path,
    name: str,
    url: str | None = None,
    application: str = SERVICE,
    **settings: str,
) -> Iterator[Server]:
    """Run the service, or the bare application, with its files in this directory.

    Without a URL its database is a fresh SQLite file.
    """
    url = url or sqlite_url(directory)
    if application == BARE:
        # gunicorn's own worker, with the processes and threads of the service.
        settings["GUNICORN_CMD_ARGS"] = "--bind 127.0.0.1:0 --worker-class gthread"
    postgres_pid = _postgres_pid(url) if url.startswith("postgres") else None
    settings["DATABASE_URL"] = url
    # A directory for each start: the port is read from its log.
    own = Path(tempfile.mkdtemp(dir=directory))
    with running_service(own, application=application, **settings) as started:
        yield Server(name, started.port, started.process.pid, postgres_pid)


def sqlite_url(directory: Path) -> str:
    """Return the DATABASE_URL of an SQLite file that does not exist yet."""
    return f"sqlite:///{tempfile.mkdtemp(dir=directory)}/deeds.sqlite3"


def _tree_cpu_s(pid: int | None) -> float:
    """Return the CPU seconds of a process and its descendants."""
    while pid is not None:
        root = psutil.Process(pid)
        try:
            processes = (root, *root.children(recursive=True))
            # The first four times include those of ended children that were waited for.
            return sum(sum(process.cpu_times()[:4]) for process in processes)
        except psutil.NoSuchProcess:
            # A process ended meanwhile, for example a session of PostgreSQL. Its
            # parent's times include it now, so read all again.
            continue
    return 0.0


def _postgres_pid(database_url: str) -> int:
    """Return the pid of PostgreSQL's main process, the parent of our session's."""
    with psycopg.connect(database_url) as connection:
        # By SQL, because the pid in the handshake may be a pooler's.
        [[backend]] = connection.execute("SELECT pg_backend_pid()").fetchall()
        return int(psutil.Process(backend).ppid())
