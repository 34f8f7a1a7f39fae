"""The wallet's SQLite file: records, and which operations take or make each output.

The state of an output is derived from these operations, so the two cannot disagree.
Records that contain secrets are never deleted.
"""

import logging
import os
import sqlite3
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any

from deeds_client.errors import InvalidInputError, WalletError, WalletFileError
from deeds_client.record_format import KINDS, compact, read, write
from deeds_client.records import (
    Holding,
    Operation,
    R,
    keys_of,
    made_by,
    now,
)
from deeds_client.values import Output, OutputState, exactly, parse_json

log = logging.getLogger("deeds_client")

# The `user_version`: three bytes mark a wallet, the last is the version of the tables.
_FORMAT = 0x64656502  # "dee", 2
# Maximum wait for the write lock of another process.
_BUSY_S = 30.0
# Fields that are derived from operations and not stored.
_DERIVED = ("state", "before", "operation", "neverHeld")

_SCHEMA = """
CREATE TABLE records (
    kind TEXT NOT NULL, key TEXT NOT NULL, record TEXT NOT NULL,
    state TEXT AS (json_extract(record, '$.state')) STORED,
    PRIMARY KEY (kind, key)
);
CREATE TABLE moves (
    output TEXT NOT NULL, isInput INTEGER NOT NULL, operation TEXT NOT NULL,
    PRIMARY KEY (output, isInput, operation)
) WITHOUT ROWID
"""
_INDEX = """
CREATE INDEX IF NOT EXISTS operations_by_{name} ON records
(json_extract(record, '$.{name}')) WHERE kind = 'operations'
"""
# Which of several operations that take (or make) an output counts; then the lowest key.
_MOVE = """
LEFT JOIN records AS {role} ON {role}.kind = 'operations' AND {role}.key = (
    SELECT operation FROM moves JOIN records ON kind = 'operations' AND key = operation
    WHERE output = outputs.key AND isInput = {is_input}
    ORDER BY state = 'done' DESC, state = 'begun' DESC, state = 'open' DESC, operation
    LIMIT 1)
"""
# The outputs in a range of keys, with their states. `before` is the state that an
# output has if the operation that takes it is ignored. An output that was only seen in
# a link, or never made, was not lost when spent: `neverHeld`.
_OUTPUTS = f"""
WITH moved AS (
    SELECT outputs.rowid AS place, outputs.record AS record, taker.state AS taken,
        CASE
            WHEN maker.state = 'done' OR json_extract(outputs.record, '$.foundAt') >= 0
            THEN iif(json_extract(outputs.record, '$.givenAt') >= 0, 'given', 'held')
            WHEN maker.state IS NULL THEN 'seen'
            WHEN maker.state = 'refused' THEN 'void'
            ELSE 'coming'
        END AS before,
        coalesce(
            iif(taker.state = 'refused', NULL, taker.key),
            iif(maker.state = 'refused', NULL, maker.key), '') AS operation
    FROM records AS outputs
    {_MOVE.format(role="taker", is_input=1)} {_MOVE.format(role="maker", is_input=0)}
    WHERE outputs.kind = 'outputs' AND outputs.key >= ? AND outputs.key < ?
), outputs AS (
    SELECT place, record, before, operation, CASE
        WHEN taken = 'done' OR json_extract(record, '$.spentElsewhere') THEN 'spent'
        WHEN taken = 'begun' THEN 'leaving'
        WHEN taken = 'open' THEN 'offered'
        ELSE before
    END AS state, coalesce(json_extract(record, '$.spentElsewhere'), 0)
        AND before IN ('seen', 'void') AS neverHeld
    FROM moved
)
"""
_ALL = f"""{_OUTPUTS}
SELECT record, before, operation, neverHeld, state FROM outputs ORDER BY place
"""
_AMOUNTS = f"""{_OUTPUTS}
SELECT json_extract(record, '$.itemId'), CASE
        WHEN state NOT IN ('held', 'given', 'offered', 'coming') THEN NULL
        WHEN json_extract(record, '$.unknown') THEN 'unknown'
        ELSE state
    END, json_extract(record, '$.amount'), count(*),
    min(json_extract(record, '$.createdAt'))
FROM outputs GROUP BY 1, 2, 3 ORDER BY min(place)
"""
_PUT = """
INSERT INTO records (kind, key, record) VALUES (?, ?, ?)
ON CONFLICT (kind, key) DO UPDATE SET record = excluded.record
"""
_NAMES = {kind: name for name, kind in KINDS.items()}

Row = tuple[str, str, str, int, str]
Execute = Callable[..., list[Any]]


class Reader:
    """Reads the records of a wallet.

    Operations, Outputs, Items, Seeds and Numbers are found by key. Notes, found by
    name, hold other facts, such as the time of the last backup. Outside a transaction,
    other processes may write between two queries.
    """

    def __init__(self, path: Path, execute: Execute) -> None:
        self.path, self._execute = path, execute

    def get(self, kind: type[R], key: str) -> R | None:
        """Return the record with this kind and key, or None."""
        records = self._select(kind, "key = ?", key)
        return records[0] if records else None

    def all(self, kind: type[R]) -> list[R]:
        """Return all records of a kind, oldest first."""
        return self._select(kind, "TRUE")

    def note(self, name: str) -> dict[str, Any]:
        """Return the note with this name, or an empty dict."""
        sql = "SELECT record FROM records WHERE kind = 'notes' AND key = ?"
        rows = self._execute(sql, (name,))
        return exactly(dict, parse_json(rows[0][0])) if rows else {}

    def operation(self, key: str) -> Operation:
        """Return the operation with this key. Raise `WalletError` if there is none."""
        operation = self.get(Operation, key)
        if not operation:
            raise WalletError("unknown_operation", "This wallet did not begin that.")
        return operation

    def operations(self, name: str, value: str) -> list[Operation]:
        """Return operations by "state", "reference" or "offerId", oldest first."""
        return self._select(Operation, f"json_extract(record, '$.{name}') = ?", value)

    def outputs(self, item_id: str = "", *states: OutputState) -> list[Output]:
        """Return outputs of an item or all, in these states or all, oldest first."""
        rows = self.rows(item_id)
        return self.parse([row for row in rows if not states or row[-1] in states])

    def rows(self, item_id: str = "") -> list[Row]:
        """Return outputs as rows for `parse`. Equal rows mean no change."""
        return self._execute(_ALL, _bounds(item_id))

    def parse(self, rows: Sequence[Row]) -> list[Output]:
        """Parse outputs from rows."""
        derived = [
            {
                "before": OutputState(before),
                "operation": operation,
                "never_held": bool(never_held),
                "state": OutputState(state),
            }
            for _, before, operation, never_held, state in rows
        ]
        return self._parse(Output, [row[0] for row in rows], derived)

    def output(self, key: str) -> Output | None:
        """Return the output with this key, or None."""
        rows = self._execute(_ALL, (key, key + "\0"))
        return self.parse(rows)[0] if rows else None

    def outputs_with(self, keys: Iterable[str]) -> list[Output]:
        """Return the outputs with these keys, without those that do not exist."""
        return [output for output in map(self.output, keys) if output]

    def holdings(self) -> dict[str, Holding]:
        """Return the holding of each item, by item id."""
        backup_ms = self.note("backup").get("at", 0)
        rows = self._execute(_AMOUNTS, _bounds())
        # If a backup names a deed, a restore finds all units of it that have moved
        # since.
        saved = {row[0] for row in rows if row[-1] <= backup_ms}
        units: dict[str, Counter[str]] = defaultdict(Counter)
        for item_id, name, amount, count, _ in rows:
            if name:
                units[item_id][name] += amount * count
        return {
            item_id: Holding(item_id, **units[item_id], in_backup=item_id in saved)
            for item_id in units
        }

    def _select(self, kind: type[R], condition: str, *values: str) -> list[R]:
        # The kind is a literal, so that SQLite can use the partial indexes.
        sql = f"SELECT record FROM records WHERE kind = '{_NAMES[kind]}' AND"
        rows = self._execute(f"{sql} {condition} ORDER BY rowid", values)
        return self._parse(kind, [text for (text,) in rows], repeat({}))

    def _parse(
        self, kind: type[R], texts: Sequence[str], derived: Iterable[dict[str, Any]]
    ) -> list[R]:
        try:
            documents = parse_json(f"[{','.join(texts)}]")
            pairs = zip(documents, derived, strict=False)
            return [read(kind, document, **fields) for document, fields in pairs]
        except InvalidInputError as error:
            raise WalletFileError(f"{self.path} is damaged: {error}") from None


class Records(Reader):
    """The records of a wallet within a transaction, in which nothing else writes."""

    def put(self, record: R) -> R:
        """Write a complete record and return it.

        Raise InvalidInputError if it could not be read back.
        """
        document = write(record)
        read(type(record), document)
        if isinstance(record, Output):
            for name in _DERIVED:
                document.pop(name, None)
        self._put(_NAMES[type(record)], document["key"], document)
        if isinstance(record, Operation):
            moves = [(key, 1, record.key) for key in keys_of(record.inputs)]
            moves += [(key, 0, record.key) for key in made_by(record)]
            for move in moves:
                self._execute("INSERT OR IGNORE INTO moves VALUES (?, ?, ?)", move)
        return record

    def put_note(self, name: str, **values: Any) -> None:
        """Write a note; an existing one is replaced."""
        self._put("notes", name, values)

    def change(self, output: Output, **fields: Any) -> None:
        """Set fields of an output, and add the output if it is new."""
        stored = self.get(Output, output.key)
        if stored and all(getattr(stored, name) == fields[name] for name in fields):
            return
        at = now()
        new = Output(output.amount, output.item_id, output.secret, created_at=at)
        self.put(replace(stored or new, changed_at=at, **fields))

    def spend(self, operation: Operation) -> None:
        """Clear the doubts about the inputs of an operation that is done.

        The operation is known to have spent them, whatever the service said before.
        """
        for output in operation.inputs:
            self.change(output, spent_elsewhere=False, is_unclear=False, unknown=False)

    def _put(self, kind: str, key: str, record: Any) -> None:
        self._execute(_PUT, (kind, key, compact(record)))


class Store(Reader):
    """A wallet's file, of mode 0600. Threads and processes may share it.

    Raise `WalletFileError` if it is locked, damaged, not a wallet, or of a newer
    version.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(Path(path), self._run)
        self._lock = threading.RLock()
        with self._translated():
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # SQLite gives its journal the same mode. `touch` does not open an existing
            # file: closing it would release the locks of other threads that have it
            # open (POSIX).
            self.path.touch(0o600)
            self._connection = sqlite3.connect(
                self.path,
                timeout=_BUSY_S,
                isolation_level=None,
                check_same_thread=False,
            )
        try:
            # Also sync the directory after deleting the journal, which is the commit.
            self._run("PRAGMA synchronous = EXTRA")
            with self.transaction():
                self._prepare()
            self._make_private()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def transaction(self) -> Iterator[Records]:
        """Yield the records for an atomic change, which is on disk afterwards."""
        with self._lock, self._translated(), self._connection:
            self._run("BEGIN IMMEDIATE")
            yield Records(self.path, self._run)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _prepare(self) -> None:
        ((version,),) = self._run("PRAGMA user_version")
        ((count,),) = self._run("SELECT count(*) FROM sqlite_master")
        if count and version >> 8 != _FORMAT >> 8:
            raise WalletFileError(f"{self.path} is not a wallet.")
        if version > _FORMAT:
            raise WalletFileError(
                f"{self.path} was made by a newer deeds-wallet. Use that."
            )
        if not count:
            for statement in _SCHEMA.split(";"):
                self._run(statement)
            self._run(f"PRAGMA user_version = {_FORMAT}")
        for name in ("state", "reference", "offerId"):
            self._run(_INDEX.format(name=name))

    def _make_private(self) -> None:
        if self.path.stat().st_mode & 0o077:
            try:
                self.path.chmod(0o600)
            except OSError:
                log.warning("Others can read %s. Make its mode 0600.", self.path)
            else:
                log.warning("Others could read %s: it has mode 0600 now.", self.path)

    def _run(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        # Even outside a transaction, wait for the transactions of other threads.
        with self._lock, self._translated():
            return self._connection.execute(sql, parameters).fetchall()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            why = f"cannot be used: {error}"
            if code == sqlite3.SQLITE_BUSY:
                why = "is in use by another program"
        except OSError as error:
            why = f"cannot be opened: {error.strerror}"
        except ValueError:
            # Such as a lone surrogate.
            raise InvalidInputError("A text or a path is not valid.") from None
        else:
            return
        raise WalletFileError(f"{self.path} {why}.")


def _bounds(item_id: str = "") -> tuple[str, str]:
    # An output's key starts with its item id and "."; "/" follows "." in ASCII.
    return (f"{item_id}.", f"{item_id}/") if item_id else ("", "~")
