"""A wallet's file, with SQLite: records, and which operation takes and makes an output.

The state of an output follows from the operations that take and make it, so that no
change of one can forget the other. Nothing with a secret is ever deleted.
"""

import logging
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Self, TypeVar

from deeds_client.errors import InvalidInputError, WalletError, WalletFileError
from deeds_client.record_format import KINDS, compact, read, write
from deeds_client.records import Operation, keys_of, made_by, moment, now
from deeds_client.values import OperationState, Output, OutputState, exactly, parse_json

log = logging.getLogger("deeds_client")

# What marks the file as a wallet, and the version of its tables.
_FORMAT = 0x64656502  # "dee", 2
# How long one process waits until another has written.
_BUSY_S = 30.0
# What follows from operations, and is not written down.
_DERIVED = ("state", "before", "operation")

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
_OPERATIONS = """
SELECT record FROM records
WHERE kind = 'operations' AND json_extract(record, '$.{name}') = ? ORDER BY rowid
"""
# Of several operations that take or make an output, one that is done counts, else one
# begun.
_MOVE = """
LEFT JOIN records AS {role} ON {role}.kind = 'operations' AND {role}.key = (
    SELECT operation FROM moves JOIN records ON kind = 'operations' AND key = operation
    WHERE output = outputs.key AND isInput = {is_input}
    ORDER BY state = 'done' DESC, state = 'begun' DESC, state = 'open' DESC LIMIT 1)
"""
_OUTPUTS = f"""
SELECT outputs.record, taker.state, maker.state,
    iif(taker.state = 'refused', maker.key, coalesce(taker.key, maker.key))
FROM records AS outputs
{_MOVE.format(role="taker", is_input=1)} {_MOVE.format(role="maker", is_input=0)}
WHERE outputs.kind = 'outputs' AND outputs.key >= ? AND outputs.key < ?
ORDER BY outputs.rowid
"""
_PUT = """
INSERT INTO records (kind, key, record) VALUES (?, ?, ?)
ON CONFLICT (kind, key) DO UPDATE SET record = excluded.record
"""
_TAKEN: dict[str | None, OutputState] = {
    OperationState.DONE: OutputState.SPENT,
    OperationState.BEGUN: OutputState.LEAVING,
    OperationState.OPEN: OutputState.OFFERED,
}
_NOT_MADE: dict[str | None, OutputState] = {
    None: OutputState.SEEN,
    OperationState.REFUSED: OutputState.VOID,
}
_NAMES = {kind: name for name, kind in KINDS.items()}

R = TypeVar("R")


class Store:
    """A wallet's file, of mode 0600. Threads and processes may share it.

    It keeps Operations, Outputs, Items, Seeds and Numbers by their keys, and notes by
    their names. Raise `WalletFileError` when it is locked, damaged, of another kind or
    of a newer version.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        with self._translated():
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # SQLite gives its journal the same mode. A file that is there is not opened
            # by this: to close one that another thread has open would end the locks of
            # that thread (POSIX).
            self.path.touch(0o600)
            self._connection = sqlite3.connect(
                self.path,
                timeout=_BUSY_S,
                isolation_level=None,
                check_same_thread=False,
            )
        try:
            # What was committed is on disk, and so is the end of its journal.
            self._execute("PRAGMA synchronous = EXTRA")
            with self.transaction():
                self._prepare()
            self._make_private()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def transaction(self) -> Iterator[Self]:
        """Look at the records and change them: wholly and on disk, or not at all."""
        with self._lock:
            try:
                self._execute("BEGIN IMMEDIATE")
                yield self
                self._execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._execute("ROLLBACK")

    def get(self, kind: type[R], key: str) -> R | None:
        """Return the record of a kind with this key."""
        sql = "SELECT record FROM records WHERE kind = ? AND key = ?"
        rows = self._execute(sql, (_NAMES[kind], key))
        return self._parsed(kind, *rows[0]) if rows else None

    def all(self, kind: type[R]) -> list[R]:
        """Return the records of a kind, the oldest first."""
        sql = "SELECT record FROM records WHERE kind = ? ORDER BY rowid"
        rows = self._execute(sql, (_NAMES[kind],))
        return [self._parsed(kind, text) for (text,) in rows]

    def put(self, record: R) -> R:
        """Write a record whole, and return it.

        Raise InvalidInputError for one that could not be read again.
        """
        whole = write(record)
        read(type(record), whole)
        if isinstance(record, Output):
            for name in _DERIVED:
                whole.pop(name, None)
        self._put(_NAMES[type(record)], whole["key"], whole)
        if isinstance(record, Operation):
            moves = [(key, 1, record.key) for key in keys_of(record.inputs)]
            moves += [(key, 0, record.key) for key in made_by(record)]
            for move in moves:
                self._execute("INSERT OR IGNORE INTO moves VALUES (?, ?, ?)", move)
        return record

    def note(self, name: str) -> dict[str, Any]:
        """Return what the wallet has noted under a name, empty if nothing."""
        sql = "SELECT record FROM records WHERE kind = 'notes' AND key = ?"
        rows = self._execute(sql, (name,))
        return exactly(dict, parse_json(rows[0][0])) if rows else {}

    def put_note(self, name: str, **values: Any) -> None:
        """Write a note."""
        self._put("notes", name, values)

    def noted_at(self, name: str) -> datetime:
        """Return the time that was noted under a name, 1970 if none was."""
        return moment(self.note(name).get("at", 0))

    def operation(self, key: str) -> Operation:
        """Return an operation. Raise `WalletError` where there is none of this key."""
        found = self.get(Operation, key)
        if not found:
            raise WalletError("unknown_operation", "This wallet did not begin that.")
        return found

    def operations(self, name: str, value: str) -> list[Operation]:
        """Return those of this "state", "reference" or "offerId", the oldest first."""
        rows = self._execute(_OPERATIONS.format(name=name), (value,))
        return [self._parsed(Operation, text) for (text,) in rows]

    def outputs(self, item_id: str = "", *states: OutputState) -> list[Output]:
        """Return the outputs of an item or all, in these states, oldest first."""
        # The key of an output begins with its item and a dot, which a slash follows.
        bounds = (f"{item_id}.", f"{item_id}/") if item_id else ("", "~")
        outputs = [self._output(*row) for row in self._execute(_OUTPUTS, bounds)]
        return [output for output in outputs if not states or output.state in states]

    def output(self, key: str) -> Output | None:
        """Return an output with its state and last operation."""
        rows = self._execute(_OUTPUTS, (key, key + "\0"))
        return self._output(*rows[0]) if rows else None

    def known(self, keys: Sequence[str]) -> list[Output]:
        """Return the outputs of these keys that are there."""
        return [output for output in map(self.output, keys) if output]

    def change(self, output: Output, **facts: Any) -> None:
        """Change what is known here of an output, which is added if it is new."""
        known = self.get(Output, output.key)
        if known and all(getattr(known, name) == facts[name] for name in facts):
            return
        at = now()
        new = Output(output.amount, output.item_id, output.secret, created_at=at)
        self.put(replace(known or new, changed_at=at, **facts))

    def follow(self, operation: Operation) -> None:
        """Bring outputs to what an operation that is done has taken and made."""
        for output in operation.inputs:
            # By which operation is more than that it is spent.
            self.change(output, spent_elsewhere=False, is_unclear=False, unknown=False)
        for output in operation.outputs:
            # Another copy may have meant to use the number for another amount.
            self.change(output, amount=output.amount, unknown=False)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _put(self, kind: str, key: str, record: Any) -> None:
        self._execute(_PUT, (kind, key, compact(record)))

    def _parsed(self, kind: type[R], text: str) -> R:
        try:
            return read(kind, parse_json(text))
        except InvalidInputError as error:
            raise WalletFileError(f"{self.path} is damaged: {error}") from None

    def _output(
        self, text: str, taken: str | None, made: str | None, operation: str | None
    ) -> Output:
        """Return an output in its state, and that before what takes it."""
        known = self._parsed(Output, text)
        before = _before(known, made)
        state = (
            OutputState.SPENT if known.spent_elsewhere else _TAKEN.get(taken, before)
        )
        return replace(known, state=state, before=before, operation=operation)

    def _prepare(self) -> None:
        ((version,),) = self._execute("PRAGMA user_version")
        ((count,),) = self._execute("SELECT count(*) FROM sqlite_master")
        if count and version >> 8 != _FORMAT >> 8:
            raise WalletFileError(f"{self.path} is not a wallet.")
        if version > _FORMAT:
            raise WalletFileError(
                f"{self.path} was made by a newer deeds-wallet. Use that."
            )
        if not count:
            for statement in _SCHEMA.split(";"):
                self._execute(statement)
            self._execute(f"PRAGMA user_version = {_FORMAT}")
        for name in ("state", "reference", "offerId"):
            self._execute(_INDEX.format(name=name))

    def _make_private(self) -> None:
        if self.path.stat().st_mode & 0o077:
            try:
                self.path.chmod(0o600)
            except OSError:
                log.warning("Others can read %s. Make its mode 0600.", self.path)
            else:
                log.warning("Others could read %s: it has mode 0600 now.", self.path)

    def _execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        # Outside of a transaction too a thread waits for the end of another one's.
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
        else:
            return
        raise WalletFileError(f"{self.path} {why}.")


def _before(output: Output, made: str | None) -> OutputState:
    """Return the state of an output that nothing takes."""
    if output.found_at or made == OperationState.DONE:
        return OutputState.GIVEN if output.given_at else OutputState.HELD
    return _NOT_MADE.get(made, OutputState.COMING)
