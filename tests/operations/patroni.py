"""PostgreSQL on three nodes under Patroni, and HAProxy, with the files of deploy/.

Ports, paths and users differ from those files, and PostgreSQL has no TLS.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import psutil
import psycopg

from tests.support.needs import POSTGRES_USER
from tests.support.postgres import load_library
from tests.support.proxies import free_port, is_open
from tests.support.sources import read_text, replaced
from tests.support.stoppable_postgres import signal_with_children
from tests.support.waiting import WAIT_SECONDS_MAX, wait_until

NAMES = ("db1", "db2", "db3")
PASSWORD = "a-password"

SETTLED = {
    ("leader", "running"),
    ("sync_standby", "streaming"),
    ("replica", "streaming"),
}

# Patroni refuses to run as root, too. The capability lets it read the tests' Python,
# which may be readable by root only.
AS_POSTGRES = ["setpriv", "--reuid", POSTGRES_USER, "--regid", POSTGRES_USER]
AS_POSTGRES += ["--clear-groups", "--inh-caps=+dac_override"]
AS_POSTGRES += ["--ambient-caps=+dac_override"]


class PatroniNode:
    """A Patroni and the PostgreSQL that it runs, as one machine."""

    def __init__(self, name, base, bin_directory, etcd_port):
        self.name = name
        self.port, self.rest_port = free_port(), free_port()
        self.directory = base / name
        self.directory.mkdir(mode=0o700)
        self._command = [sys.executable, "-m", "patroni"]
        if os.geteuid() == 0:
            shutil.chown(self.directory, POSTGRES_USER, POSTGRES_USER)
            self._command = AS_POSTGRES + self._command
        self._file = base / f"{name}.yml"
        replacements = {
            "name: db1": f"name: {name}",
            "10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379": f"127.0.0.1:{etcd_port}",
            "10.0.0.1:8008": f"127.0.0.1:{self.rest_port}",
            "10.0.0.1:5432": f"127.0.0.1:{self.port}",
            "/usr/lib/postgresql/15/bin": str(bin_directory),
            "/var/lib/postgresql/deeds": str(self.directory / "data"),
            "/run/postgresql": str(self.directory),
            "10.0.0.0/24": "127.0.0.1/32",
            "local all postgres peer": "local all postgres trust",
            "hostssl": "host",
            "ssl: on": "ssl: off",
            "sslmode: require": "sslmode: prefer",
            # The watchdog could reset this machine.
            "mode: automatic": 'mode: "off"',
        }
        self._file.write_text(
            replaced(read_text("deploy/patroni/patroni.yml"), replacements)
        )

    def start(self):
        """Start Patroni, which starts PostgreSQL; return once Patroni answers."""
        with self._file.with_suffix(".log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._command, self._file], stdout=log, stderr=log, cwd="/"
            )
        wait_until(lambda: is_open(self.rest_port))

    def kill(self):
        """Kill Patroni and PostgreSQL at once, as a power cut would."""
        started = []
        if self._process.poll() is None:
            started = psutil.Process(self._process.pid).children(recursive=True)
            self._process.kill()
            self._process.wait()
        for process in started:  # A child may be about to start PostgreSQL.
            with suppress(psutil.NoSuchProcess):
                process.kill()
        ended = self._signal_postgres(signal.SIGKILL)
        assert psutil.wait_procs(ended, timeout=WAIT_SECONDS_MAX)[1] == []

    def freeze(self):
        """Stop all processes where they are, as a machine that hangs does."""
        self.freeze_patroni()
        self._signal_postgres(signal.SIGSTOP)

    def freeze_patroni(self):
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self._signal_postgres(signal.SIGCONT)
        self._process.send_signal(signal.SIGCONT)

    def crash_postgres(self):
        """Kill one process of PostgreSQL, which then ends all others and recovers."""
        # The oldest, because a process that was just forked has the same command line.
        postmaster = min(self._on_data(), key=psutil.Process.create_time)
        postmaster.children()[0].kill()

    def execute(self, *statements, database="postgres"):
        """Execute statements as the superuser; return the rows of the last one."""
        with psycopg.connect(
            host=str(self.directory),
            port=self.port,
            user="postgres",
            dbname=database,
            autocommit=True,
        ) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def is_serving(self):
        try:
            self.execute("SELECT")
        except psycopg.OperationalError:
            return False
        return True

    def _on_data(self):
        """Return the processes on this node's data: PostgreSQL, or a copying tool."""
        data = str(self.directory / "data")
        return [
            process
            for process in psutil.process_iter(["cmdline"])
            if data in (process.info["cmdline"] or ())
        ]

    def _signal_postgres(self, number):
        """Send a signal to PostgreSQL's processes, if it runs; return them."""
        processes = []
        for main in self._on_data():
            with suppress(psutil.NoSuchProcess):  # A tool has just ended.
                processes += signal_with_children(main, number)
        return processes


class PatroniCluster:
    """Three nodes, one of which is the leader."""

    def __init__(self, nodes):
        self.nodes = {node.name: node for node in nodes}

    def roles(self):
        """Return each node's role and state, by the first node that answers."""
        for node in self.nodes.values():
            with suppress(httpx.TransportError):
                url = f"http://127.0.0.1:{node.rest_port}/cluster"
                members = httpx.get(url, timeout=1.0, trust_env=False).json()["members"]
                return {each["name"]: (each["role"], each["state"]) for each in members}
        return {}

    def node_of(self, role, *, other_than=None):
        """Return the node with this role; wait for one other than `other_than`."""
        holders = []

        def is_held():
            for name, (held, _) in self.roles().items():
                if held == role and self.nodes[name] is not other_than:
                    holders.append(self.nodes[name])
            return holders

        wait_until(is_held, 2 * WAIT_SECONDS_MAX)
        return holders[0]

    def wait_until_settled(self):
        """Wait until one leads and both others follow, one of them synchronously."""
        wait_until(lambda: {*self.roles().values()} == SETTLED, 2 * WAIT_SECONDS_MAX)

    def switch_over(self):
        """Ask Patroni to make the synchronous standby the leader."""
        leader = self.node_of("leader")
        answer = httpx.post(
            f"http://127.0.0.1:{leader.rest_port}/switchover",
            json={"leader": leader.name},
            auth=("patroni", "change-this-1"),
            timeout=WAIT_SECONDS_MAX,
            trust_env=False,
        )
        assert answer.status_code == 200, answer.text

    def create_database(self):
        """Recreate the role and an empty database; return its URL."""
        self.node_of("leader").execute(
            "DROP DATABASE IF EXISTS deeds WITH (FORCE)",
            "DROP ROLE IF EXISTS deeds",
            f"CREATE ROLE deeds LOGIN PASSWORD '{PASSWORD}'",
            "CREATE DATABASE deeds OWNER deeds",
        )
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes.values())
        return database_url(hosts)


def database_url(hosts):
    """Return the URL of the service's database through these hosts."""
    return (
        f"postgresql://deeds:{PASSWORD}@{hosts}/deeds?target_session_attrs=read-write"
    )


@contextmanager
def running_patroni():
    """Run etcd and three nodes within the block; yield the settled cluster."""
    # A short path: that of a Unix socket has at most 103 characters.
    base = Path(tempfile.mkdtemp(prefix="deeds-patroni-"))
    library = load_library(base)
    base.chmod(0o755)
    bin_directory = Path(library.__file__).parent / "pginstall" / "bin"
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, base)
        etcd_port = stack.enter_context(_running_etcd(base))
        nodes = [PatroniNode(name, base, bin_directory, etcd_port) for name in NAMES]
        cluster = PatroniCluster(nodes)
        for node in nodes:
            node.start()
            stack.callback(node.kill)
        cluster.wait_until_settled()
        yield cluster


@contextmanager
def running_haproxy(cluster):
    """Run HAProxy in front of the cluster; yield its address."""
    port = free_port()
    replacements = {
        "    user haproxy\n    group haproxy\n": "",
        "127.0.0.1:5432": f"127.0.0.1:{port}",
        "check port 8008": "check",
    }
    for number, node in enumerate(cluster.nodes.values(), 1):
        address = f"127.0.0.1:{node.port} port {node.rest_port}"
        replacements[f"10.0.0.{number}:5432"] = address
    directory = tempfile.mkdtemp(prefix="deeds-haproxy-")
    file = Path(directory) / "haproxy.cfg"
    file.write_text(replaced(read_text("deploy/patroni/haproxy.cfg"), replacements))
    with subprocess.Popen(["haproxy", "-f", file]) as process:
        try:
            wait_until(lambda: is_open(port))
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()
    shutil.rmtree(directory)


@contextmanager
def _running_etcd(base):
    port = free_port()
    peer = f"http://127.0.0.1:{free_port()}"
    client = f"http://127.0.0.1:{port}"
    arguments = {
        "data-dir": base / "etcd",
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"default={peer}",
    }
    options = [f"--{name}={value}" for name, value in arguments.items()]
    with (
        (base / "etcd.log").open("wb") as log,
        subprocess.Popen(["etcd", *options], stdout=log, stderr=log) as process,
    ):
        try:
            wait_until(lambda: is_open(port))
            yield port
        finally:
            process.kill()
