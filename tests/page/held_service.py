"""A gunicorn that is held at a commit, killed, and started again at the same address."""

import os
import signal
from contextlib import ExitStack
from pathlib import Path

from tests.support.serving import Service, running_service
from tests.support.waiting import wait_until

APPLICATION = "tests.page.held_commits:create_held_app()"


class HeldService:
    """Pages know a service by its address: so it comes back at the same one."""

    def __init__(self, directory: Path) -> None:
        """Take where its log, its database and its failpoint are."""
        self._directory = directory
        self._hold_file = directory / "hold"
        self._running = ExitStack()
        self._service: Service | None = None
        self._bind = "--bind 127.0.0.1:0"
        self.database_url = f"sqlite:///{directory / 'deeds.db'}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        self._service = self._running.enter_context(
            running_service(
                self._directory,
                application=APPLICATION,
                DATABASE_URL=self.database_url,
                GUNICORN_CMD_ARGS=self._bind,
                HOLD_FILE=str(self._hold_file),
                WEB_CONCURRENCY="1",
            )
        )
        self._bind = f"--bind 127.0.0.1:{self._service.port}"

    @property
    def url(self) -> str:
        """Return its address, without a slash at its end."""
        assert self._service is not None
        return self._service.url

    def hold_at(self, moment: str) -> None:
        """Let the next commit stay at this moment."""
        self._hold_file.write_text(moment)

    def wait_until_held(self) -> None:
        """Wait until a commit has come so far."""
        wait_until(lambda: not self._hold_file.exists())

    def kill(self) -> None:
        """Kill all its processes at once."""
        assert self._service is not None
        os.killpg(self._service.process.pid, signal.SIGKILL)
        self._service.process.wait()
        self._running.close()

    def close(self) -> None:
        """End it, if it still runs."""
        self._running.close()
