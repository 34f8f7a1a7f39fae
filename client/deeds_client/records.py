"""What a wallet keeps, in an SQLite file.

Outputs with their secrets, and operations on them.

An operation is begun, done or refused; the making of an offer is open until the offer
ends. The state of an output follows from the operations that take and make it, so that
no change of one can forget the other. Names are those of the page: docs/wallet-file.md.
Nothing with a secret is ever deleted.
"""

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from deeds_client.errors import WalletFileError
from deeds_client.values import Item, Output

Record = dict[str, Any]

# What marks the file as a wallet, and the version of its tables.
_FORMAT = 0x64656502  # "dee", 2
# How long one process waits until another has written.
_BUSY_S = 30.0

_SCHEMA = """
CREATE TABLE records (
    kind TEXT NOT NULL, key TEXT NOT NULL, record TEXT NOT NULL,
    state TEXT AS (json_extract(record, '$.state')) STORED,
    PRIMARY KEY (kind, key)
);
CREATE INDEX records_in_state ON records (kind, state);
CREATE TABLE moves (
    output TEXT NOT NULL, isInput INTEGER NOT NULL, operation TEXT NOT NULL,
    PRIMARY KEY (output, isInput, operation)
) WITHOUT ROWID
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


def key_of(output: Record) -> str:
    """Return the key of an output: no item has two outputs with one secret."""
    return f"{output['itemId']}.{output['secret']}"


def output_of(output: Record) -> Output:
    """Return what the record of an output says to the service, and in a link."""
    return Output(output["amount"], output["itemId"], output["secret"])


def item_of(record: Record) -> Item:
    """Return what the record of an item says of it."""
    return Item(record["id"], record["total"], record.get("metadata"))


def now_ms() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def _output(
    text: str, taken: str | None, made: str | None, operation: str | None
) -> Record:
    """Return an output in its state, and that `before` the operation that takes it."""
    record = json.loads(text)
    ours = "given" if record.get("givenAt") else "held"
    before = {None: "seen", "refused": "void", "done": ours}.get(made, "coming")
    if record.get("foundAt"):
        before = ours
    state = {"done": "spent", "begun": "leaving", "open": "offered"}.get(
        taken or "", before
    )
    state = "spent" if record.get("spentElsewhere") else state
    about = {"operation": operation} if operation else {}
    return {**record, **about, "state": state, "before": before}


class Store:
    """A wallet's file, of mode 0600. Threads and processes may share it.

    Its records have a `key`; a `kind` is outputs, operations, items, seeds, numbers or
    notes. None is not kept. Raise `WalletFileError` when it is locked, damaged, of
    another kind or of a newer version.
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
        except BaseException:
            self.close()
            raise

    @contextmanager
    def transaction(self) -> Iterator[Self]:
        """Look at the records and change them: wholly and on disk, or not at all."""
        with self._lock, self._translated():
            try:
                self._execute("BEGIN IMMEDIATE")
                yield self
                self._execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._execute("ROLLBACK")

    def get(self, kind: str, key: str) -> Record:
        """Return the record with this key, empty if there is none."""
        sql = "SELECT record FROM records WHERE kind = ? AND key = ?"
        return next(
            (json.loads(text) for (text,) in self._execute(sql, (kind, key))), {}
        )

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
            (kind, whole["key"], json.dumps(whole)),
        )
        if kind == "operations":
            made = [(output["key"], 0) for output in whole["outputs"]]
            for output, is_input in [*((key, 1) for key in whole["inputs"]), *made]:
                move = (output, is_input, whole["key"])
                self._execute("INSERT OR IGNORE INTO moves VALUES (?, ?, ?)", move)
        return whole

    def outputs(self, item_id: str = "", *states: str) -> list[Record]:
        """Return the outputs of an item or all, in these states, oldest first."""
        # The key of an output begins with its item and a dot, which a slash follows.
        bounds = (f"{item_id}.", f"{item_id}/") if item_id else ("", "~")
        outputs = [_output(*row) for row in self._execute(_OUTPUTS, bounds)]
        return [output for output in outputs if not states or output["state"] in states]

    def output(self, key: str) -> Record:
        """Return an output with its `state` and last `operation`, empty if unknown."""
        return next(
            (_output(*row) for row in self._execute(_OUTPUTS, (key, key + "\0"))), {}
        )

    def change(self, key: str, **facts: Any) -> None:
        """Change facts about an output, which is added if it is new.

        None removes one.
        """
        known, now = self.get("outputs", key), now_ms()
        if any(known.get(name) != value for name, value in facts.items()):
            new = {"createdAt": now, **known, **facts}
            self.put("outputs", {**new, "key": key, "changedAt": now})

    def follow(self, operation: Record) -> None:
        """Bring outputs to what an operation that is done has taken and made."""
        for key in operation["inputs"]:
            # By which operation is more than that it is spent.
            self.change(key, spentElsewhere=None, isUnclear=None, unknown=None)
        sent = () if operation["kind"] == "mint" else operation["body"]["outputs"]
        for raw in sent:
            # Another copy may have meant to use the number for another amount.
            made = Output.parse(raw)
            key = f"{made.item_id}.{made.secret}"
            self.change(key, amount=made.amount)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

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
            self.path.chmod(0o600)
        for statement in () if count else _SCHEMA.split(";"):
            self._execute(statement)
        # The first version knew of no seeds.
        if version != _FORMAT:
            self._execute(f"PRAGMA user_version = {_FORMAT}")

    def _execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        # Outside of a transaction too a thread waits for the end of another one's.
        with self._lock, self._translated():
            return self._connection.execute(sql, parameters).fetchall()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            is_busy = (
                getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
            )
            why = (
                "is in use by another program"
                if is_busy
                else f"cannot be used: {error}"
            )
            raise WalletFileError(f"{self.path} {why}.") from None
        except OSError as error:
            raise WalletFileError(
                f"{self.path} cannot be opened: {error.strerror}."
            ) from None
