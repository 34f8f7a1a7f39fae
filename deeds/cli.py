"""The commands of `flask --app app deeds`."""

import click
from flask.cli import AppGroup, FlaskGroup
from sqlalchemy import Engine

from deeds.commands.accept_rollback import accept_rollback_command
from deeds.commands.audit import audit_command
from deeds.commands.backup import backup_command
from deeds.commands.restore import restore_command
from deeds.commands.schemes import schemes_command
from deeds.commands.stats import stats_command
from deeds.domain.strong_secret import make_strong_secret
from deeds.settings import Settings
from storage.mark import mark_file_of
from storage.schema import migrate

# Secrets printed by one call: more than anyone mints at once, and still a moment's work.
SECRETS_COUNT_MAX = 10_000


def deeds_commands(engine: Engine, settings: Settings) -> AppGroup:
    """Return the command group on the engine of the settings."""
    group = AppGroup("deeds", help="Look after the ledger.")
    group.add_command(audit_command(engine))
    group.add_command(stats_command(engine))
    group.add_command(schemes_command(engine, settings))
    group.add_command(backup_command(engine))
    group.add_command(restore_command(engine, settings.mark_file))
    group.add_command(accept_rollback_command(engine, settings.mark_file))

    @group.command("migrate")
    def run_migrate() -> None:
        """Create the database's tables, or bring them to this version."""
        before, after = migrate(engine, mark_file_of(engine, settings.mark_file))
        if before == after:
            click.echo(f"the database is at revision {after} already")
        else:
            click.echo(f"the database went from revision {before or 'none'} to {after}")

    @group.command("secret")
    @click.option(
        "--count", type=click.IntRange(1, SECRETS_COUNT_MAX), default=1, show_default=True
    )
    def print_secrets(count: int) -> None:
        """Print new strong secrets, one a line. Needs no database."""
        for _ in range(count):
            click.echo(make_strong_secret())

    return group


def is_loaded_for_commands() -> bool:
    """Tell whether the `flask` command loads the app only to look for the group above.

    Then the database must be left as it is: `migrate` runs where it is behind. `flask run` and
    every server load the app to serve it.
    """
    context = click.get_current_context(silent=True)
    return context is not None and isinstance(context.command, FlaskGroup)
