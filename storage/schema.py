"""Versions of the tables, and upgrades. Parts define the versions of their own tables.

The table `schema_version` has a row for the core and for each part: the version of its
tables, and the oldest code version that may serve them.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from deeds.errors import LedgerUnavailableError, StartError
from deeds.model import AMOUNT_MAX
from deeds.settings import COMMAND
from storage.database import Database, Rows, Transaction
from storage.repository import read_last_operation

_log = logging.getLogger("deeds")

# A mark is a row of `schema_version` that forbids serving the ledger, because this
# ledger is an unfinished copy or was moved. Column `part` has one of these prefixes and
# the name of the other ledger; `version` is a random number, the same in both ledgers.
INCOMING, MOVED = "incoming from ", "moved to "

Mark = tuple[str, int]


class MovedError(StartError):
    """The ledger was moved, or is a copy that is not finished."""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of tables. `upgrade` makes it from the previous version.

    `serves_from` is the oldest code version that may serve these tables.
    """

    upgrade: Callable[[Transaction], None]
    serves_from: int


@dataclass(frozen=True, slots=True)
class Schema:
    """All versions of the tables of the core or of a part, numbered from 1.

    `serves_from` must not decrease from one version to the next.
    """

    part: str
    versions: Sequence[Version]

    @property
    def newest(self) -> int:
        """Return the number of the newest version, which this code uses."""
        return len(self.versions)


def create_tables(transaction: Transaction) -> None:
    """Create the tables of version 1.

    The constraints carry the invariants: amounts are positive, a secret is used once in
    an item (primary key of `outputs`), a key makes one operation.
    """
    for statement in _TABLES:
        transaction.execute(statement)


# In SQLite's dialect. Other databases translate the words for automatic ids, 64-bit
# integers, bytes, and tables without a row id. Only in STRICT tables does SQLite refuse
# values of other types, and report them in a check of the file.
_TABLES = (
    # The row with id 0 is the policy in the settings at the first start. The first mint
    # under any other policy adds a row.
    """
    CREATE TABLE hash_policies (
        id INTEGER PRIMARY KEY,
        memory_cost_kib INTEGER NOT NULL,
        time_cost INTEGER NOT NULL,
        parallelism INTEGER NOT NULL,
        pepper_fingerprint TEXT NOT NULL,
        UNIQUE (memory_cost_kib, time_cost, parallelism, pepper_fingerprint)
    ) STRICT
    """,
    # The time is in milliseconds since 1970-01-01 UTC.
    """
    CREATE TABLE operations (
        id INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        idempotency_key_hash BLOB,
        fingerprint BLOB,
        created_at_ms INTEGER NOT NULL,
        CHECK (length(idempotency_key_hash) = 32),
        CHECK (length(fingerprint) = 32),
        CHECK ((idempotency_key_hash IS NULL) = (fingerprint IS NULL))
    ) STRICT
    """,
    # A partial index, because most operations have no key: each of them writes one page
    # less to the WAL.
    """
    CREATE UNIQUE INDEX operations_idempotency_key_hash
    ON operations (idempotency_key_hash) WHERE idempotency_key_hash IS NOT NULL
    """,
    f"""
    CREATE TABLE items (
        id TEXT NOT NULL PRIMARY KEY,
        total INTEGER NOT NULL CHECK (total BETWEEN 1 AND {AMOUNT_MAX}),
        metadata TEXT,
        salt BLOB NOT NULL CHECK (length(salt) = 16),
        hash_policy_id INTEGER NOT NULL REFERENCES hash_policies (id),
        created_by INTEGER NOT NULL UNIQUE REFERENCES operations (id)
    ) STRICT
    """,
    f"""
    CREATE TABLE outputs (
        item_id TEXT NOT NULL REFERENCES items (id),
        digest BLOB NOT NULL CHECK (length(digest) = 32),
        amount INTEGER NOT NULL CHECK (amount BETWEEN 1 AND {AMOUNT_MAX}),
        created_by INTEGER NOT NULL REFERENCES operations (id),
        spent_by INTEGER REFERENCES operations (id) CHECK (spent_by <> created_by),
        PRIMARY KEY (item_id, digest)
    ) WITHOUT ROWID, STRICT
    """,
)

CORE = Schema("core", (Version(create_tables, serves_from=1),))

CREATE_VERSIONS = """
    CREATE TABLE IF NOT EXISTS schema_version (
        part TEXT NOT NULL PRIMARY KEY,
        version INTEGER NOT NULL,
        serves_from INTEGER NOT NULL
    ) STRICT
"""
READ_VERSIONS = "SELECT part, version, serves_from FROM schema_version"
_SET_VERSION = """
    INSERT INTO schema_version (part, version, serves_from) VALUES (?, ?, ?)
    ON CONFLICT (part) DO UPDATE SET
        version = excluded.version, serves_from = excluded.serves_from
"""
_REMOVE_MARK = "DELETE FROM schema_version WHERE part = ? AND version = ?"


def migrate(database: Database, schemas: Iterable[Schema]) -> list[str]:
    """Upgrade all tables to their newest version; return a line for each upgrade.

    Leaves tables of a later version as they are. Raises StartError if a later version
    does not permit this code, or if the database cannot be opened. Any number of
    processes may call it at once.
    """
    _refuse_unreleased(database.table_names())
    changes: list[str] = []

    def upgrade(transaction: Transaction) -> None:
        changes[:] = upgrade_tables(transaction, schemas)

    database.create(upgrade)
    return changes


def upgrade_tables(transaction: Transaction, schemas: Iterable[Schema]) -> list[str]:
    """Do what `migrate` does, in a transaction that may change tables."""
    changes = []
    transaction.execute(CREATE_VERSIONS)
    rows = transaction.execute(READ_VERSIONS).fetchall()
    check_not_moved(rows)
    for schema, before in _versions(schemas, rows):
        for number in range(before + 1, schema.newest + 1):
            version = schema.versions[number - 1]
            version.upgrade(transaction)
            values = (schema.part, number, version.serves_from)
            transaction.execute(_SET_VERSION, values)
        if before < schema.newest:
            serves_from = schema.versions[-1].serves_from
            changes.append(
                f"upgraded the tables of {schema.part} from version"
                f" {before or 'none'} to {schema.newest}, for code of version"
                f" {serves_from} and later"
            )
    return changes


def check_versions(
    database: Database, schemas: Iterable[Schema], *, may_be_moved: bool = False
) -> None:
    """Raise StartError unless this code may serve the tables. Changes nothing.

    With `may_be_moved`, accepts a ledger with a mark, which commands may read.
    """
    names = database.table_names()
    _refuse_unreleased(names)
    rows = database.read(READ_VERSIONS) if "schema_version" in names else []
    if not may_be_moved:
        check_not_moved(rows)
    for schema, before in _versions(schemas, rows):
        if before < schema.newest:
            raise StartError(
                f"{database.name}: the tables of {schema.part} have version"
                f" {before or 'none'} and the code {schema.newest}; run:"
                f" {COMMAND} migrate"
            )


def read_mark(database: Database) -> Mark | None:
    """Return the mark of a ledger, or None; raise the errors of `table_names`."""
    if "schema_version" not in database.table_names():
        return None
    return find_mark(database.read(READ_VERSIONS))


def find_mark(rows: Rows) -> Mark | None:
    """Return the mark in rows of `READ_VERSIONS`, or None."""
    for name, number, _ in rows:
        if name.startswith((INCOMING, MOVED)):
            return name, number
    return None


def set_mark(transaction: Transaction, mark: Mark) -> None:
    """Mark the ledger, which must not have a mark yet."""
    transaction.execute(_SET_VERSION, (*mark, 0))


def remove_mark(transaction: Transaction, mark: Mark) -> None:
    """Remove the mark; raise StartError if the ledger does not have it."""
    if transaction.execute(_REMOVE_MARK, mark).rowcount != 1:
        raise StartError("the mark of the ledger was changed meanwhile")


def check_not_moved(rows: Rows) -> None:
    """Raise MovedError if the ledger has a mark.

    `rows` are those of `READ_VERSIONS`.
    """
    mark = find_mark(rows)
    if mark is None:
        return
    name, _ = mark
    if name.startswith(MOVED):
        raise MovedError(
            f"DATABASE_URL: this ledger was {name}, which DATABASE_URL must name; if"
            " the copy broke off, run copy-to again"
        )
    raise MovedError(
        f"DATABASE_URL: this ledger is an unfinished copy, {name}: run copy-to there"
        " again"
    )


def log_ledger(database: Database, *, is_new: bool) -> None:
    """Log the ledger's name, version and last operation, "?" if that is unreadable."""
    versions = {part: version for part, version, _ in database.read(READ_VERSIONS)}
    fields = {"ledger": database.name, "version": versions[CORE.part]}
    try:
        last = read_last_operation(database)
        fields["last_operation"] = last.id
        if last.id:
            fields["last_operation_at"] = last.created_at
    except LedgerUnavailableError:
        fields["last_operation"] = "?"
    fields["new"] = is_new
    _log.info("", extra={"event": "ledger", "fields": fields})


def check_still_served(rows: Rows, schemas: Iterable[Schema]) -> None:
    """Raise LedgerUnavailableError if the ledger was moved, or needs newer code.

    `rows` are those of `READ_VERSIONS`.
    """
    try:
        check_not_moved(rows)
        list(_versions(schemas, rows))
    except MovedError:
        # Do not reveal the ledger's new place to clients.
        raise LedgerUnavailableError("the ledger was moved") from None
    except StartError as error:
        raise LedgerUnavailableError(error.reason) from None


def _versions(schemas: Iterable[Schema], rows: Rows) -> Iterator[tuple[Schema, int]]:
    """Yield each schema with the version of its tables, 0 if it has none yet.

    Raises StartError for a later version that does not permit this code.
    """
    versions = {part: (version, serves_from) for part, version, serves_from in rows}
    for schema in schemas:
        version, serves_from = versions.get(schema.part, (0, 0))
        if version > schema.newest and serves_from > schema.newest:
            raise StartError(
                f"the tables of {schema.part} have version {version}, which code of"
                f" version {schema.newest} must not serve; run newer code"
            )
        yield schema, version


def _refuse_unreleased(table_names: Collection[str]) -> None:
    if "alembic_version" in table_names:
        raise StartError(
            "DATABASE_URL: the ledger was made by code before the first release, which"
            " cannot be upgraded"
        )
