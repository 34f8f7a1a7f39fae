"""Runs a real gunicorn in a separate process, for tests of the whole service."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from tests.support.api import Api
from tests.support.waiting import POLL_SECONDS, wait_until

REPOSITORY = Path(__file__).parents[2]
SERVICE = "app:create_app()"

GUNICORN = (sys.executable, "-m", "gunicorn")

# A start takes one to two seconds; a loaded machine may need ten times that.
START_SECONDS_MAX = 30.0

READY_URL = re.compile(r"Listening at: http://[0-9.]+:(\d+)")


@dataclass(frozen=True, slots=True)
class Service:
    """A running service: its port, its process and the file with its output."""

    port: int
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def workers(self) -> list[psutil.Process]:
        return children(self.process.pid)

    def log_text(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    @contextmanager
    def open_api(self) -> Iterator[Api]:
        """Yield a client; its connections are closed after the block."""
        with closing(Api.of_url(self.url)) as api:
            yield api

    def get(self, path: str) -> httpx.Response:
        """Return the answer to a GET over a new connection."""
        with self.open_api() as api:
            return api.get(path)

    def send_bytes(self, data: bytes, *, timeout_s: float = 10) -> bytes:
        """Send `data` and the end of the input; return all until the service closes."""
        answer = b""
        with socket.create_connection(
            ("127.0.0.1", self.port), timeout=timeout_s
        ) as client:
            # The service may refuse and close the connection before it has read all.
            with suppress(BrokenPipeError, ConnectionResetError):
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
            with suppress(ConnectionResetError):
                while received := client.recv(65_536):
                    answer += received
        return answer


@contextmanager
def running_service(
    directory: Path,
    *,
    application: str = SERVICE,
    sources: str | Path = REPOSITORY,
    **settings: str,
) -> Iterator[Service]:
    """Run gunicorn on a free port within the block, with `settings` as environment.

    The log and, unless DATABASE_URL is set, the database are in `directory`. Another
    `application` than the service must answer /v1/info too.
    """
    settings.setdefault("DATABASE_URL", f"sqlite:///{directory / 'deeds.db'}")
    # One log per start, because the port is read from it.
    log = directory / f"service-{len(list(directory.glob('service-*.log')))}.log"
    with start_gunicorn(log, settings, application, sources) as process:
        service = wait_for_service(process, log)
        # One worker may answer before the others have started.
        count = int(settings.get("WEB_CONCURRENCY", 1))
        wait_until(lambda: len(service.workers) >= count)
        yield service


@contextmanager
def start_gunicorn(
    log: Path,
    settings: dict[str, str],
    application: str = SERVICE,
    sources: str | Path = REPOSITORY,
) -> Iterator[subprocess.Popen[bytes]]:
    """Start gunicorn without waiting; end all its processes after the block."""
    command = [*GUNICORN, application]
    with start_command(command, log, settings, sources) as process:
        yield process


@contextmanager
def start_command(
    command: list[str],
    log: Path,
    settings: dict[str, str],
    cwd: str | Path = REPOSITORY,
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command that becomes gunicorn; end all its processes after the block."""
    with (
        log.open("ab") as output,
        subprocess.Popen(
            command,
            cwd=cwd,
            env=clean_environment(settings),
            stdout=output,
            stderr=output,
            start_new_session=True,
        ) as process,
    ):
        try:
            yield process
        finally:
            # A test of a graceful stop sends the signal itself. Until the process is
            # waited for, its pid cannot be reused; afterwards its workers end by
            # themselves.
            if process.returncode is None:
                workers = children(process.pid)
                os.killpg(process.pid, signal.SIGKILL)
                # Until then they may hold the ledger.
                wait_until(lambda: all(map(has_ended, workers)))


def clean_environment(settings: dict[str, str]) -> dict[str, str]:
    """Return the variables that `make check` inherits, plus `settings`."""
    command = [str(REPOSITORY / ".ci" / "environment"), "env", "-0"]
    printed = subprocess.check_output(command, text=True).split("\0")
    inherited = dict(line.split("=", 1) for line in printed if line)
    # It belongs to the `make test` that runs this test.
    inherited.pop("MAKEFLAGS", None)
    # Set by `make mutants` to the mutant under test.
    if mutant := os.environ.get("MUTANT_UNDER_TEST"):
        inherited["MUTANT_UNDER_TEST"] = mutant
    # Port 0 lets the kernel choose a free port, so that two runs never collide.
    return inherited | {"GUNICORN_CMD_ARGS": "--bind 127.0.0.1:0"} | settings


def has_ended(process: psutil.Process) -> bool:
    """Return whether a process has closed its files, even if nobody has waited."""
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def children(pid: int) -> list[psutil.Process]:
    """Return the child processes of a process; for gunicorn, its workers."""
    started: list[psutil.Process] = psutil.Process(pid).children()
    return started


def wait_for_service(process: subprocess.Popen[bytes], log: Path) -> Service:
    """Return the service once a worker answers; fail with the log if none does."""
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline and process.poll() is None:
        time.sleep(POLL_SECONDS)
        ready = READY_URL.search(log.read_text(errors="replace"))
        if ready is None:
            continue
        service = Service(int(ready[1]), process, log)
        # The kernel accepts the connection; a worker answers it once it has started.
        with suppress(httpx.TransportError):
            if service.get("/v1/info").status_code == 200:
                return service
    text = log.read_text(errors="replace")
    raise AssertionError(f"the service did not start:\n{text}")


def children_rss_mb(pid: int) -> list[float]:
    """Return the resident memory of each child of a process, in MB of 10**6 bytes."""
    return [child.memory_info().rss / 1e6 for child in children(pid)]
