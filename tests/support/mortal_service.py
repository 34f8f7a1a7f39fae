"""A gunicorn that can be killed with its process group and started again."""

import os
import signal
import threading
from contextlib import ExitStack
from uuid import uuid4

from tests.support.databases import connected
from tests.support.serving import SERVICE, start_gunicorn, wait_for_service
from tests.support.waiting import WAIT_SECONDS_MAX, wait_until

OTHER_SESSIONS = (
    "SELECT count(*) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


class MortalService:
    """A service that starts, dies and starts again, each time on another port."""

    def __init__(
        self, directory, database_url, application=SERVICE, *, workers=2, **settings
    ):
        self._directory = directory
        self.database_url = database_url
        self._application = application
        # After a fault clients check many unknown outputs, which count as guesses.
        self._settings = {
            "DEEDS_RATE_LIMITS": "failures=off",
            **settings,
            "DATABASE_URL": database_url,
            "WEB_CONCURRENCY": str(workers),
        }
        self._running = ExitStack()
        self._is_up = threading.Event()
        self.process = None

    def start(self, *, waits=True):
        """Start; without `waits`, call `wait_until_up` before using the service."""
        # One log per start, because the port is read from it.
        self.log = self._directory / f"{uuid4()}.log"
        gunicorn = start_gunicorn(self.log, self._settings, self._application)
        self.process = self._running.enter_context(gunicorn)
        if waits:
            self.wait_until_up()

    def wait_until_up(self):
        """Wait until the service answers."""
        self._port = wait_for_service(self.process, self.log).port
        self._is_up.set()

    def find_port(self):
        """Wait until the service is up, and return its port."""
        assert self._is_up.wait(WAIT_SECONDS_MAX), "the service did not come back"
        return self._port

    @property
    def url(self):
        return f"http://127.0.0.1:{self.find_port()}"

    def kill(self):
        """Kill the whole group, and wait until its database sessions have ended.

        PostgreSQL carries out a COMMIT that it received from a process that then died.
        """
        self.close()
        if self.database_url.startswith("sqlite"):
            return
        with connected(self.database_url) as own:
            wait_until(lambda: own.execute(OTHER_SESSIONS).fetchone() == (0,))

    def stop(self):
        """Stop with SIGTERM, as an operator does; return the exit code."""
        self._is_up.clear()
        os.kill(self.process.pid, signal.SIGTERM)
        code = self.process.wait(WAIT_SECONDS_MAX)
        self.close()
        return code

    def close(self):
        """Kill the processes, if they still run."""
        self._is_up.clear()
        self._running.close()
