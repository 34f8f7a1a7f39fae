"""The ledger's database in an SQLite file, by the standard library."""

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from deeds.errors import LedgerUnavailableError, StartError
from deeds.model import Operation
from deeds.settings import COMMAND, DEFAULT_LEDGER
from storage import sqlite_writer
from storage.database import (
    DISK_FULL,
    NO_OPERATION,
    Reader,
    Rows,
    Transaction,
    Values,
    Work,
)
from storage.files import (
    has_content,
    locked,
    make_directory,
    open_file,
    reason_unwritable,
    refuse_root,
)
from storage.schema import READ_VERSIONS, check_still_served
from storage.sqlite_writer import (
    SqliteFailures,
    SqliteTransaction,
    SqliteWriter,
    connect,
    one_line,
)

# Larger files are not checked at startup, which would take too long, but by `deeds
# audit`. A million outputs, 84 MB, take about 0.2 s.
CHECKED_BYTES_MAX = 256 * 2**20


# Free space that a probe requires. A swap of 256 outputs writes about as much.
ROOM_BYTES = 2**20


class SqliteDatabase:
    """An SQLite file (storage.database.Database).

    Each read has a connection for itself; all writes share one. `clock` returns
    milliseconds since 1970-01-01 UTC.
    """

    definitions_sql = "SELECT tbl_name, sql FROM sqlite_master WHERE sql <> ''"

    def __init__(self, path: Path, clock: Callable[[], int]) -> None:
        """Store the arguments, without opening the file.

        Raises StartError if SQLite is too old.
        """
        # The first version with STRICT tables.
        if sqlite3.sqlite_version_info < (3, 37, 0):
            raise StartError(
                f"SQLite {sqlite3.sqlite_version} is too old: 3.37 is needed"
            )
        self.path = path
        self.name = str(path.absolute())
        self._clock = clock
        self._failures = SqliteFailures()
        self._writer = SqliteWriter(path, clock, self._failures)
        # Idle connections for reads; the last one was used last and has a warm cache.
        self._idle: list[sqlite3.Connection] = []

    def create(self, work: Callable[[Transaction], None]) -> None:
        """Create the file if it is missing, and run the work; raise StartError."""
        try:
            with self.alone():
                self._create_file()
                if reason := reason_unwritable(self.path):
                    # SQLite would open it without an error, but read-only.
                    raise StartError(f"DATABASE_URL: {reason}")
                with closing(connect(self.path)) as connection:
                    _use_wal(connection)
                    connection.execute("BEGIN IMMEDIATE")
                    work(SqliteTransaction(connection, self._clock()))
                    connection.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            raise self._not_opened(error) from None

    def table_names(self) -> set[str]:
        """Return the names of the tables, none if the file is missing or empty."""
        refuse_root(self.path.parent)
        if not has_content(self.path):
            self._refuse_orphan_log()
            return set()
        try:
            # Do not keep it open: a restore may replace the file before `create` locks.
            with closing(connect(self.path)) as connection:
                rows = connection.execute("SELECT name FROM sqlite_master").fetchall()
        except sqlite3.Error as error:
            raise self._not_opened(error) from None
        return {name for (name,) in rows}

    def check_start(self, *, thorough: bool = False) -> None:
        """Raise StartError if the file is damaged.

        Checks pages, indexes and constraints if `thorough`, unless the file is larger
        than CHECKED_BYTES_MAX. Connections opened after this call refuse a ledger that
        was moved, which only commands may read.
        """
        self._writer.connect = connect_to_serve
        if not thorough or self.path.stat().st_size > CHECKED_BYTES_MAX:
            return
        try:
            with self._reader() as reader:
                # One finding is enough to stop for.
                [(finding,)] = reader.execute("PRAGMA quick_check(1)").fetchall()
        except sqlite3.Error as error:
            finding = str(error)
        if finding != "ok":
            raise StartError(
                f"DATABASE_URL: the SQLite file is damaged ({one_line(finding)}); put a"
                " backup in its place"
            )

    def read(self, sql: str, values: Values = ()) -> Rows:
        """Return the rows of a query."""
        try:
            with self._reader() as reader:
                return reader.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise self._failures.translate(error) from None

    def read_each(self, sql: str, keys: Sequence[Values]) -> Rows:
        """Run a query with each key, in one snapshot; return a row or None for each."""
        try:
            with self._reader() as reader:
                # One query for each key, because SQLite has no round trips. They share
                # a transaction, to see all of a concurrent swap or nothing.
                try:
                    reader.execute("BEGIN")
                    return [reader.execute(sql, key).fetchone() for key in keys]
                finally:
                    reader.rollback()
        except sqlite3.Error as error:
            raise self._failures.translate(error) from None

    def probe(self, sql: str) -> Rows:
        """Return the rows of a query; if the last write failed, try to write."""
        rows = self.read(sql)
        refusal = self._writer.refusal
        if refusal.reason is not None:
            refusal.begin_try()
            self._check_room()
            self.write(_write_nothing, None)
            refusal.reason = None
        return rows

    @contextmanager
    def snapshot(self) -> Iterator[Reader]:
        """Yield a reader of one snapshot, which does not block writers."""
        try:
            connection = connect(self.path)
        except sqlite3.Error as error:
            raise LedgerUnavailableError(one_line(error)) from None
        with closing(connection):
            # Decode invalid UTF-8 to lone surrogates, so that an audit can report it.
            connection.text_factory = partial(
                str, encoding="utf-8", errors="surrogateescape"
            )
            # In WAL mode a transaction sees the state at its first read.
            connection.execute("BEGIN")

            def read(sql: str, values: Values = ()) -> Rows:
                try:
                    return connection.execute(sql, values).fetchall()
                except sqlite3.Error as error:
                    raise LedgerUnavailableError(one_line(error)) from None

            yield read

    def run_in_scratch(self, work: Callable[[Transaction], Rows]) -> Rows:
        """Run the work in a database in memory."""
        with closing(sqlite3.connect(":memory:")) as connection:
            return work(SqliteTransaction(connection, 0))

    def find_damage(self) -> list[str]:
        """Return at most 100 faults of pages, indexes and constraints."""
        with self.snapshot() as read:
            rows = read("PRAGMA integrity_check")
        return [finding for (finding,) in rows if finding != "ok"]

    def bytes_on_disk(self) -> int:
        """Return the bytes of the file, its WAL and the WAL's index."""
        files = [Path(f"{self.path}{suffix}") for suffix in ("", "-wal", "-shm")]
        return sum(file.stat().st_size for file in files if file.exists())

    def write(self, work: Work[Any], record: Any) -> Operation:
        """Run the work in a transaction, which it may share with other threads."""
        return self._writer.write(work, record)

    def close(self) -> None:
        """Close all connections. No thread may be reading or writing."""
        while self._idle:
            self._idle.pop().close()
        self._writer.close()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from creating, upgrading or replacing the file.

        SQLite's own lock is not enough: switching a new file to WAL mode does not wait
        for that lock. Creates the directory of the default ledger. Raises StartError.
        """
        with ExitStack() as stack:
            make_default_directory(self.path)
            try:
                deadline_s = monotonic() + sqlite_writer.BUSY_TIMEOUT_S
                stack.enter_context(locked(self._writer.open_turn_file(), deadline_s))
            except BlockingIOError:
                raise StartError(
                    "DATABASE_URL: another process keeps the database locked"
                ) from None
            except OSError as error:
                raise self._not_opened(error) from None
            yield

    def _check_room(self) -> None:
        """Raise LedgerUnavailableError unless the disk has room for a large request.

        A full disk may accept a small write, into unused space of the WAL file.
        """
        try:
            disk = os.statvfs(self.path.parent)
        except OSError as error:
            raise LedgerUnavailableError(
                f"the directory of the ledger: {error.strerror}"
            ) from None
        if disk.f_bavail * disk.f_frsize < ROOM_BYTES:
            raise LedgerUnavailableError(DISK_FULL)

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection that no other thread uses meanwhile."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._writer.connect(self.path)
        try:
            yield connection
        finally:
            self._idle.append(connection)

    def _not_opened(self, error: Exception) -> StartError:
        """Return the error for a file, or one beside it, that cannot be opened."""
        directory = self.path.parent.absolute()
        if reason := reason_unwritable(directory):
            cause = reason
        elif not directory.is_dir():
            cause = f"there is no directory {directory}; is its disk mounted?"
            if not self.path.is_absolute():
                cause += " An absolute path has four slashes: sqlite:////path"
        elif isinstance(error, OSError):
            cause = f"{error.filename}: {error.strerror}"
        else:
            cause = f"{self.name}: {one_line(error)}"
        return StartError(f"DATABASE_URL: the database cannot be opened: {cause}")

    def _refuse_orphan_log(self) -> None:
        """Raise StartError if there is a WAL, which SQLite would delete on opening.

        It holds the last commits of a ledger whose file is missing or empty.
        """
        log = Path(f"{self.path}-wal")
        if has_content(log):
            raise StartError(
                f"DATABASE_URL: {self.path} is missing or empty, but {log} holds the"
                f" end of a ledger; put them back together, or run: {COMMAND}"
                " restore FILE"
            )

    def _create_file(self) -> None:
        """Create the file if it is missing."""
        if not has_content(self.path):
            self._refuse_orphan_log()
        # O_EXCL never opens an existing file: closing it would release SQLite's locks.
        with suppress(FileExistsError):
            os.close(open_file(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL))


def connect_to_serve(path: Path) -> sqlite3.Connection:
    """Return a connection; raise LedgerUnavailableError if the ledger was moved.

    It is enough to check new connections, because a ledger is marked as moved only
    while no other process has the file open.
    """
    connection = connect(path)
    try:
        check_still_served(connection.execute(READ_VERSIONS).fetchall(), ())
    except (LedgerUnavailableError, sqlite3.Error):
        connection.close()
        raise
    return connection


def make_default_directory(path: Path) -> None:
    """Create the directory of the default ledger; raise StartError.

    The directory of any other ledger must exist. If it does not, its disk may not be
    mounted, and an empty ledger must not take its place.
    """
    if path != DEFAULT_LEDGER:
        return
    try:
        make_directory(path.parent)
    except OSError as error:
        raise StartError(
            f"DATABASE_URL is not set, and {error.filename} cannot be created:"
            f" {error.strerror}"
        ) from None


def sqlite_path(url: str) -> Path:
    """Return the SQLite file that a URL names; raise StartError for other URLs."""
    scheme, _, path = url.partition(":///")
    if scheme.partition("+")[0] != "sqlite":
        raise StartError(
            "DATABASE_URL must name an SQLite file or a PostgreSQL database"
        )
    if path in {"", ":memory:"}:
        raise StartError(
            "DATABASE_URL names a database in memory, which would lose every deed"
        )
    if "?" in path:
        raise StartError("DATABASE_URL takes no options for an SQLite file")
    return Path(path)


def _write_nothing(transaction: Transaction, _record: None) -> Operation:
    """Write a page without changing it. An UPDATE to the same value writes none."""
    transaction.execute("PRAGMA user_version = 0")
    return NO_OPERATION


def _use_wal(connection: sqlite3.Connection) -> None:
    [(mode,)] = connection.execute("PRAGMA journal_mode = WAL").fetchall()
    if mode != "wal":
        raise StartError(
            "DATABASE_URL: the file system of the SQLite file does not support WAL"
        )
