"""Checks every invariant of a ledger, and changes nothing.

It reads one state of the ledger while the service goes on. The database sums and sorts, on disk
where it must; a few rows at a time come back, and only of what is violated.
"""

# ruff: noqa: S608  (the numbers in the statements are our own)

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from sqlalchemy import Connection, Engine, text

from deeds.domain.model import AMOUNT_MAX
from storage.counts import LedgerCounts, count_ledger
from storage.transactions import snapshot

# Called with the checks that are done and with how many there are in all.
Progress = Callable[[int, int], None]

# More than anybody reads; the rest is counted.
PLACES_KEPT_MAX = 20

# In a ledger that is wrong throughout, every row is a finding.
_ROWS_AT_ONCE = 1_000


class Invariant(StrEnum):
    """What must be true of every ledger at every moment."""

    DATABASE = "the database itself is not damaged"
    SCHEME_FORM = "a hash scheme has a class, a cost and a salt of 16 bytes"
    ITEM_FORM = "an item has a total of 1 to 2^53 - 1 and a salt of 16 bytes"
    ITEM_TOTAL = "the live outputs of an item sum to its total"
    ITEM_SCHEMES = "an item names exactly the hash schemes of its outputs"
    OUTPUT_ITEM = "an output belongs to an item that exists"
    OUTPUT_FORM = "an output has an amount of 1 to 2^53 - 1 and a digest of 32 bytes"
    OUTPUT_SCHEME = "an output is hashed under a scheme that is known"
    OUTPUT_ORDER = "an output is spent by a later operation than created it"
    OUTPUT_ONCE = "a secret is used once in an item"
    OPERATION_BALANCE = "an operation gives as many units of an item as it takes, or mints"
    OPERATION_COUNTS = "an operation has as many inputs and outputs as it says"
    OPERATION_KNOWN = "items and outputs name only operations that exist"
    OPERATION_KIND = "a mint makes one item and spends nothing, a swap makes none"
    KEY_ONCE = "an Idempotency-Key makes one operation"


# Whether the units of a group do not sum to zero. Both halves of each number are summed by
# themselves: so no sum of 64-bit numbers overflows, however wrong they are.
_IS_UNEQUAL = f"""(
    SUM(units % {1 << 32}) % {1 << 32} <> 0
    OR SUM(units / {1 << 32}) + SUM(units % {1 << 32}) / {1 << 32} <> 0
)"""

# Each column is named after an invariant and holds where it is violated, or NULL. `IS NOT TRUE`
# finds NULLs too. A column of SQLite may hold a value of any type, so amounts are also cast.
_CHECKS = (
    """
    SELECT id AS scheme_form FROM hash_schemes
    WHERE (
        secret_class IN ('ordinary', 'strong') AND memory_cost_kib > 0 AND time_cost > 0
        AND parallelism > 0 AND length(key_salt) = 16
    ) IS NOT TRUE
    """,
    f"""
    SELECT id AS item_form FROM items
    WHERE (total BETWEEN 1 AND {AMOUNT_MAX} AND length(salt) = 16) IS NOT TRUE
    """,
    f"""
    SELECT id AS item_total FROM items
    WHERE (
        SELECT {_IS_UNEQUAL} FROM (
            SELECT amount AS units FROM outputs WHERE item_id = items.id AND spent_by IS NULL
            UNION ALL SELECT -items.total
        ) AS parts
    )
    """,
    """
    SELECT item_id || ' (scheme ' || scheme_id || ')' AS item_schemes FROM (
        SELECT DISTINCT item_id, scheme_id FROM outputs WHERE NOT EXISTS (
            SELECT 1 FROM item_schemes AS said
            WHERE said.item_id = outputs.item_id AND said.scheme_id = outputs.scheme_id
        )
        UNION ALL SELECT item_id, scheme_id FROM item_schemes WHERE NOT EXISTS (
            SELECT 1 FROM outputs
            WHERE item_id = item_schemes.item_id AND scheme_id = item_schemes.scheme_id
        )
    ) AS differing
    """,
    """
    SELECT item_id AS output_item FROM outputs GROUP BY item_id
    HAVING NOT EXISTS (SELECT 1 FROM items WHERE id = item_id)
    """,
    f"""
    SELECT
        CASE WHEN has_form IS NOT TRUE THEN place END AS output_form,
        CASE WHEN has_scheme IS NOT TRUE THEN place END AS output_scheme,
        CASE WHEN has_order IS NOT TRUE THEN place END AS output_order
    FROM (
        SELECT
            item_id || ' (operation ' || created_by || ')' AS place,
            amount BETWEEN 1 AND {AMOUNT_MAX} AND amount = CAST(amount AS BIGINT)
                AND length(digest) = 32 AS has_form,
            scheme_id IN (SELECT id FROM hash_schemes) AS has_scheme,
            spent_by IS NULL OR spent_by > created_by AS has_order
        FROM outputs
    ) AS judged
    WHERE (has_form AND has_scheme AND has_order) IS NOT TRUE
    """,
    """
    SELECT item_id AS output_once FROM outputs GROUP BY item_id, digest HAVING count(*) > 1
    """,
    f"""
    SELECT operation_id || ' (' || item_id || ')' AS operation_balance FROM (
        SELECT created_by AS operation_id, item_id, amount AS units FROM outputs
        UNION ALL SELECT spent_by, item_id, -amount FROM outputs WHERE spent_by IS NOT NULL
        UNION ALL SELECT created_by, id, -total FROM items
    ) AS parts
    GROUP BY item_id, operation_id HAVING {_IS_UNEQUAL}
    """,
    """
    SELECT
        CASE WHEN known = 0 THEN id END AS operation_known,
        CASE WHEN known = 1 AND NOT is_counted THEN id END AS operation_counts,
        CASE WHEN known = 1 AND NOT is_kind THEN id END AS operation_kind
    FROM (
        SELECT
            id, SUM(known) AS known,
            SUM(outputs) = 0 AND SUM(inputs) = 0 AS is_counted,
            SUM(kinds) = SUM(known) AND SUM(items) = SUM(mints)
                AND SUM(mints) * SUM(spent) = 0 AS is_kind
        FROM (
            SELECT
                created_by AS id, 0 AS known, 0 AS kinds, 0 AS mints,
                0 AS items, 1 AS outputs, 0 AS inputs, 0 AS spent
            FROM outputs
            UNION ALL SELECT spent_by, 0, 0, 0, 0, 0, 1, 1 FROM outputs WHERE spent_by IS NOT NULL
            UNION ALL SELECT created_by, 0, 0, 0, 1, 0, 0, 0 FROM items
            UNION ALL SELECT
                id, 1, CASE WHEN kind IN ('mint', 'swap') THEN 1 ELSE 0 END,
                CASE WHEN kind = 'mint' THEN 1 ELSE 0 END, 0, -outputs_count, -inputs_count, 0
            FROM operations
        ) AS parts
        GROUP BY id
    ) AS judged
    WHERE known = 0 OR NOT is_counted OR NOT is_kind
    """,
    """
    SELECT MIN(id) AS key_once FROM operations WHERE idempotency_key_hash IS NOT NULL
    GROUP BY idempotency_key_hash HAVING count(*) > 1
    """,
)


@dataclass(slots=True)
class Finding:
    """Where an invariant is violated: the first places, and how many there are."""

    places: list[str] = field(default_factory=list)
    count: int = 0

    def __str__(self) -> str:
        """Return the places in one line."""
        more = self.count - len(self.places)
        return ", ".join(self.places) + (f" and {more:,} more" if more else "")


@dataclass(slots=True)
class AuditReport:
    """What an audit counted, and the invariants that it found violated."""

    counts: LedgerCounts
    findings: dict[Invariant, Finding] = field(default_factory=dict)

    def add(self, invariant: Invariant, place: object) -> None:
        """Count a place where the invariant is violated, and keep it if it is one of the first."""
        finding = self.findings.setdefault(invariant, Finding())
        finding.count += 1
        if len(finding.places) < PLACES_KEPT_MAX:
            finding.places.append(str(place))


def audit(engine: Engine, progress: Progress) -> AuditReport:
    """Check every invariant of a ledger that is at the code's revision.

    Raises:
        DBAPIError: the database does not answer.
    """
    with snapshot(engine) as connection:
        report = AuditReport(count_ledger(connection))
        _check_database(connection, report)
        for done, check in enumerate(_CHECKS, start=1):
            rows = connection.execute(text(check), execution_options={"yield_per": _ROWS_AT_ONCE})
            for row in rows.mappings():
                for name, place in row.items():
                    if place is not None:
                        report.add(Invariant[str(name).upper()], place)
            progress(done, len(_CHECKS))
    return report


def _check_database(connection: Connection, report: AuditReport) -> None:
    """Let SQLite check its pages and indexes. Rows are judged by the checks above."""
    if connection.dialect.name != "sqlite":
        return
    for (said,) in connection.exec_driver_sql("PRAGMA integrity_check(100)"):
        if not said.startswith(("ok", "CHECK constraint failed")):
            report.add(Invariant.DATABASE, said)
