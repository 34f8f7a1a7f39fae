"""A PostgreSQL server of its own, which a test may stop and start."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.support.postgres import PostgresCluster, running_server
from tests.support.waiting import wait_until


class StoppablePostgres:
    """A server that only this test uses."""

    def __init__(self, server: Any) -> None:
        """Take the running server of the library."""
        self._server = server
        self.cluster = PostgresCluster(server.get_uri())

    def stop(self) -> None:
        """Cut off all connections and stop, as for a restart."""
        self._server.stop()

    def kill(self) -> None:
        """Kill all its processes at once, as a power cut would."""
        processes = [self._server.get_pid(), *_children(self._server.get_pid())]
        for pid in processes:
            with suppress(ProcessLookupError):  # One of its children that just ended.
                os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not any(map(_is_alive, processes)))

    def freeze(self) -> None:
        """Stop all its processes where they are, as a machine that hangs does."""
        self._signal_all(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let them go on."""
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, number: signal.Signals) -> None:
        # The main process first: then it starts no others meanwhile.
        os.kill(self._server.get_pid(), number)
        for pid in _children(self._server.get_pid()):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def start(self) -> None:
        """Start again at the same address and wait until it answers."""
        self._server.ensure_postgres_running()

    def restart(self) -> None:
        """Stop and start, so that connections that were open are dead."""
        self.stop()
        self.start()


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


@contextmanager
def running_stoppable_postgres() -> Iterator[StoppablePostgres]:
    """Run a server until the block ends."""
    with running_server() as server:
        yield StoppablePostgres(server)
