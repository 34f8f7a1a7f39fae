"""The commands of `deeds` that look after a ledger, and what they print.

The modules that they call print nothing.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from time import monotonic, sleep

import click

from deeds.errors import NoFreeConnectionError, StartError
from deeds.part import CommandContext, Ledger
from deeds.process import print_line
from deeds.raw_output import make_strong_secret
from deeds.settings import Settings
from parts.operator.audit import audit, count_ledger, count_policies
from parts.operator.backup import back_up, restore
from parts.operator.copy_to import copy_to
from storage.files import has_content
from storage.schema import check_versions, migrate
from storage.sqlite import sqlite_path

# Secrets printed by one call: more than anyone mints at once, and still printed in a
# moment.
SECRETS_COUNT_MAX = 10_000

# How long a migration waits for a free connection. The old processes may hold all of
# them until they stop, or until they close idle ones.
MIGRATE_WAIT_S = 60.0
MIGRATE_RETRY_S = 1.0


@click.command("audit")
@click.pass_obj
def run_audit(context: CommandContext) -> None:
    """Check every invariant of the ledger. The service may run meanwhile.

    Exits with code 1 if one is violated.
    """
    ledger = context.open_ledger()
    _check_ledger(ledger)
    _inspect(ledger)


@click.command("stats")
@click.pass_obj
def show_stats(context: CommandContext) -> None:
    """Count items, operations, offers and outputs, and show the size on disk."""
    ledger = context.open_ledger()
    _check_ledger(ledger)
    with ledger.database.snapshot() as read:
        counts = count_ledger(read, ledger.parts)
    _show(counts | {"bytes on disk": ledger.database.bytes_on_disk()})


@click.command("policies")
@click.pass_obj
def show_policies(context: CommandContext) -> None:
    """Show how the secrets of items are hashed: costs, and peppers to be kept."""
    ledger = context.open_ledger("ordinary_cost", "pepper")
    _check_ledger(ledger)
    print_line(f"{'cost':20} {'pepper':16} {'items':>13}")
    for policy, items_count in count_policies(ledger.database):
        current = "  current" if policy == ledger.settings.hash_policy else ""
        pepper = policy.pepper_fingerprint or "none"
        print_line(f"{policy!s:20} {pepper:16} {items_count:>13,}{current}")


@click.command("secret")
@click.option(
    "--count", type=click.IntRange(1, SECRETS_COUNT_MAX), default=1, show_default=True
)
def print_secrets(count: int) -> None:
    """Print new strong secrets, one per line. Needs no database."""
    for _ in range(count):
        print_line(make_strong_secret())


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@click.pass_obj
def run_backup(context: CommandContext, file: Path) -> None:
    """Copy the ledger into FILE, which must not exist.

    The service may run meanwhile. The copy is audited before it appears. It holds no
    pepper: keep those elsewhere.
    """
    ledger = context.open_ledger()
    _require_sqlite(ledger)
    _check_ledger(ledger)
    with _one_line_errors(file):
        last_id = back_up(ledger, file, _inspect_copy)
    print_line(f"{file} holds the ledger up to operation {last_id}.")


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--new", "is_new", is_flag=True, help="There is no ledger there yet.")
@click.pass_obj
def run_restore(
    context: CommandContext,
    file: Path,
    is_new: bool,  # noqa: FBT001  (of click)
) -> None:
    """Replace the ledger by the backup FILE, and rename the old ledger.

    The service must not be running. A backup that is older than the ledger must be
    accepted before it is served: secrets spent since can be spent again.
    """
    ledger = context.open_ledger()
    _require_sqlite(ledger)
    with _one_line_errors(file):
        last_id, old_ledger = restore(ledger, file, _inspect_copy, is_new=is_new)
    print_line(f"Restored {file} to {ledger.database.name}, up to operation {last_id}.")
    if old_ledger is not None:
        print_line(f"The ledger that was there is now {old_ledger}.")
    try:
        ledger.database.check_start()
    except StartError as stop:
        print_line(stop.reason)


@click.command("migrate")
@click.pass_obj
def run_migrate(context: CommandContext) -> None:
    """Create the database's tables, or upgrade them to this version.

    Waits up to 60 seconds for a free connection to PostgreSQL.
    """
    ledger = context.open_ledger()
    changes = _migrate(ledger)
    print_line(f"The ledger is {ledger.database.name}.")
    for line in changes or ["the tables need no upgrade"]:
        print_line(line)


@click.command("copy-to")
@click.argument("url")
@click.pass_obj
def run_copy_to(context: CommandContext, url: str) -> None:
    """Move the SQLite ledger into the empty PostgreSQL database at URL.

    The service must not be running. From then on no service starts on the old file.
    If it is interrupted, run it again. Do not write a password in the URL, which other
    users can see: set PGPASSFILE.
    """
    if not url.startswith("postgres"):
        raise click.ClickException("URL must name a PostgreSQL database")
    with _url_errors():
        # Open it first: the next line takes the rights of the ledger's owner, who may
        # not be permitted to import the driver.
        target = context.open_ledger(settings=Settings(database_url=url))
    ledger = context.open_ledger()
    _require_sqlite(ledger)
    _check_ledger(ledger)
    path = sqlite_path(ledger.settings.database_url)
    with _one_line_errors(path), _url_errors():
        copy_to(ledger, target, _inspect_by_name, _show_progress)
    print_line(
        f"The ledger is now {target.database.name}: let DATABASE_URL be this URL."
    )
    print_line(f"No service starts on {ledger.database.name} any more.")


COMMANDS = (
    run_audit,
    show_stats,
    show_policies,
    print_secrets,
    run_backup,
    run_restore,
    run_copy_to,
    run_migrate,
)


def _show_progress(table: str, rows_count: int) -> None:
    # Standard error may be closed.
    with suppress(OSError):
        click.echo(f"rows copied into {table}: {rows_count:,}", err=True)


def _migrate(ledger: Ledger) -> list[str]:
    """Return a line for each change; wait while the database has no free connection."""
    deadline_s = monotonic() + MIGRATE_WAIT_S
    has_warned = False
    while True:
        try:
            return migrate(ledger.database, ledger.schemas)
        except NoFreeConnectionError as error:
            wait = f"{MIGRATE_WAIT_S:.0f} s for a free connection"
            if monotonic() >= deadline_s:
                raise StartError(f"{error.reason}; waited {wait}") from None
            if not has_warned:
                has_warned = True
                # Standard error may be closed.
                with suppress(OSError):
                    click.echo(f"{error}; waiting up to {wait}", err=True)
        sleep(MIGRATE_RETRY_S)


def _check_ledger(ledger: Ledger) -> None:
    """Raise StartError unless there is a ledger that this code may serve."""
    if _is_sqlite(ledger):
        path = sqlite_path(ledger.settings.database_url)
        if not has_content(path):
            raise StartError(f"DATABASE_URL: there is no ledger at {path.absolute()}")
    check_versions(ledger.database, ledger.schemas, may_be_moved=True)


def _is_sqlite(ledger: Ledger) -> bool:
    return ledger.settings.database_url.startswith("sqlite")


def _require_sqlite(ledger: Ledger) -> None:
    if not _is_sqlite(ledger):
        raise click.ClickException(
            "this command copies SQLite files; for PostgreSQL use pg_dump and"
            " pg_restore, or point-in-time recovery"
        )


@contextmanager
def _one_line_errors(path: Path) -> Iterator[None]:
    """Turn errors of the file at a path into a ClickException of one line."""
    try:
        yield
    except StartError as error:
        reason = error.reason.removeprefix("DATABASE_URL: ")
        raise click.ClickException(f"{path}: {reason}") from None
    except OSError as error:
        raise click.ClickException(
            f"{error.filename or path}: {error.strerror}"
        ) from None
    except sqlite3.Error as error:
        raise click.ClickException(f"{path}: {error}") from None


@contextmanager
def _url_errors() -> Iterator[None]:
    """Turn a StartError into a ClickException that names the argument URL."""
    try:
        yield
    except StartError as error:
        reason = error.reason.removeprefix("DATABASE_URL: ")
        raise click.ClickException(reason.replace("DATABASE_URL", "URL")) from None


def _inspect(ledger: Ledger, consequence: str = "") -> None:
    """Audit a ledger and print its counts; raise ClickException for violations.

    The message of the exception begins with the consequence.
    """
    report = audit(ledger)
    if report.violations:
        lines = [f"{consequence}the ledger violates these invariants:"]
        for invariant, places in report.violations.items():
            lines.append(f"  {invariant}: {places}")
        raise click.ClickException("\n".join(lines))
    _show(report.counts)
    for remark in report.remarks:
        print_line(f"Note: {remark}")
    print_line("Every invariant holds.")


def _inspect_by_name(ledger: Ledger) -> None:
    print_line(f"{ledger.database.name}:")
    _inspect(ledger)


_inspect_copy = partial(_inspect, consequence="the copy is not used: ")


def _show(counts: Mapping[str, int]) -> None:
    for name, count in counts.items():
        print_line(f"{name.replace('_', ' '):<16} {count:>15,}")
