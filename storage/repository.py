"""The repository: every question to the ledger and every change of it.

Each method is one transaction.
"""

import time
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, Row
from sqlalchemy.exc import DBAPIError

from deeds.domain.errors import (
    IdempotencyKeyTakenError,
    ItemNotFoundError,
    LedgerUnavailableError,
)
from deeds.domain.model import (
    Argon2Cost,
    HashPolicy,
    Item,
    ItemHashing,
    MintRecord,
    OfferRecord,
    OfferState,
    Operation,
    Output,
    OutputKey,
    RecordedOutput,
    SwapRecord,
)
from deeds.domain.rules import check_balance, expires_at_s
from storage.checkpoint import (
    NO_OPERATION,
    Checkpoint,
    CheckpointFile,
    raise_checkpoint,
)
from storage.driver import execute
from storage.engine import make_engine
from storage.last_operations import LastOperations
from storage.lookups import read_operation, read_outputs
from storage.schema import may_serve, read_readiness
from storage.transactions import SECONDS_MAX, OnRetry, Transactions

Value = TypeVar("Value")

# Items whose hashing is kept in memory, about 600 bytes each: 6 MB.
HASHINGS_KEPT_MAX = 10_000

# Items kept in memory. With metadata of at most so many characters each, of up to 4
# bytes: 16 MB.
ITEMS_KEPT_MAX = 1_000
METADATA_KEPT_LENGTH_MAX = 4_000

# /readyz and looks at the last operations wait for no request, nor for a server that
# hangs: they have connections and a deadline of their own.
WATCH_POOL_SIZE = 2
WATCH_SECONDS_MAX = 2.0

# No `*`: PostgreSQL refuses a prepared one after a migration that adds a column.
_READ_POLICIES = """
    SELECT memory_cost_kib, time_cost, parallelism, pepper_fingerprint
    FROM hash_policies ORDER BY id
"""

_READ_ITEM = "SELECT id, total, metadata FROM items WHERE id = :item_id"

_READ_HASHINGS = """
    SELECT items.id, salt, total,
        memory_cost_kib, time_cost, parallelism, pepper_fingerprint
    FROM items JOIN hash_policies ON hash_policies.id = hash_policy_id
    WHERE items.id IN :item_ids
"""

# The offer itself with its state, then a row for each input and each output. Void: an
# input is spent, or a new secret is used.
_READ_OFFER = """
    SELECT CASE
        WHEN completed_by IS NOT NULL THEN 'completed'
        WHEN expires_at * 1000 <= :now_ms THEN 'expired'
        WHEN EXISTS (
            SELECT 1 FROM offer_inputs JOIN outputs USING (item_id, digest)
            WHERE offer_id = offers.id AND spent_by IS NOT NULL
        ) OR EXISTS (
            SELECT 1 FROM offer_outputs JOIN outputs USING (item_id, digest)
            WHERE offer_id = offers.id
        ) THEN 'void'
        ELSE 'open'
    END AS what, expires_in, expires_at, NULL AS item_id, NULL AS digest, NULL AS amount
    FROM offers WHERE id = :offer_id
    UNION ALL
    SELECT 'input', NULL, NULL, item_id, digest, amount
    FROM offer_inputs JOIN outputs USING (item_id, digest) WHERE offer_id = :offer_id
    UNION ALL
    SELECT 'output', NULL, NULL, item_id, digest, amount
    FROM offer_outputs WHERE offer_id = :offer_id
"""


class Repository:
    """A `Ledger` (deeds.domain.service) on the engine of a database.

    Any thread may call it. `on_retry` is called with a key of
    `storage.transactions.TRIES_MAX`, or with "checkpoint". Where there is a checkpoint
    file, the ledger must have reached it, or the start stops.
    """

    def __init__(
        self,
        engine: Engine,
        on_retry: OnRetry | None = None,
        checkpoint_file: CheckpointFile | None = None,
    ) -> None:
        self._is_postgresql = engine.dialect.name == "postgresql"
        reached = NO_OPERATION
        if checkpoint_file is not None:
            reached = raise_checkpoint(engine, checkpoint_file)
        self._watch_engine = make_engine(engine.url, WATCH_POOL_SIZE)
        self._last = LastOperations(
            self._watch_engine, checkpoint_file, reached, on_retry
        )
        self._transactions = Transactions(engine, self._last, on_retry, SECONDS_MAX)
        self._watch = Transactions(
            self._watch_engine, self._last, None, WATCH_SECONDS_MAX
        )
        self._hashings: dict[str, ItemHashing] = {}
        self._items: dict[str, Item] = {}

    def disconnect(self) -> None:
        """Close what the start has opened: none of it may be carried across a fork.

        The next use opens connections of its own process.
        """
        self._transactions.disconnect()

    def close(self) -> None:
        """End what it has started. It must not be used again; its engine may be."""
        self._last.close()
        self._transactions.close()
        self._watch.close()
        self._watch_engine.dispose()

    def check_ready(self) -> None:
        """Return if the ledger can be read and written, and this code may serve it.

        Where the last write was refused by the database, one that changes nothing is
        tried. Raises a RetryLaterError.
        """
        try:
            row = self._watch.read(read_readiness)
            # The read may have told it.
            self._last.check_not_lost()
            if row is None or not may_serve(row.version_num):
                raise LedgerUnavailableError(
                    "the database has another revision than the code"
                )
            if row.is_read_only:
                raise LedgerUnavailableError("the database is read-only")
            if self._transactions.was_refused:
                self._watch.write(None)
                self._transactions.was_refused = False
        except DBAPIError:
            raise LedgerUnavailableError from None

    def add_first_policy(self, policy: HashPolicy) -> None:
        """Record the ledger's first policy; do nothing where there is one."""
        self._transactions.write(policy)

    def read_policies(self) -> list[HashPolicy]:
        """Return every policy ever recorded, the first one first."""
        return [policy_of(row) for row in self._rows(_READ_POLICIES)]

    def read_item(self, item_id: str) -> Item:
        """Return the item; raise ItemNotFoundError if there is none."""
        if kept := self._items.get(item_id):
            return kept
        rows = self._rows(_READ_ITEM, item_id=item_id)
        if not rows:
            raise ItemNotFoundError
        row = rows[0]
        item = Item(row.id, row.total, row.metadata)
        if len(item.metadata or "") <= METADATA_KEPT_LENGTH_MAX:
            _keep(self._items, {item_id: item}, ITEMS_KEPT_MAX)
        return item

    def read_items(self, item_ids: Collection[str]) -> dict[str, ItemHashing]:
        """Return what hashing needs of those of the items that exist."""
        kept = self._hashings
        known = {each: kept.get(each) for each in item_ids}
        found = {item_id: each for item_id, each in known.items() if each}
        missing = [each for each in item_ids if each not in found]
        if not missing:
            return found
        rows = self._rows(_READ_HASHINGS, len(missing), item_ids=missing)
        read = {
            row.id: ItemHashing(row.salt, policy_of(row), row.total) for row in rows
        }
        _keep(kept, read, HASHINGS_KEPT_MAX)
        return found | read

    def read_outputs(
        self, keys: Iterable[OutputKey]
    ) -> dict[OutputKey, RecordedOutput]:
        """Return those of the outputs that exist, spent or not."""
        return self._transactions.read(self._read_outputs, set(keys))

    def read_operation(self, idempotency_key_hash: bytes | None) -> Operation | None:
        """Return the operation recorded under the hash of a key, if any."""
        if idempotency_key_hash is None:
            return None
        operation = self._transactions.read(read_operation, idempotency_key_hash)
        if operation is not None:
            self._confirm(operation)
        return operation

    def record_mint(self, record: MintRecord) -> int:
        """Create an item and its outputs; return the operation's id."""
        return self._record(record).operation_id

    def record_swap(self, record: SwapRecord) -> int:
        """Spend the inputs and create the outputs, all or nothing.

        Returns the operation's id.
        """
        check_balance(record.inputs, record.outputs)
        return self._record(record).operation_id

    def record_offer(self, record: OfferRecord) -> tuple[int, int]:
        """Record the offer.

        Returns the operation's id and the second in which the offer expires.
        """
        made = self._record(record)
        return made.operation_id, expires_at_s(made.created_at_ms, record.expires_in_s)

    def read_offer(self, offer_id: str) -> OfferRecord | None:
        """Return the offer in its state."""
        now_ms = time.time_ns() // 1_000_000
        rows = self._rows(_READ_OFFER, offer_id=offer_id, now_ms=now_ms)
        halves: dict[str, list[Output]] = {"input": [], "output": []}
        offer = None
        for row in rows:
            if row.what in halves:
                key = OutputKey(row.item_id, row.digest)
                halves[row.what].append(Output(key, row.amount))
            else:
                offer = row
        if offer is None:
            return None
        half = SwapRecord(tuple(halves["input"]), tuple(halves["output"]))
        state = OfferState(offer.what)
        return OfferRecord(offer_id, half, offer.expires_in, offer.expires_at, state)

    def _record(self, record: MintRecord | SwapRecord | OfferRecord) -> Checkpoint:
        try:
            made = self._transactions.write(record)
        except IdempotencyKeyTakenError as taken:
            self._confirm(taken.operation)
            raise
        self._last.note(made)
        return made

    def _confirm(self, operation: Operation) -> None:
        """Make an operation that is to be answered again as safe as a new one."""
        if self._is_postgresql:
            self._last.note_again(self._transactions.write(operation))

    def _rows(self, sql: str, expected_count: int = 1, **values: Any) -> list[Row[Any]]:
        return self._transactions.read(self._read_rows, sql, expected_count, values)

    def _read_rows(
        self,
        connection: Connection,
        sql: str,
        expected_count: int,
        values: Mapping[str, Any],
    ) -> list[Row[Any]]:
        rows = list(execute(connection, sql, values))
        if len(rows) < expected_count:
            self._last.look(connection)
        return rows

    def _read_outputs(
        self, connection: Connection, keys: Collection[OutputKey]
    ) -> dict[OutputKey, RecordedOutput]:
        found = read_outputs(connection, keys)
        if len(found) < len(keys):
            self._last.look(connection)
        return found


def policy_of(row: Row[Any]) -> HashPolicy:
    """Return the policy that a row has the columns of."""
    cost = Argon2Cost(row.memory_cost_kib, row.time_cost, row.parallelism)
    return HashPolicy(cost, row.pepper_fingerprint)


def _keep(kept: dict[str, Value], read: Mapping[str, Value], count_max: int) -> None:
    """Keep what was read; forget everything else where it gets too much."""
    if len(kept) + len(read) > count_max:
        kept.clear()
    kept.update(read)
