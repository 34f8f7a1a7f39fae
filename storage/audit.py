"""Checks the invariants of a ledger and counts what is in it. Changes nothing.

It reads one state of the ledger while the service goes on. The database sums and sorts,
on disk where it must, and keeps what constraints say; a few places come back where
something is violated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, Engine

from deeds.domain.model import HashPolicy
from storage.driver import execute
from storage.repository import policy_of
from storage.transactions import snapshot

# More than anybody reads.
PLACES_COUNT_MAX = 20

# What must be true of every ledger at every moment. That the database itself is sound
# is asked of SQLite.
DATABASE_IS_SOUND = "the database is not damaged and its constraints hold"

# Each of the others with a query that returns where it is violated. References to rows
# that are missing show up as differences: not even constraints are relied on for them.
_CHECKS = {
    "the live outputs of an item sum to its total": """
        SELECT id FROM items WHERE total <> (
            SELECT coalesce(SUM(amount), 0) FROM outputs
            WHERE item_id = items.id AND spent_by IS NULL
        )
    """,
    "an item names a hash policy that is known": """
        SELECT id FROM items WHERE NOT EXISTS (
            SELECT 1 FROM hash_policies WHERE hash_policies.id = hash_policy_id
        )
    """,
    "an operation gives as many units of an item as it takes, or mints": """
        SELECT operation_id || ' (' || item_id || ')' FROM (
            SELECT created_by AS operation_id, item_id, amount AS units FROM outputs
            UNION ALL SELECT spent_by, item_id, -amount
            FROM outputs WHERE spent_by IS NOT NULL
            UNION ALL SELECT created_by, id, -total FROM items
        ) AS parts
        GROUP BY item_id, operation_id HAVING SUM(units) <> 0
    """,
    # The two sides of a making are apart from those of a swap: it may move nothing.
    "an operation has the inputs, outputs and item or offer that it says": """
        SELECT DISTINCT id FROM (
            SELECT created_by AS id, FALSE AS is_offer,
                0 AS inputs, 1 AS outputs, 0 AS made
            FROM outputs
            UNION ALL SELECT spent_by, FALSE, 1, 0, 0
            FROM outputs WHERE spent_by IS NOT NULL
            UNION ALL SELECT created_by, FALSE, 0, 0, 1 FROM items
            UNION ALL SELECT created_by, TRUE, 0, 0, 1 FROM offers
            UNION ALL SELECT created_by, TRUE, 1, 0, 0
            FROM offer_inputs JOIN offers ON offers.id = offer_id
            UNION ALL SELECT created_by, TRUE, 0, 1, 0
            FROM offer_outputs JOIN offers ON offers.id = offer_id
            UNION ALL SELECT
                id, kind = 'offer', -inputs_count, -outputs_count,
                CASE kind WHEN 'swap' THEN 0 ELSE -1 END
            FROM operations
        ) AS parts
        GROUP BY id, is_offer
        HAVING SUM(inputs) <> 0 OR SUM(outputs) <> 0 OR SUM(made) <> 0
    """,
    "an offer names what exists, and was completed in time by a swap that holds its"
    " half": """
        SELECT id FROM offers WHERE completed_by IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM operations
            WHERE operations.id = completed_by AND created_at_ms < expires_at * 1000
        )
        UNION SELECT offer_id
        FROM offer_inputs LEFT JOIN offers ON offers.id = offer_id
        LEFT JOIN outputs USING (item_id, digest)
        WHERE offers.id IS NULL OR amount IS NULL
            OR coalesce(spent_by, 0) <> completed_by
        UNION SELECT offer_id
        FROM offer_outputs LEFT JOIN offers ON offers.id = offer_id
        LEFT JOIN items ON items.id = offer_outputs.item_id
        LEFT JOIN outputs ON outputs.item_id = offer_outputs.item_id
            AND outputs.digest = offer_outputs.digest
            AND outputs.amount = offer_outputs.amount
        WHERE offers.id IS NULL OR items.id IS NULL
            OR coalesce(outputs.created_by, 0) <> completed_by
    """,
}

_COUNT_LEDGER = """
    SELECT items, mints, swaps, offers_made, offers_completed, live_outputs,
        spent_outputs
    FROM (SELECT count(*) AS items FROM items) AS of_items
    CROSS JOIN (
        SELECT count(*) FILTER (WHERE kind = 'mint') AS mints,
            count(*) FILTER (WHERE kind = 'swap') AS swaps
        FROM operations
    ) AS of_operations
    CROSS JOIN (
        SELECT count(*) AS offers_made, count(completed_by) AS offers_completed
        FROM offers
    ) AS of_offers
    CROSS JOIN (
        SELECT count(*) - count(spent_by) AS live_outputs,
            count(spent_by) AS spent_outputs
        FROM outputs
    ) AS of_outputs
"""

_COUNT_ITEMS = """
    SELECT memory_cost_kib, time_cost, parallelism, pepper_fingerprint,
        count(items.id) AS items_count
    FROM hash_policies LEFT JOIN items ON hash_policy_id = hash_policies.id
    GROUP BY hash_policies.id ORDER BY hash_policies.id
"""

_COUNT_BYTES = """
    SELECT SUM(pg_total_relation_size(relid)) FROM pg_stat_user_tables
    WHERE schemaname = current_schema()
"""


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What an audit counted, and where it found an invariant violated."""

    counts: dict[str, int]
    findings: dict[str, str]


def audit(engine: Engine) -> AuditReport:
    """Check every invariant of a ledger at the code's revision.

    Raises DBAPIError if it cannot.
    """
    with snapshot(engine) as connection:
        counts = count_ledger(connection)
        found = {DATABASE_IS_SOUND: _find_damage(connection)}
        for invariant, check in _CHECKS.items():
            limited = f"{check} LIMIT {PLACES_COUNT_MAX + 1}"
            found[invariant] = execute(connection, limited).scalars().all()
    return AuditReport(
        counts, {each: _listed(places) for each, places in found.items() if places}
    )


def _find_damage(connection: Connection) -> Sequence[str]:
    """Return what SQLite finds wrong with its pages, indexes and constraints."""
    if connection.dialect.name != "sqlite":
        # PostgreSQL has amcheck for that, and no way past these constraints.
        return []
    check = f"PRAGMA integrity_check({PLACES_COUNT_MAX + 1})"
    return [said for said in execute(connection, check).scalars() if said != "ok"]


def _listed(places: Sequence[object]) -> str:
    more = " and more" if len(places) > PLACES_COUNT_MAX else ""
    return ", ".join(map(str, places[:PLACES_COUNT_MAX])) + more


def count_ledger(connection: Connection) -> dict[str, int]:
    """Count every row once. Reads the whole ledger."""
    return dict(execute(connection, _COUNT_LEDGER).mappings().one())


def count_policies(connection: Connection) -> list[tuple[HashPolicy, int]]:
    """Return every policy with its number of items, the first one first."""
    rows = execute(connection, _COUNT_ITEMS)
    return [(policy_of(row), row.items_count) for row in rows]


def count_bytes(connection: Connection) -> int:
    """Return the size of the ledger on disk, indexes and write-ahead log included."""
    if connection.dialect.name == "sqlite":
        path = str(connection.engine.url.database)
        files = [Path(path + suffix) for suffix in ("", "-wal", "-shm")]
        return sum(file.stat().st_size for file in files if file.exists())
    return int(execute(connection, _COUNT_BYTES).scalar_one())
