"""The repository.

Every question to the ledger and every change of it, one transaction a method.
"""

import secrets
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, Executable, Row
from sqlalchemy.exc import DBAPIError

from deeds.domain.errors import (
    ItemNotFoundError,
    LedgerRolledBackError,
    LedgerUnavailableError,
)
from deeds.domain.model import (
    Argon2Cost,
    HashScheme,
    Item,
    ItemSchemes,
    MintRecord,
    OfferRecord,
    OfferState,
    Operation,
    OperationKind,
    Output,
    OutputKey,
    RecordedOutput,
    SchemeSpec,
    SchemeUse,
    SecretClass,
    SwapRecord,
)
from deeds.domain.rules import check_balance, expires_at_s
from storage import statements
from storage.mark import LastOperations, Mark, MarkFile, MissingOperationError
from storage.operations import Writer, read_item_schemes, read_outputs
from storage.schema import may_serve
from storage.transactions import OnRetry, Transactions

Value = TypeVar("Value")

_KEY_SALT_BYTES = 16

# Items whose salt and schemes are kept in memory, about 500 bytes each: 5 MB.
ITEM_SCHEMES_KEPT_MAX = 10_000

# Items kept in memory. With metadata of at most so many characters each, of up to 4
# bytes: 16 MB.
ITEMS_KEPT_MAX = 1_000
METADATA_KEPT_LENGTH_MAX = 4_000


class Repository:
    """A `Ledger` (deeds.domain.service) on an engine whose database this code may serve.

    Any thread may call it. `on_retry` is called with a key of
    `storage.transactions.TRIES_MAX`. Where a mark is kept, the ledger must not be
    behind it, or the start stops.
    """

    def __init__(
        self,
        engine: Engine,
        on_retry: OnRetry | None = None,
        mark_file: MarkFile | None = None,
    ) -> None:
        self._transactions = Transactions(engine, on_retry)
        self._last = LastOperations(engine, mark_file, self._transactions.read)
        self._dialect_name = engine.dialect.name
        self._item_schemes: dict[str, ItemSchemes] = {}
        self._items: dict[str, Item] = {}

    def close(self) -> None:
        """Close every connection. The repository must not be used again."""
        self._last.close()
        self._transactions.close()

    def check_ready(self) -> None:
        """Return if the ledger can be read and written, and this code may serve its revision.

        Where the last write was refused by the database, one that changes nothing is
        tried. Raises a RetryLaterError.
        """
        self._last.check_not_lost()
        try:
            row = self._row(statements.READ_READINESS[self._dialect_name])
            if row is None or not may_serve(row.version_num):
                raise LedgerUnavailableError(
                    "the database has another revision than the code"
                )
            if row.is_read_only:
                raise LedgerUnavailableError("the database is read-only")
            if self._transactions.was_refused:
                self._transactions.write(
                    lambda connection: connection.execute(statements.WRITE_NOTHING)
                )
        except DBAPIError:
            raise LedgerUnavailableError from None

    def register_schemes(self, specs: Sequence[SchemeSpec]) -> None:
        """Record the schemes that are not recorded yet."""

        def record(connection: Connection) -> None:
            # One by one: many go through psycopg's pipeline, which logs a line of its
            # own if one is refused.
            for spec in specs:
                values = {
                    "secret_class": spec.secret_class,
                    "pepper_fingerprint": spec.pepper_fingerprint,
                    "key_salt": secrets.token_bytes(_KEY_SALT_BYTES),
                }
                connection.execute(statements.INSERT_SCHEME, values | asdict(spec.cost))

        self._transactions.write(record)

    def read_schemes(self) -> tuple[HashScheme, ...]:
        """Return every scheme ever recorded, oldest first."""
        return tuple(map(scheme_of, self._rows(statements.READ_SCHEMES)))

    def read_scheme_use(self, scheme_id: int) -> SchemeUse:
        """Return what was hashed under the scheme. May read every output."""
        values = {"scheme_id": scheme_id}
        return SchemeUse(
            self._transactions.read(
                lambda connection: connection.scalar(
                    statements.READ_SCHEME_USE, values
                ),
                is_long=True,
            )
        )

    def read_item(self, item_id: str) -> Item:
        """Return the item; raise ItemNotFoundError if there is none."""
        if kept := self._items.get(item_id):
            return kept
        row = self._row(statements.READ_ITEM, item_id=item_id)
        if row is None:
            raise ItemNotFoundError
        item = Item(row.id, row.total, row.metadata)
        if len(item.metadata or "") <= METADATA_KEPT_LENGTH_MAX:
            _keep(self._items, {item_id: item}, ITEMS_KEPT_MAX)
        return item

    def read_item_schemes(
        self, item_ids: Collection[str], *, may_be_stale: bool = False
    ) -> dict[str, ItemSchemes]:
        """Return the salts and schemes of those of the items that exist.

        If they `may_be_stale`, those of an item are what they were when they were last
        read.
        """
        kept = self._item_schemes
        found = {each: kept[each] for each in item_ids if may_be_stale and each in kept}
        missing = [each for each in item_ids if each not in found]
        read_missing = partial(read_item_schemes, item_ids=missing)
        rows = self._transactions.read(read_missing) if missing else ()
        scheme_ids: dict[str, set[int]] = {}
        for row in rows:
            scheme_ids.setdefault(row.id, set()).add(row.scheme_id)
        read = {
            row.id: ItemSchemes(row.salt, frozenset(scheme_ids[row.id]), row.total)
            for row in rows
        }
        _keep(kept, read, ITEM_SCHEMES_KEPT_MAX)
        return found | read

    def read_outputs(
        self, keys: Iterable[OutputKey]
    ) -> dict[OutputKey, RecordedOutput]:
        """Return those of the outputs that exist, spent or not."""
        return self._transactions.read(
            lambda connection: read_outputs(connection, keys)
        )

    def read_operation(self, key_hashes: Sequence[bytes]) -> Operation | None:
        """Return the operation recorded under one of the idempotency key hashes."""
        if not key_hashes:
            return None
        row = self._row(statements.READ_OPERATION, key_hashes=list(key_hashes))
        if row is None:
            return None
        kind = OperationKind(row.kind)
        return Operation(
            row.id, kind, row.inputs_count, row.outputs_count, row.item_id, row.offer_id
        )

    def record_mint(self, record: MintRecord) -> int:
        """Create an item and its outputs; return the operation's id."""
        return self._write(lambda writer: writer.mint(record)).operation_id

    def record_swap(self, record: SwapRecord) -> int:
        """Spend the inputs and create the outputs, all or nothing.

        Return the operation's id.
        """
        check_balance(record.inputs, record.outputs)
        return self._write(lambda writer: writer.swap(record)).operation_id

    def record_offer(self, record: OfferRecord) -> tuple[int, int]:
        """Record the offer.

        Return the operation's id and the second in which it expires.
        """
        made = self._write(lambda writer: writer.offer(record))
        return made.operation_id, expires_at_s(made.created_at_ms, record.expires_in_s)

    def read_offer(self, offer_id: str, scheme_id: int) -> OfferRecord | None:
        """Return the offer, in its state to a process with this current strong scheme."""
        now_ms = time.time_ns() // 1_000_000
        values = {"offer_id": offer_id, "scheme_id": scheme_id, "now_ms": now_ms}
        offer, inputs, outputs, forbidden = None, [], [], {}
        for row in self._rows(statements.READ_OFFER, **values):
            if row.item_id is None:
                offer = row
                continue
            key = OutputKey(row.item_id, row.digest)
            if row.what == "input":
                inputs.append(Output(key, row.scheme_id, row.amount))
            elif row.amount is None:
                forbidden[key] = 0
            else:
                outputs.append((key, row.amount))
        if offer is None:
            return None
        half = SwapRecord(
            inputs=tuple(inputs),
            outputs=tuple(
                Output(key, offer.scheme_id, amount) for key, amount in outputs
            ),
            outputs_forbidden=forbidden,
            schemes_counts={},
            schemes_added=frozenset(),
            idempotency_key_hashes=(),
        )
        state = OfferState(offer.what)
        return OfferRecord(
            offer_id, half, offer.scheme_id, offer.expires_in, offer.expires_at, state
        )

    def _write(self, work: Callable[[Writer], Mark]) -> Mark:
        """Write an operation on the condition that those this process committed last are there."""
        self._last.check_not_lost()

        def run(connection: Connection) -> tuple[Mark, Sequence[Mark]]:
            predecessors = self._last.marks
            return work(Writer(connection, predecessors)), predecessors

        try:
            committed, predecessors = self._transactions.write(run)
        except MissingOperationError as missing:
            self._last.report_lost(missing)
            raise LedgerRolledBackError from None
        self._last.note(committed, predecessors)
        return committed

    def _row(self, statement: Executable, **values: Any) -> Row[Any] | None:
        return next(iter(self._rows(statement, **values)), None)

    def _rows(self, statement: Executable, **values: Any) -> Sequence[Row[Any]]:
        return self._transactions.read(
            lambda connection: connection.execute(statement, values).all()
        )


def _keep(kept: dict[str, Value], read: Mapping[str, Value], count_max: int) -> None:
    """Keep what was read; forget everything else where it gets too much."""
    if len(kept) + len(read) > count_max:
        kept.clear()
    kept.update(read)


def scheme_of(row: Row[Any]) -> HashScheme:
    """Return the scheme that a row of `hash_schemes` holds."""
    cost = Argon2Cost(row.memory_cost_kib, row.time_cost, row.parallelism)
    spec = SchemeSpec(SecretClass(row.secret_class), cost, row.pepper_fingerprint)
    return HashScheme(row.id, spec, row.key_salt)
