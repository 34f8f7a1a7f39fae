"""A gunicorn that is held at a commit, killed, and started again at the same address."""

import os
import signal
import threading
from contextlib import ExitStack
from pathlib import Path

from flask import Flask

from tests.support.at_commit import create_app_at_commit
from tests.support.serving import running_service
from tests.support.waiting import wait_until


def create_held_app() -> Flask:
    """Return the service, which stays at the moment that HOLD_FILE names until it is killed."""
    return create_app_at_commit(Path(os.environ["HOLD_FILE"]), threading.Event().wait)


class HeldService:
    """Pages know a service by its address: so it comes back at the same one."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._hold_file = directory / "hold"
        self._running = ExitStack()
        self.database_url = f"sqlite:///{directory / 'deeds.db'}"
        self.start(0)
        self.url = self._service.url

    def start(self, port: int) -> None:
        """Start it at a port and wait until it answers."""
        service = running_service(
            self._directory,
            application="tests.page.held_service:create_held_app()",
            DATABASE_URL=self.database_url,
            DEEDS_ARGON2="m=8,t=1,p=1",
            GUNICORN_CMD_ARGS=f"--bind 127.0.0.1:{port}",
            HOLD_FILE=str(self._hold_file),
            WEB_CONCURRENCY="1",
        )
        self._service = self._running.enter_context(service)

    def hold_at(self, moment: str) -> None:
        """Let the next commit stay at this moment."""
        self._hold_file.write_text(moment)

    def wait_until_held(self) -> None:
        """Wait until a commit has come so far."""
        wait_until(lambda: not self._hold_file.exists())

    def kill(self) -> None:
        """Kill all its processes at once."""
        os.killpg(self._service.process.pid, signal.SIGKILL)
        self._service.process.wait()
        self.close()

    def start_again(self) -> None:
        """Start it at the address that it had."""
        self.start(self._service.port)

    def close(self) -> None:
        """End it, if it still runs."""
        self._running.close()
