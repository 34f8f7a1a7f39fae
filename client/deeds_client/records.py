"""What a wallet keeps, in an SQLite file: outputs with their secrets, and operations on them.

An operation is begun, done or refused; the making of an offer is open until the offer ends. The
state of an output follows from the operations that take and make it, by the view `holdings`, so
that no change of one can forget the other. Names are those of the page: docs/wallet-file.md.
Nothing with a secret is ever deleted.
"""

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deeds_client.errors import WalletError, WalletFileError

Record = dict[str, Any]

_APPLICATION_ID = 0x64656564  # "deed"
_VERSION = 1
# How long one process waits until another has written.
_BUSY_S = 30.0

# Operations that take an output, or make it, are found by `moves`; of several, one that is done.
_FOUND = """
LEFT JOIN records AS {role} ON {role}.kind = 'operations' AND {role}.key = (
    SELECT operation FROM moves JOIN records ON kind = 'operations' AND key = operation
    WHERE output = outputs.key AND isInput = {is_input} AND state IN ({states})
    ORDER BY state = 'done' DESC, state = 'begun' DESC, state = 'open' DESC LIMIT 1)
"""
_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS records (
    kind TEXT NOT NULL, key TEXT NOT NULL, record TEXT NOT NULL,
    state TEXT AS (json_extract(record, '$.state')),
    PRIMARY KEY (kind, key)
);
CREATE INDEX IF NOT EXISTS records_in_state ON records (kind, state);
CREATE TABLE IF NOT EXISTS moves (
    output TEXT NOT NULL, isInput INTEGER NOT NULL, operation TEXT NOT NULL,
    PRIMARY KEY (output, isInput, operation)
) WITHOUT ROWID;
CREATE VIEW IF NOT EXISTS holdings AS
SELECT outputs.key, outputs.record, coalesce(taker.key, maker.key) AS operation,
    CASE
        WHEN taker.state = 'done' OR json_extract(outputs.record, '$.spentElsewhere') THEN 'spent'
        WHEN taker.state = 'begun' THEN 'leaving'
        WHEN taker.state = 'open' THEN 'offered'
        WHEN maker.key IS NULL THEN 'seen'
        WHEN maker.state = 'refused' THEN 'void'
        WHEN maker.state <> 'done' THEN 'coming'
        WHEN json_extract(outputs.record, '$.givenAt') THEN 'given'
        ELSE 'held'
    END AS state,
    CASE
        WHEN json_extract(taker.record, '$.kind') = 'withdraw' THEN 'offered'
        WHEN maker.key IS NULL THEN 'seen'
        WHEN maker.state = 'refused' THEN 'void'
        WHEN json_extract(outputs.record, '$.givenAt') THEN 'given'
        ELSE 'held'
    END AS before
FROM records AS outputs
{_FOUND.format(role="taker", is_input=1, states="'done', 'begun', 'open'")}
{_FOUND.format(role="maker", is_input=0, states="'done', 'begun', 'open', 'refused'")}
WHERE outputs.kind = 'outputs';
PRAGMA application_id = {_APPLICATION_ID};
PRAGMA user_version = {_VERSION};
COMMIT;
"""


def key_of(output: Record) -> str:
    """Return the key of an output: no item has two outputs with one secret."""
    return f"{output['itemId']}.{output['secret']}"


def now_ms() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Records:
    """The records as one transaction sees and changes them; each has a `key`.

    A `kind` is outputs, operations, items or notes. A field without a value is not there.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._execute = connection.execute

    def get(self, kind: str, key: str) -> Record:
        """Return the record with this key, empty if there is none."""
        sql = "SELECT record FROM records WHERE kind = ? AND key = ?"
        return next((json.loads(text) for (text,) in self._execute(sql, (kind, key))), {})

    def all(self, kind: str, *states: str) -> list[Record]:
        """Return the records of a kind, or those in these states, the oldest first."""
        only = f" AND state IN ({', '.join('?' * len(states))})" if states else ""
        sql = f"SELECT record FROM records WHERE kind = ?{only} ORDER BY rowid"
        return [json.loads(text) for (text,) in self._execute(sql, (kind, *states))]

    def put(self, kind: str, record: Record) -> Record:
        """Write a record whole, and return it."""
        whole = {name: value for name, value in record.items() if value is not None}
        self._execute(
            "INSERT INTO records (kind, key, record) VALUES (?, ?, ?)"
            " ON CONFLICT (kind, key) DO UPDATE SET record = excluded.record",
            (kind, whole["key"], json.dumps(whole, ensure_ascii=False)),
        )
        if kind == "operations":
            made = [(output["key"], 0) for output in whole["outputs"]]
            for output, is_input in [*((key, 1) for key in whole["inputs"]), *made]:
                move = (output, is_input, whole["key"])
                self._execute("INSERT OR IGNORE INTO moves VALUES (?, ?, ?)", move)
        return whole

    def outputs(self, item_id: str = "", *states: str) -> list[Record]:
        """Return the outputs of an item or all, those in these states or all, the oldest first."""
        only = f" AND state IN ({', '.join('?' * len(states))})" if states else ""
        sql = f"SELECT * FROM holdings WHERE key >= ? AND key < ?{only}"
        # The key of an output begins with its item, which has no dot.
        bounds = (f"{item_id}.", f"{item_id}/") if item_id else ("", "~")
        rows = self._execute(sql, (*bounds, *states))
        return sorted(map(_output, rows), key=lambda output: output["createdAt"])

    def output(self, key: str) -> Record:
        """Return an output with its `state` and `operation`, empty if it is not there."""
        rows = self._execute("SELECT * FROM holdings WHERE key = ?", (key,))
        return next(map(_output, rows), {})

    def add(self, output: Record) -> str:
        """Write a new output down and return its key: none is written over by another."""
        key = key_of(output)
        if self.get("outputs", key):
            raise WalletError("used_secret", "This secret was used for this deed before.")
        now = now_ms()
        return str(
            self.put("outputs", {"createdAt": now, "changedAt": now, **output, "key": key})["key"]
        )

    def change(self, key: str, **facts: Any) -> None:
        """Change facts about an output; None removes one."""
        known = self.get("outputs", key)
        if any(known.get(name) != value for name, value in facts.items()):
            self.put("outputs", {**known, **facts, "changedAt": now_ms()})


def _output(row: tuple[str, str, str | None, str, str]) -> Record:
    _key, record, operation, state, before = row
    about = {"operation": operation} if operation else {}
    return {**json.loads(record), **about, "state": state, "before": before}


class Store:
    """A wallet's file, of mode 0600. Threads and processes may share it.

    Raise `WalletFileError` when it is locked, damaged, of another kind or of a newer version.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        with self._translated():
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # SQLite gives its journal the same mode.
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            self._connection = sqlite3.connect(
                self.path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare()
            except BaseException:
                self.close()
                raise
            self.path.chmod(0o600)

    def _prepare(self) -> None:
        # What was committed is on disk, and so is the end of its journal.
        self._connection.execute("PRAGMA synchronous = EXTRA")
        # One look at all three: another process may be making the tables.
        self._connection.execute("BEGIN")
        count, kind, version = (
            self._connection.execute(f"SELECT * FROM {name}").fetchone()[0]
            for name in (
                "(SELECT count(*) FROM sqlite_master)",
                "pragma_application_id",
                "pragma_user_version",
            )
        )
        self._connection.execute("COMMIT")
        if count and kind != _APPLICATION_ID:
            raise WalletFileError(f"{self.path} is not a wallet.")
        if version > _VERSION:
            raise WalletFileError(f"{self.path} was made by a newer deeds-wallet. Use that.")
        if not count:
            self._connection.executescript(_SCHEMA)

    @contextmanager
    def transaction(self) -> Iterator[Records]:
        """Look at the records and change them: wholly and on disk, or not at all."""
        with self._lock, self._translated():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield Records(self._connection)
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            why = "is in use by another program" if is_busy else f"cannot be used: {error}"
            raise WalletFileError(f"{self.path} {why}.") from None
        except OSError as error:
            raise WalletFileError(f"{self.path} cannot be opened: {error.strerror}.") from None
