"""Brings a database to the code's revision, or says that it is not.

The revision is read without Alembic, whose import would cost every start a fifth of a second.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import DBAPIError

from deeds.domain.errors import LedgerUnavailableError, StartError
from storage.engine import WRITES, create_directory, create_sqlite_file, make_process_lock
from storage.failures import one_line
from storage.mark_file import MarkFile, check_not_lost
from storage.sqlite_file import check_file, has_content
from storage.statements import READ_REVISION

Result = TypeVar("Result")

# The newest of `migrations.versions`; a test says so.
HEAD_REVISION = "0001"

# A revision, and in its id the oldest code that may serve it: older code knows nothing else of it.
_REVISION = re.compile(r"[0-9]{4}_from_([0-9]{4})")

# Key of the advisory lock that lets one process at a time migrate a PostgreSQL database: "deeds".
_MIGRATION_LOCK = 0x6465656473


def open_schema(engine: Engine, mark: MarkFile | None = None) -> None:
    """Make sure that the code may serve the database; create or upgrade an SQLite file.

    Any number of processes may do this at once.

    Raises:
        StartError: the database cannot be opened, has a revision that this code may not serve, or
            was lost.
    """
    if engine.dialect.name == "sqlite":
        migrate(engine, mark)
        return
    check_schema(engine)


def check_schema(engine: Engine) -> None:
    """Make sure that there is a ledger that the code may serve. Creates and changes nothing.

    Raises:
        StartError: there is none, it cannot be opened, or its revision does not permit this code.
    """
    if engine.dialect.name == "sqlite":
        path = Path(engine.url.database or "")
        if not (path.is_file() and has_content(path)):
            raise StartError(f"DATABASE_URL: there is no ledger at {path}")
    revision = _explained(engine, _read_revision)
    if not may_serve(revision):
        raise _wrong_revision(revision)


def may_serve(revision: str | None) -> bool:
    """Return whether this code may serve a database at a revision.

    It may at its own, and at a later one that permits it: `0003_from_0002` permits code of 0002.
    """
    if revision == HEAD_REVISION:
        return True
    later = _REVISION.fullmatch(revision or "")
    return later is not None and later[1] <= HEAD_REVISION[:4] < later[0][:4]


def migrate(engine: Engine, mark: MarkFile | None = None) -> tuple[str | None, str]:
    """Upgrade the database to the code's revision; return the revision it had and the one it has.

    A database at a later revision that permits this code is left as it is.

    Args:
        engine: on a database, or on an SQLite file that is not there yet.
        mark: what tells that an SQLite file which is not there was there before.

    Raises:
        StartError: the database cannot be opened, is damaged, is ahead of the code, or was lost.
    """
    if engine.dialect.name == "sqlite":
        create_directory(engine.url)
    with _one_process(engine):
        if engine.dialect.name == "sqlite":
            check_not_lost(engine.url, mark)
            create_sqlite_file(engine.url)
        before = _explained(engine, _read_revision)
        if before is not None and may_serve(before):
            return before, before
        if before is not None and before > HEAD_REVISION:
            raise _wrong_revision(before)
        if before is not None:
            check_file(engine)
        _explained(engine.execution_options(**{WRITES: True}), _upgrade)
    return before, HEAD_REVISION


def _upgrade(connection: Connection) -> None:
    # Only where there is something to upgrade: see above.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
    from alembic.util import CommandError  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(text("SET LOCAL statement_timeout = 0"))
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})"))
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise StartError(f"the database cannot be upgraded: {one_line(error)}") from None


def _read_revision(connection: Connection) -> str | None:
    """Return the database's revision, or None where it has no ledger yet."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    revision = connection.execute(READ_REVISION).scalar()
    return None if revision is None else str(revision)


@contextmanager
def _one_process(engine: Engine) -> Iterator[None]:
    """Let one process at a time create or upgrade an SQLite file.

    SQLite's own lock is not enough: turning a new file to WAL does not wait for it.
    """
    if engine.dialect.name != "sqlite":
        yield
        return
    try:
        lock = make_process_lock(engine.url)
    except OSError as error:
        raise StartError(
            f"DATABASE_URL: cannot lock the file beside it: {error.strerror}"
        ) from None
    try:
        with lock.turn():
            yield
    except LedgerUnavailableError:
        raise StartError("DATABASE_URL: another process keeps the database locked") from None
    finally:
        lock.close()


def _explained(engine: Engine, work: Callable[[Connection], Result]) -> Result:
    try:
        with engine.connect() as connection:
            return work(connection)
    except (DBAPIError, TypeError, ValueError) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        raise StartError(
            f"DATABASE_URL: the database cannot be opened: {one_line(cause)}"
        ) from None


def _wrong_revision(revision: str | None) -> StartError:
    if revision is not None and revision > HEAD_REVISION:
        advice = "run newer code"
    else:
        advice = "run: flask --app app deeds migrate"
    found = revision or "none"
    return StartError(
        f"the database is at revision {found} and the code at {HEAD_REVISION}; {advice}"
    )
