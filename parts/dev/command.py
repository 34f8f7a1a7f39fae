"""The command `deeds dev`: starts the service, prints its URL, and stops it."""

import json
import logging
import os
import secrets
import signal
import subprocess
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, NoReturn

import click
import waitress

from deeds.errors import PathNotFoundError, StartError
from deeds.hashing import STRONG_COST
from deeds.part import CommandContext
from deeds.process import THREADS_COUNT, print_line
from deeds.settings import Settings
from parts.dev.clock import Clock
from parts.dev.ledger import checkpoint_of, clear_file, prepare_file
from parts.dev.service import DevService
from parts.dev.sessions import Session, Sessions

_HOST = "127.0.0.1"
_CONNECTIONS_MAX = 1000
# Linux keeps files here in memory. 32 MiB hold about 300,000 outputs; containers often
# have 64 MiB.
_MEMORY = Path("/dev/shm")  # noqa: S108  (for a directory with a random name)
_ROOM_BYTES = 32 * 2**20

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_JSON = "-H 'Content-Type: application/json'"
_LINES = f"""\
url     {{url}}
ledger  {{ledger}}
export  DEEDS_URL={{url}}
faults  curl {_JSON} -d '{{{{"next": 1, "with": "lost"}}}}' {{url}}/_dev/fail
clock   curl {_JSON} -d '{{{{"advance": 960}}}}' {{url}}/_dev/clock"""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command."""

    port: int
    ledger: Path | None
    seed: int | None
    command: str | None
    is_json: bool
    watches_stdin: bool


@click.command("dev")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=0,
    help="The port of 127.0.0.1 to listen at; by default one that is free.",
)
@click.option(
    "--ledger",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keep the ledger in a file, new or made by this command.",
)
@click.option("--seed", type=int, help="Repeat ids and salts from run to run.")
@click.option(
    "--exec",
    "command",
    metavar="COMMAND",
    help="Run a command with DEEDS_URL set, and exit as it does.",
)
@click.option(
    "--json", "is_json", is_flag=True, help="Print one line of JSON when ready."
)
@click.option(
    "--watch-stdin",
    "watches_stdin",
    is_flag=True,
    help="End when standard input ends, as it does with the program that feeds it.",
)
@click.pass_obj
def dev(context: CommandContext, /, **values: Any) -> None:
    """Serve for tests of other programs, on this machine alone.

    The ledger is temporary, Argon2 costs its minimum, nothing is limited. Requests to
    /_dev/ make the service fail, move its clock and empty its ledger.
    """
    options = Options(**values)
    if options.command is not None and (options.is_json or options.watches_stdin):
        raise StartError("--exec goes with neither --json nor --watch-stdin")
    if options.command is not None and not options.command.strip():
        raise StartError("--exec must name a command")
    _handle_signals(_exit)
    with ExitStack() as closing:
        path = _ledger_path(options, closing)
        service = _open_service(context, options, path, closing)
        url = _serve(service, options.port)
        # Runs first at the end, so that no signal interrupts the removal of the ledger.
        closing.callback(_handle_signals, signal.SIG_IGN)
        if options.command is not None:
            raise SystemExit(_run(options.command, url))
        _announce(options, url, path)
        _wait(options)


def _ledger_path(options: Options, closing: ExitStack) -> Path:
    """Return the path of the ledger, by default in a temporary directory."""
    if options.ledger is not None:
        return options.ledger.absolute()
    directory = TemporaryDirectory(
        prefix="deeds-dev-", dir=_directory_in_memory(), ignore_cleanup_errors=True
    )
    return Path(closing.enter_context(directory)).absolute() / "ledger.sqlite3"


def _directory_in_memory() -> Path | None:
    """Return a directory in memory with enough space, or None for tempfile's default.

    A mint and a reset flush 25 times to disk, which took 80 ms on a busy disk.
    """
    if os.environ.get("TMPDIR"):  # noqa: TID251  (as tempfile does)
        return None
    try:
        disk = os.statvfs(_MEMORY)
    except OSError:
        return None
    has_room = disk.f_bavail * disk.f_frsize >= _ROOM_BYTES
    return _MEMORY if has_room and os.access(_MEMORY, os.W_OK) else None


def _open_service(
    context: CommandContext, options: Options, path: Path, closing: ExitStack
) -> DevService:
    # Do not read the environment: a developer's variables are for other services.
    settings = Settings(
        database_url=f"sqlite:///{path}",
        ordinary_cost=STRONG_COST,
        checkpoint_file=checkpoint_of(path),
        processes_count=1,
        rate_limits=(),
        log_form="console",
        # Do not mix a line for each request into the output of the command.
        log_level="info" if options.command is None else "warning",
    )
    # This opens nothing yet, but root takes the rights of the directory's owner.
    ledger = context.open_ledger(settings=settings)
    prepare_file(path)

    def open_session() -> Session:
        clock = Clock()
        app = context.create_app(
            settings, clock=clock.now_ms, token_bytes=_random_bytes(options.seed)
        )
        return Session(app, clock)

    def open_empty_session() -> Session:
        ledger.database.close()
        clear_file(path)
        return open_session()

    def audit() -> dict[str, str]:
        audits = [part.audit for part in ledger.parts if part.audit is not None]
        if not audits:
            raise PathNotFoundError("no part that is installed audits a ledger")
        violations: dict[str, str] = {}
        for find_violations in audits:
            violations |= find_violations(ledger)
        return violations

    sessions = Sessions(open_session(), open_empty_session)
    closing.callback(sessions.close)
    return DevService(sessions, audit)


def _random_bytes(seed: int | None) -> Callable[[int], bytes]:
    """Return a thread-safe function that returns n random bytes."""
    if seed is None:
        return secrets.token_bytes
    return Random(seed).randbytes  # noqa: S311  (must be repeatable)


def _serve(service: DevService, port: int) -> str:
    """Serve in threads of this process; return the URL. Raises StartError."""
    # waitress's warnings name paths, and report faults that were requested.
    logging.getLogger("waitress").setLevel(logging.ERROR)
    try:
        server = waitress.create_server(
            service,
            host=_HOST,
            port=port,
            threads=THREADS_COUNT,
            connection_limit=_CONNECTIONS_MAX,
            asyncore_use_poll=True,
            ident=None,
        )
    except OSError as error:
        raise StartError(f"port {port} of {_HOST}: {error.strerror}") from None
    threading.Thread(target=server.run, name="server", daemon=True).start()
    return f"http://{_HOST}:{server.effective_port}"


def _announce(options: Options, url: str, path: Path) -> None:
    if options.is_json:
        ready = {"url": url, "ledger": str(path), "pid": os.getpid()}
        print_line(json.dumps(ready))
        return
    print_line(_LINES.format(url=url, ledger=path))


def _wait(options: Options) -> None:
    """Wait for a signal, which ends the process, or for the end of standard input."""
    if options.watches_stdin:
        while os.read(0, 4096):
            pass
        return
    while True:
        signal.pause()


def _run(command: str, url: str) -> int:
    """Run a shell command; return its exit code, or 128 plus the signal's number."""
    environ = os.environ | {"DEEDS_URL": url}  # noqa: TID251  (the command's)
    # At a terminal the command stays in the process group of this process: only there
    # may it read the terminal, and it receives Ctrl-C itself. Otherwise it gets its own
    # group, to which the signals are passed on.
    is_terminal = os.isatty(0)
    group = None if is_terminal else 0
    child: subprocess.Popen[bytes] | None = None
    early_signals: list[int] = []

    def pass_on(number: int, _frame: FrameType | None = None) -> None:
        if is_terminal and number == signal.SIGINT:
            return
        if child is None:
            early_signals.append(number)
            return
        with suppress(ProcessLookupError):
            if is_terminal:
                child.send_signal(number)
            else:
                os.killpg(child.pid, number)

    # Set before the command starts; signals that arrive earlier are passed on later.
    _handle_signals(pass_on)
    child = subprocess.Popen(  # noqa: S602  (what the user typed)
        command, shell=True, env=environ, process_group=group
    )
    for number in early_signals:
        pass_on(number)
    code = child.wait()
    return code if code >= 0 else 128 - code


def _exit(_number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(0)


def _handle_signals(handler: Any) -> None:
    """Set a handler for signals that end a process, except for those it ignores.

    `nohup` and shells make background commands ignore some signals.
    """
    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)
