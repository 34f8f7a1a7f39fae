"""A gunicorn that is killed with its process group and started again."""

import os
import signal
import threading
from contextlib import ExitStack

import psycopg

from tests.support.serving import SERVICE, start_gunicorn, wait_until_it_answers
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
        self._starts_count = 0
        self._running = ExitStack()
        self._is_up = threading.Event()
        self.process = None

    def begin_start(self):
        """Start it, without waiting for it."""
        self._log = self._directory / f"{id(self)}-{self._starts_count}.log"
        self._starts_count += 1
        gunicorn = start_gunicorn(self._log, self._settings, self._application)
        self.process = self._running.enter_context(gunicorn)

    def wait_until_up(self):
        """Wait until it answers; nothing else is done for it."""
        self._port = wait_until_it_answers(self.process, self._log)
        self._is_up.set()

    def start(self):
        self.begin_start()
        self.wait_until_up()

    def find_port(self):
        """Return the port, once the service is up."""
        assert self._is_up.wait(WAIT_SECONDS_MAX), "the service did not come back"
        return self._port

    def log_text(self):
        """Return what it has written since it was started last."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def kill(self):
        """Kill the whole group at once, and wait until the database has noticed."""
        self._is_up.clear()
        os.killpg(self.process.pid, signal.SIGKILL)
        self._running.close()
        wait_until_nobody_is_connected(self.database_url)

    def stop(self):
        """Stop it as an operator does, under any load; return its exit code."""
        self._is_up.clear()
        os.kill(self.process.pid, signal.SIGTERM)
        code = self.process.wait(WAIT_SECONDS_MAX)
        self._running.close()
        return code

    def close(self):
        """End it, if it still runs."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self._running.close()


def wait_until_nobody_is_connected(database_url):
    """Wait until PostgreSQL has ended the sessions of dead clients.

    A commit that was on its way when the client died is carried out: until then nobody
    can say how a swap ended.
    """
    if database_url.startswith("sqlite"):
        return
    with psycopg.connect(database_url, autocommit=True) as own:
        wait_until(lambda: own.execute(OTHER_SESSIONS).fetchone() == (0,))
