"""Brings a database to the code's revision, or says that it is not.

A new one gets the tables of `storage.tables` as they are now, an older one Alembic's
migrations.
"""

import os
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from math import inf
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Row, inspect
from sqlalchemy.exc import DBAPIError

from deeds.domain.errors import LedgerUnavailableError, StartError
from storage.driver import code_of, execute, is_unavailable, one_line, set_deadline
from storage.sqlite_file import check_file, has_content, make_directory, open_for_owner
from storage.sqlite_writer import ProcessLock
from storage.tables import create_tables
from storage.transactions import WRITES

# The newest of `migrations.versions`; a test says so.
HEAD_REVISION = "0001"

# As Alembic has them.
_CREATE_VERSION = """
    CREATE TABLE alembic_version (
        version_num VARCHAR(32) NOT NULL,
        CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
    )
"""
_SET_VERSION = "INSERT INTO alembic_version VALUES (:revision)"

# A PostgreSQL that is in recovery is read-only too.
_READ_READINESS = {
    "sqlite": "SELECT version_num, FALSE AS is_read_only FROM alembic_version",
    "postgresql": """
        SELECT version_num,
            current_setting('transaction_read_only') = 'on' AS is_read_only
        FROM alembic_version
    """,
}

_READ_ID_CACHE = """
    SELECT seqcache FROM pg_sequence
    WHERE seqrelid = CAST(pg_get_serial_sequence('operations', 'id') AS regclass)
"""

# A revision, and in its id the oldest code that may serve it: older code knows nothing
# else of it.
_REVISION = re.compile(r"[0-9]{4}_from_([0-9]{4})")

# PostgreSQL, appendix A: an operator's mistake, above all a missing right to create
# tables.
_INSUFFICIENT_PRIVILEGE = "42501"

# Key of the advisory lock that lets one process at a time migrate a PostgreSQL
# database: "deeds".
_MIGRATION_LOCK = 0x6465656473


def open_schema(engine: Engine) -> None:
    """Raise StartError unless the code may serve the database.

    Create or upgrade an SQLite file. Any number of processes may do this at once.
    """
    if engine.dialect.name == "sqlite":
        migrate(engine)
    else:
        check_schema(engine)
        _check_ids(engine)


def check_schema(engine: Engine) -> None:
    """Raise StartError unless there is a ledger that the code may serve.

    Changes nothing.
    """
    if engine.dialect.name == "sqlite":
        path = Path(engine.url.database or "")
        if not (path.is_file() and has_content(path)):
            raise StartError(f"DATABASE_URL: there is no ledger at {path}")
    revision = _read_revision(engine)
    if not may_serve(revision):
        raise _wrong_revision(revision)


def _check_ids(engine: Engine) -> None:
    """Raise StartError unless operations get ascending ids on PostgreSQL.

    A session that caches some hands them out late: to a swap that spends the output of
    an operation with a higher id, which is refused.
    """
    with _opening(), engine.connect() as connection:
        cache = execute(connection, _READ_ID_CACHE).scalar()
    if cache != 1:
        raise StartError(
            f"DATABASE_URL: each session caches {cache} ids of operations, which must"
            " ascend; run: ALTER SEQUENCE operations_id_seq CACHE 1"
        )


def may_serve(revision: str | None) -> bool:
    """Return whether this code may serve a database at a revision.

    It may at its own, and at a later one that permits it: `0003_from_0002` permits code
    of 0002.
    """
    if revision == HEAD_REVISION:
        return True
    later = _REVISION.fullmatch(revision or "")
    return later is not None and later[1] <= HEAD_REVISION[:4] < later[0][:4]


def read_readiness(connection: Connection) -> Row[Any] | None:
    """Return `version_num`, the revision, and `is_read_only`, or None without a row."""
    return execute(connection, _READ_READINESS[connection.dialect.name]).first()


def migrate(engine: Engine) -> tuple[str | None, str | None]:
    """Upgrade the database to the code's revision.

    Returns the revision it had and the one it has. A database at a later revision that
    permits this code is left as it is. Raises StartError where it cannot be opened, is
    damaged, is ahead of the code, or was lost.
    """
    if engine.dialect.name != "sqlite":
        return _migrate(engine)
    with one_process(engine):
        _create_file(Path(engine.url.database or ""))
        return _migrate(engine)


@contextmanager
def one_process(engine: Engine) -> Iterator[None]:
    """Keep other processes from creating, upgrading or replacing an SQLite ledger.

    SQLite's own lock is not enough: turning a new file to WAL does not wait for it.
    Raises StartError where another process keeps the lock.
    """
    try:
        make_directory(Path(engine.url.database or "").parent)
        lock = ProcessLock(engine.url)
        lock.open()
    except OSError as error:
        raise _not_opened(f"{error.filename}: {error.strerror}") from None
    try:
        with closing(lock), lock.turn():
            yield
    except LedgerUnavailableError:
        raise StartError(
            "DATABASE_URL: another process keeps the database locked"
        ) from None


def _create_file(path: Path) -> None:
    """Create the file of an SQLite ledger unless it is there."""
    log = Path(f"{path}-wal")
    # SQLite would delete it, and with it what was committed last.
    if has_content(log) and not has_content(path):
        raise StartError(
            f"DATABASE_URL: {path} is missing or empty, but {log} holds the end of a"
            " ledger; put them back together, or run: flask --app app deeds restore"
            " FILE"
        )
    try:
        # Never opens a file that is there: closing it would release SQLite's locks on
        # it.
        os.close(open_for_owner(path, os.O_RDWR | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        pass
    except OSError as error:
        raise _not_opened(f"{path}: {error.strerror}") from None


def _migrate(engine: Engine) -> tuple[str | None, str | None]:
    before = _read_revision(engine)
    if may_serve(before):
        return before, before
    if before is not None:
        if before > HEAD_REVISION:
            raise _wrong_revision(before)
        check_file(engine)
    with _opening(), engine.execution_options(**{WRITES: True}).begin() as connection:
        if connection.dialect.name == "postgresql":
            set_deadline(connection, inf)
            execute(connection, "SET LOCAL statement_timeout = 0")
            execute(connection, f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")
        if _revision_of(connection) is None:
            execute(connection, _CREATE_VERSION)
            execute(connection, _SET_VERSION, {"revision": HEAD_REVISION})
            create_tables(connection)
        else:
            _upgrade(connection)
    return before, HEAD_REVISION


def _upgrade(connection: Connection) -> None:
    # Its import would cost every start a fifth of a second.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
    from alembic.util import CommandError  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise StartError(
            f"the database cannot be upgraded: {one_line(error)}"
        ) from None


def _read_revision(engine: Engine) -> str | None:
    """Return the database's revision, or None where it has no ledger yet."""
    try:
        with _opening(), engine.connect() as connection:
            return _revision_of(connection)
    except (TypeError, ValueError) as error:
        # Of an option of DATABASE_URL that psycopg cannot read.
        raise _not_opened(one_line(error)) from None


@contextmanager
def _opening() -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        # Everything else is a defect of a migration, which keeps its traceback.
        if is_unavailable(error) or code_of(error) == _INSUFFICIENT_PRIVILEGE:
            raise _not_opened(one_line(error)) from None
        raise


def _revision_of(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    row = read_readiness(connection)
    return None if row is None else str(row.version_num)


def _not_opened(cause: str) -> StartError:
    return StartError(f"DATABASE_URL: the database cannot be opened: {cause}")


def _wrong_revision(revision: str | None) -> StartError:
    is_newer = revision is not None and revision > HEAD_REVISION
    advice = "run newer code" if is_newer else "run: flask --app app deeds migrate"
    return StartError(
        f"the database is at revision {revision or 'none'} and the code at"
        f" {HEAD_REVISION}; {advice}"
    )
