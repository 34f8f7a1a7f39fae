"""The command `deeds accept-rollback`: lets the service start behind its mark."""

import click
from sqlalchemy import Engine

from storage.mark import find_rollback, mark_file_of, read_newest
from storage.schema import check_schema

_WORD = "accept"

_MEANING = """\
To accept that means: whoever spent a secret since, or was paid with one, may lose or gain units,
because the ledger has forgotten it. Do it only if the newest ledger is lost for good."""


def accept_rollback_command(engine: Engine, mark_path: str | None) -> click.Command:
    """Return the command on an engine and the path of the settings."""

    @click.command("accept-rollback")
    @click.option("--yes", is_flag=True, help="Do not ask.")
    def accept_rollback(yes: bool) -> None:  # noqa: FBT001  (click calls it by name)
        """Accept a ledger that is older than the newest, so that the service starts on it."""
        file = mark_file_of(engine, mark_path)
        if file is None:
            raise click.ClickException("no mark is kept: DEEDS_MARK_FILE is not set")
        check_schema(engine)
        try:
            rollback = find_rollback(engine, file)
            if rollback is None:
                click.echo("the ledger is not behind its mark: there is nothing to accept")
                return
            click.echo(f"Found: {rollback}.\n{_MEANING}")
            if not yes and click.prompt(f'Type "{_WORD}" to accept') != _WORD:
                raise click.ClickException("nothing was accepted")
            newest = read_newest(engine)
            file.lower_to(newest)
        except OSError as error:
            raise click.ClickException(
                f"cannot use the mark file {file.path}: {error.strerror}"
            ) from None
        click.echo(f"accepted: the ledger goes on after operation {newest.operation_id}")

    return accept_rollback
