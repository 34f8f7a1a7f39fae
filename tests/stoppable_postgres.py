"""A PostgreSQL server of its own, which a test may stop and start."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.postgres import PostgresCluster, running_server


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
    with running_server() as server:
        yield StoppablePostgres(server)
