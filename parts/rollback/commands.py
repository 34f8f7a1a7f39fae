"""`deeds accept-rollback`: the way back to service where the newest ledger is lost."""

import click

from deeds.part import Ledger
from deeds.process import print_line
from parts.rollback.checkpoint import (
    RollbackError,
    checkpoint_file,
    open_checkpoint,
    read_newest,
)
from storage.schema import check_versions

_ACCEPT_WORD = "accept"
_ACCEPT_MEANING = """\
Accepting this means that anyone who spent a secret since, or was paid with one, may
lose or gain units, because the ledger has forgotten it. Do it only if the newest ledger
is lost for good."""


@click.command("accept-rollback")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def accept_rollback(ledger: Ledger, yes: bool) -> None:  # noqa: FBT001  (of click)
    """Accept a ledger that is older than the newest, and start on it."""
    file = checkpoint_file(ledger.settings)
    if file is None:
        raise click.ClickException(
            "there is no checkpoint file: DEEDS_CHECKPOINT_FILE is not set"
        )
    check_versions(ledger.database, ledger.schemas)
    try:
        open_checkpoint(ledger.database, file)
        print_line(
            "the ledger is not behind its checkpoint: there is nothing to accept"
        )
        return
    except RollbackError as rollback:
        newest = read_newest(ledger.database)
        print_line(f"{rollback.reason}\nThe ledger ends at operation {newest.id}.")
        print_line(_ACCEPT_MEANING)
    if not yes and click.prompt(f'Type "{_ACCEPT_WORD}" to accept') != _ACCEPT_WORD:
        raise click.ClickException("nothing was accepted")
    try:
        file.set(newest)
    except OSError as error:
        raise click.ClickException(
            f"{error.filename or file.path}: {error.strerror}"
        ) from None
    print_line(f"accepted: the ledger continues after operation {newest.id}")
