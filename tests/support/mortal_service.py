"""A gunicorn that is killed with its process group and started again."""

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
    """Starts, dies, and starts again; each time on a port that the kernel chooses."""

    def __init__(
        self, directory, database_url, application=SERVICE, *, workers=2, **settings
    ):
        self._directory = directory
        self.database_url = database_url
        self._application = application
        # After a fault its clients look up many outputs that are not there: guesses, to
        # a service.
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
        """Start it; without waiting, `wait_until_up` must follow before it is used."""
        # Its own for each start: the port is read from it.
        self.log = self._directory / f"{uuid4()}.log"
        gunicorn = start_gunicorn(self.log, self._settings, self._application)
        self.process = self._running.enter_context(gunicorn)
        if waits:
            self.wait_until_up()

    def wait_until_up(self):
        """Wait until it answers; nothing else is done for it."""
        self._port = wait_for_service(self.process, self.log).port
        self._is_up.set()

    def find_port(self):
        """Return the port, once the service is up."""
        assert self._is_up.wait(WAIT_SECONDS_MAX), "the service did not come back"
        return self._port

    @property
    def url(self):
        return f"http://127.0.0.1:{self.find_port()}"

    def kill(self):
        """Kill the whole group at once, and wait until the database has noticed.

        A commit that was on its way to PostgreSQL when the process died is carried out:
        until the sessions have ended nobody can say how a swap ended.
        """
        self.close()
        if self.database_url.startswith("sqlite"):
            return
        with connected(self.database_url) as own:
            wait_until(lambda: own.execute(OTHER_SESSIONS).fetchone() == (0,))

    def stop(self):
        """Stop it as an operator does, under any load; return its exit code."""
        self._is_up.clear()
        os.kill(self.process.pid, signal.SIGTERM)
        code = self.process.wait(WAIT_SECONDS_MAX)
        self.close()
        return code

    def close(self):
        """Kill it, if it still runs."""
        self._is_up.clear()
        self._running.close()
