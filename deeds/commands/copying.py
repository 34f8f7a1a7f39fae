"""What `deeds backup` and `deeds restore` share: the bar, the audit of the copy, the errors."""

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click
from sqlalchemy import Engine

from deeds.commands.audit import audit_with_progress, counts_text, findings_text
from deeds.domain.errors import StartError
from storage.backup import Progress
from storage.presence import InUseError


def refuse_postgresql(engine: Engine) -> None:
    """Refuse another database than SQLite.

    Raises:
        ClickException: it is PostgreSQL.
    """
    if engine.dialect.name != "sqlite":
        raise click.ClickException(
            "this copies SQLite files; for PostgreSQL use pg_dump and pg_restore, or point-in-time "
            "recovery"
        )


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Yield a function that shows how far a copy is, if somebody is there to see it."""
    hidden = not sys.stderr.isatty()
    with click.progressbar(length=1, label="Copying", file=sys.stderr, hidden=hidden) as bar:

        def show(left: int, count: int) -> None:
            bar.length = count
            bar.update(count - left - bar.pos)

        yield show


def inspect(copy: Engine) -> None:
    """Refuse a copy that does not audit clean, and tell what is in a good one.

    Raises:
        ClickException: an invariant is broken.
    """
    report = audit_with_progress(copy)
    if not report.is_clean:
        raise click.ClickException(f"the copy is not used: {findings_text(report)}")
    click.echo(counts_text(report.counts))
    click.echo("Every invariant holds.")


@contextmanager
def one_line_errors(path: str) -> Iterator[None]:
    """Turn what may go wrong with the file at a path into one line."""
    try:
        yield
    except FileExistsError:
        raise click.ClickException(f"{path} is there already") from None
    except InUseError:
        raise click.ClickException("somebody uses the ledger: stop the service first") from None
    except StartError as error:
        reason = str(error).removeprefix("deeds cannot start: ").removeprefix("DATABASE_URL: ")
        raise click.ClickException(f"{path}: {reason}") from None
    except OSError as error:
        raise click.ClickException(f"{error.filename or path}: {error.strerror}") from None
    except sqlite3.Error as error:
        raise click.ClickException(f"{path}: {error}") from None
