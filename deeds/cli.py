"""The commands of `flask --app app deeds`."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click
from flask.cli import FlaskGroup
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from deeds.domain.errors import StartError
from deeds.domain.raw_output import make_strong_secret
from deeds.settings import Settings
from storage.audit import audit, count_bytes, count_ledger, count_policies
from storage.backup import back_up, restore
from storage.checkpoint import (
    CheckpointFile,
    RollbackError,
    checkpoint_file_of,
    raise_checkpoint,
    read_newest,
)
from storage.driver import one_line
from storage.schema import check_schema, migrate
from storage.transactions import snapshot

# Secrets printed by one call: more than anyone mints at once, and still a moment's
# work.
SECRETS_COUNT_MAX = 10_000

_ACCEPT_WORD = "accept"
_ACCEPT_MEANING = """\
Accepting this means that anyone who spent a secret since, or was paid with one, may
lose or gain units, because the ledger has forgotten it. Do it only if the newest ledger
is lost for good."""


class _Group(click.Group):
    """Commands that end with one line where the ledger cannot be opened."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; exit with code 1 where it raises StartError."""
        try:
            return super().invoke(ctx)
        except StartError as stop:
            raise SystemExit(str(stop)) from None


def deeds_commands(engine: Engine, settings: Settings) -> click.Group:
    """Return the command group on the engine of the settings."""
    group = _Group(
        "deeds",
        help="Look after the ledger.",
        callback=lambda: click.get_current_context().call_on_close(engine.dispose),
    )
    checkpoint_file = checkpoint_file_of(engine, settings.checkpoint_file)
    _add_reports(group, engine, settings)
    _add_copying(group, engine, checkpoint_file)
    _add_changes(group, engine, checkpoint_file)
    return group


def is_loaded_for_commands() -> bool:
    """Return whether the `flask` command loads the app only to find the group above.

    Then the database must be left as it is: `migrate` runs where it is behind. `flask
    run` and every server load the app to serve it.
    """
    context = click.get_current_context(silent=True)
    return context is not None and isinstance(context.command, FlaskGroup)


def _add_reports(group: click.Group, engine: Engine, settings: Settings) -> None:
    @group.command("audit")
    def run_audit() -> None:
        """Check every invariant of the ledger. The service may run meanwhile.

        Exits with code 1 if one is violated.
        """
        check_schema(engine)
        _inspect(engine)

    @group.command("stats")
    def stats() -> None:
        """Count items, operations, offers and outputs, and show the size on disk."""
        check_schema(engine)
        with snapshot(engine) as connection:
            counts, size = count_ledger(connection), count_bytes(connection)
        _show(counts | {"bytes on disk": size})

    @group.command("policies")
    def policies() -> None:
        """Show how the secrets of items are hashed: costs, and peppers to be kept."""
        check_schema(engine)
        with snapshot(engine) as connection:
            found = count_policies(connection)
        _print(f"{'cost':20} {'pepper':16} {'items':>13}")
        for policy, items_count in found:
            current = "  current" if policy == settings.hash_policy else ""
            pepper = policy.pepper_fingerprint or "none"
            _print(f"{policy.cost!s:20} {pepper:16} {items_count:>13,}{current}")

    @group.command("secret")
    @click.option(
        "--count",
        type=click.IntRange(1, SECRETS_COUNT_MAX),
        default=1,
        show_default=True,
    )
    def print_secrets(count: int) -> None:
        """Print new strong secrets, one per line. Needs no database."""
        for _ in range(count):
            _print(make_strong_secret())


def _add_copying(
    group: click.Group, engine: Engine, checkpoint_file: CheckpointFile | None
) -> None:
    @group.command("backup")
    @click.argument("file", type=click.Path(path_type=Path))
    def run_backup(file: Path) -> None:
        """Copy the ledger into FILE, which must not exist.

        The service may run meanwhile. The copy is audited before it appears. It holds
        no pepper: keep those elsewhere.
        """
        _require_sqlite(engine)
        check_schema(engine)
        with _one_line_errors(str(file)):
            newest = back_up(engine, file, _inspect_copy)
        _print(f"{file} holds the ledger up to operation {newest.operation_id}.")

    @group.command("restore")
    @click.argument("file", type=click.Path(path_type=Path))
    def run_restore(file: Path) -> None:
        """Put the backup FILE in the place of the ledger, which gets another name.

        The service must not be running. A backup that is older than the ledger has to
        be accepted before it is served: secrets spent since are live again in it.
        """
        _require_sqlite(engine)
        # An SQLite ledger always has one.
        assert checkpoint_file is not None  # noqa: S101
        with _one_line_errors(str(file)):
            newest, replaced = restore(engine, checkpoint_file, file, _inspect_copy)
        _print(f"Restored {file}, up to operation {newest.operation_id}.")
        if replaced is not None:
            _print(f"The ledger that was there is now {replaced}.")
        try:
            raise_checkpoint(engine, checkpoint_file)
        except RollbackError as rollback:
            _print(rollback.reason)


def _add_changes(
    group: click.Group, engine: Engine, checkpoint_file: CheckpointFile | None
) -> None:
    @group.command("migrate")
    def run_migrate() -> None:
        """Create the database's tables, or upgrade them to this version."""
        before, after = migrate(engine)
        if before == after:
            _print(f"the database is already at revision {after}")
        else:
            _print(f"upgraded the database from revision {before or 'none'} to {after}")

    @group.command("accept-rollback")
    @click.option("--yes", is_flag=True, help="Do not ask.")
    def accept_rollback(yes: bool) -> None:  # noqa: FBT001  (click calls it by name)
        """Accept a ledger that is older than the newest, and start on it."""
        if checkpoint_file is None:
            raise click.ClickException(
                "there is no checkpoint file: DEEDS_CHECKPOINT_FILE is not set"
            )
        check_schema(engine)
        try:
            raise_checkpoint(engine, checkpoint_file)
            _print(
                "the ledger is not behind its checkpoint: there is nothing to accept"
            )
            return
        except RollbackError as rollback:
            _print(f"{rollback.reason}\n{_ACCEPT_MEANING}")
        if not yes and click.prompt(f'Type "{_ACCEPT_WORD}" to accept') != _ACCEPT_WORD:
            raise click.ClickException("nothing was accepted")
        newest = read_newest(engine)
        with _one_line_errors(str(checkpoint_file.path)):
            checkpoint_file.set(newest)
        _print(f"accepted: the ledger continues after operation {newest.operation_id}")


def _print(text: str) -> None:
    """Write a line to standard output, and end the command where that fails."""
    try:
        click.echo(text)
    except BrokenPipeError:
        # Of `| head`, which reads no more.
        raise click.exceptions.Exit(1) from None
    except OSError as error:
        raise click.ClickException(f"standard output: {error.strerror}") from None


def _require_sqlite(engine: Engine) -> None:
    if engine.dialect.name != "sqlite":
        raise click.ClickException(
            "this command copies SQLite files; for PostgreSQL use pg_dump and"
            " pg_restore, or point-in-time recovery"
        )


@contextmanager
def _one_line_errors(path: str) -> Iterator[None]:
    """Turn what can go wrong with the file at a path into one line."""
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


def _inspect(engine: Engine, otherwise: str = "") -> None:
    """Show what a ledger holds, and fail where it violates an invariant."""
    try:
        report = audit(engine)
    except DBAPIError as error:
        raise click.ClickException(
            f"the ledger cannot be read: {one_line(error)}"
        ) from None
    try:
        _show(report.counts)
    finally:
        # Whether or not standard output takes the counts.
        _require_no_findings(report.findings, otherwise)
    _print("Every invariant holds.")


def _require_no_findings(findings: Mapping[str, str], otherwise: str) -> None:
    if findings:
        lines = [f"\n  {invariant}: {found}" for invariant, found in findings.items()]
        violated = f"{otherwise}the ledger violates these invariants:"
        raise click.ClickException(violated + "".join(lines)) from None


_inspect_copy = partial(_inspect, otherwise="the copy is not used: ")


def _show(counts: Mapping[str, int]) -> None:
    for name, count in counts.items():
        _print(f"{name.replace('_', ' '):<16} {count:>15,}")
