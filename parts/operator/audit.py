"""Checks the invariants of a ledger and counts what is in it. Changes nothing.

It reads one snapshot of the ledger, and the service may run meanwhile. The database
computes sums, on disk if it has to, and enforces constraints and the types of values.
For each violated invariant, only a few places are read.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from deeds.errors import InvalidRequestError, StartError
from deeds.model import HashPolicy
from deeds.part import Ledger, Part
from deeds.raw_output import ITEM_ID_PREFIX
from deeds.settings import read_setting
from parts.operator.tables import PLACES_COUNT_MAX, compare_tables, join_places
from schemas.requests import MetadataSchema, load
from storage.database import Database, Reader
from storage.repository import is_not_id_sql
from storage.schema import READ_VERSIONS, find_mark

# Invariants that hold for every ledger at every moment. The database itself checks the
# first.
DATABASE_IS_SOUND = "the database is not damaged and its constraints hold"
TABLES_ARE_OURS = "the tables are those of this code"

# The kinds of the core's operations. A part adds its own.
_KINDS = ("mint", "swap")

# Items whose metadata is read at once. Each may be as long as a request body.
_METADATA_COUNT_MAX = 50

# Further invariants, each with a query for the places where it is violated. They detect
# references to missing rows too, without relying on constraints. Parts add their own.
_CHECKS_IN_SQL = {
    "the live outputs of an item sum to its total": """
        SELECT id FROM items WHERE total <> (
            SELECT coalesce(SUM(amount), 0) FROM outputs
            WHERE item_id = items.id AND spent_by IS NULL
        )
    """,
    "an operation was made between 1970 and the year 9999": """
        SELECT id FROM operations WHERE created_at_ms NOT BETWEEN 0 AND 253402300799999
    """,
    "an item has the form of an id": f"""
        SELECT id FROM items WHERE {is_not_id_sql("id", ITEM_ID_PREFIX)}
    """,  # noqa: S608
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
        ) AS moves
        GROUP BY item_id, operation_id HAVING SUM(units) <> 0
    """,
    # ELSE is for kinds of parts, and for a missing operation, whose kind is NULL.
    "an operation mints an item, swaps or moves nothing, as its kind says": """
        SELECT id FROM (
            SELECT id, kind, 0 AS inputs, 0 AS outputs, 0 AS items FROM operations
            UNION ALL SELECT created_by, NULL, 0, 1, 0 FROM outputs
            UNION ALL SELECT spent_by, NULL, 1, 0, 0
            FROM outputs WHERE spent_by IS NOT NULL
            UNION ALL SELECT created_by, NULL, 0, 0, 1 FROM items
        ) AS moves
        GROUP BY id
        HAVING CASE MAX(kind)
            WHEN 'mint' THEN SUM(items) <> 1 OR SUM(outputs) = 0 OR SUM(inputs) > 0
            WHEN 'swap' THEN SUM(items) > 0 OR SUM(outputs) = 0 OR SUM(inputs) = 0
            ELSE SUM(items) + SUM(outputs) + SUM(inputs) > 0
        END
    """,
}

_COUNTS = {
    "items": "SELECT count(*) FROM items",
    "mints": "SELECT count(*) FROM operations WHERE kind = 'mint'",
    "swaps": "SELECT count(*) FROM operations WHERE kind = 'swap'",
    "live_outputs": "SELECT count(*) FROM outputs WHERE spent_by IS NULL",
    "spent_outputs": "SELECT count(spent_by) FROM outputs",
}

_READ_METADATA = f"""
    SELECT id, metadata FROM items WHERE id > ? AND metadata IS NOT NULL
        AND NOT {is_not_id_sql("id", ITEM_ID_PREFIX)}
    ORDER BY id LIMIT {_METADATA_COUNT_MAX}
"""  # noqa: S608
_READ_POLICIES = """
    SELECT id, memory_cost_kib, time_cost, parallelism, pepper_fingerprint
    FROM hash_policies
"""
_FINGERPRINT = re.compile("([0-9a-f]{16})?")

_COUNT_ITEMS = """
    SELECT count(items.id),
        memory_cost_kib, time_cost, parallelism, pepper_fingerprint
    FROM hash_policies LEFT JOIN items ON hash_policy_id = hash_policies.id
    GROUP BY hash_policies.id ORDER BY hash_policies.id
"""


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The counts of an audit, and the places of violations by invariant.

    `remarks` are differences of the tables that violate no invariant.
    """

    counts: dict[str, int]
    violations: dict[str, str]
    remarks: list[str]


def audit(ledger: Ledger) -> AuditReport:
    """Check every invariant of a ledger whose tables have the code's versions.

    If the tables differ from the code's, nothing else is checked.
    """
    differences, remarks = compare_tables(ledger)
    if differences:
        return AuditReport({}, {TABLES_ARE_OURS: join_places(differences)}, [])
    with ledger.database.snapshot() as read:
        counts = count_ledger(read, ledger.parts)
        places_by_invariant = {DATABASE_IS_SOUND: ledger.database.find_damage()}
        for checks in (_CHECKS_IN_SQL, *(part.checks for part in ledger.parts)):
            for invariant, check in checks.items():
                rows = read(f"{check} LIMIT {PLACES_COUNT_MAX + 1}")
                places_by_invariant[invariant] = [str(row[0]) for row in rows]
        for invariant, find in _CHECKS_IN_PYTHON.items():
            places = islice(find(read, ledger), PLACES_COUNT_MAX + 1)
            places_by_invariant[invariant] = list(places)
    violations = {
        invariant: join_places(places)
        for invariant, places in places_by_invariant.items()
        if places
    }
    return AuditReport(counts, violations, remarks)


def _find_unknown_kinds(read: Reader, ledger: Ledger) -> Iterator[str]:
    """Yield operations of unknown kinds.

    Yields nothing if there are tables of a missing part or of newer code, which may
    know further kinds.
    """
    rows = read(READ_VERSIONS)
    mark = find_mark(rows)
    versions = {part: number for part, number, _ in rows if (part, number) != mark}
    if versions != {schema.part: schema.newest for schema in ledger.schemas}:
        return
    kinds = [*_KINDS, *(kind for part in ledger.parts for kind in part.kinds)]
    marks = ", ".join("?" * len(kinds))
    sql = f"SELECT id FROM operations WHERE kind NOT IN ({marks})"  # noqa: S608
    for row in read(f"{sql} LIMIT {PLACES_COUNT_MAX + 1}", kinds):
        yield str(row[0])


def _find_invalid_policies(read: Reader, _ledger: Ledger) -> Iterator[str]:
    """Yield hash policies that no valid setting could have created."""
    for policy_id, *values in read(_READ_POLICIES):
        policy = HashPolicy(*values)
        try:
            read_setting({"DEEDS_ARGON2": str(policy)}, "ordinary_cost")
        except StartError:
            yield str(policy_id)
            continue
        if not _FINGERPRINT.fullmatch(policy.pepper_fingerprint):
            yield str(policy_id)


def _find_invalid_metadata(read: Reader, _ledger: Ledger) -> Iterator[str]:
    """Yield items whose metadata is not as a mint writes it."""
    schema = MetadataSchema()
    last = ""
    while rows := read(_READ_METADATA, (last,)):
        for item_id, metadata in rows:
            try:
                is_valid = load(schema, json.loads(metadata)) == metadata
            except (ValueError, RecursionError, InvalidRequestError):
                is_valid = False
            if not is_valid:
                yield item_id
        last = rows[-1][0]


# Invariants that SQL cannot express. Each function yields the places of violations.
_CHECKS_IN_PYTHON: dict[str, Callable[[Reader, Ledger], Iterator[str]]] = {
    "an operation has a kind that is known": _find_unknown_kinds,
    "a hash policy is one that a setting can ask for": _find_invalid_policies,
    "metadata is JSON as a mint writes it": _find_invalid_metadata,
}


def count_ledger(read: Reader, parts: Sequence[Part]) -> dict[str, int]:
    """Return the counts of the core and the parts. Reads the whole ledger."""
    queries = _COUNTS.copy()
    for part in parts:
        queries |= part.counts
    return {name: read(query)[0][0] for name, query in queries.items()}


def count_policies(database: Database) -> list[tuple[HashPolicy, int]]:
    """Return every policy with its number of items, oldest first."""
    rows = database.read(_COUNT_ITEMS)
    return [(HashPolicy(*policy), items_count) for items_count, *policy in rows]
