"""`deeds accept-rollback`: lets an older ledger be served if the newest is lost."""

from pathlib import Path

import click

from deeds.part import CommandContext, Ledger
from deeds.process import print_line
from parts.rollback.checkpoint import (
    RollbackError,
    check_ledger_exists,
    checkpoint_file,
    open_checkpoint,
)
from storage.database import NO_OPERATION
from storage.repository import read_last_operation
from storage.schema import INCOMING, Mark, check_versions, read_mark, remove_mark

_ACCEPT_WORD = "accept"
_ACCEPT_MEANING = """\
Accepting this means that anyone who spent a secret since, or was paid with one, may
lose or gain units, because the ledger has forgotten it. Do it only if the newest ledger
is lost for good."""


@click.command("accept-rollback")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def accept_rollback(context: CommandContext, yes: bool) -> None:  # noqa: FBT001
    """Accept that the newest ledger is lost, so that the service starts without it."""
    ledger = context.open_ledger()
    mark = read_mark(ledger.database)
    if mark is not None:
        _accept_mark(ledger, mark, yes=yes)
        return
    file = checkpoint_file(ledger.settings)
    if file is None:
        raise click.ClickException(
            "there is no checkpoint file: DEEDS_CHECKPOINT_FILE is not set"
        )
    try:
        check_ledger_exists(ledger.database, file)
        check_versions(ledger.database, ledger.schemas)
        open_checkpoint(ledger.database, file)
        print_line(
            "the ledger is not behind its checkpoint: there is nothing to accept"
        )
        return
    except RollbackError as error:
        last = NO_OPERATION
        if ledger.database.table_names():
            last = read_last_operation(ledger.database)
        print_line(f"{error.reason}\nThe ledger ends at operation {last.id}.")
        print_line(_ACCEPT_MEANING)
    _confirm(yes=yes)
    try:
        file.set(last)
    except OSError as error:
        raise click.ClickException(
            f"{error.filename or file.path}: {error.strerror}"
        ) from None
    print_line(f"accepted: the ledger continues after operation {last.id}")


def _accept_mark(ledger: Ledger, mark: Mark, *, yes: bool) -> None:
    """Remove the mark that copy-to has set, once the operator agrees."""
    source = Path(mark[0].removeprefix(INCOMING))
    if mark[0].startswith(INCOMING) and source.exists():
        raise click.ClickException(
            f"{source} is still there, and may be served: run copy-to again"
        )
    print_line(f"The ledger {ledger.database.name} was {mark[0]}.")
    print_line(_ACCEPT_MEANING)
    _confirm(yes=yes)
    ledger.database.create(lambda transaction: remove_mark(transaction, mark))
    print_line("accepted: the ledger may be served")


def _confirm(*, yes: bool) -> None:
    """Raise ClickException unless the operator agrees."""
    if not yes and click.prompt(f'Type "{_ACCEPT_WORD}" to accept') != _ACCEPT_WORD:
        raise click.ClickException("nothing was accepted")
