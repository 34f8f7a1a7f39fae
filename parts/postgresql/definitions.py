"""The definitions of tables and sequences, from PostgreSQL's catalogs."""

from deeds.errors import StartError
from parts.postgresql.connections import BoundedConnection

# The pretty forms omit the names of schemas. Internal triggers enforce foreign keys, so
# they are listed if they are disabled. An invalid index may refuse rows, but is not
# used for queries. Queries of a table also read the tables that inherit from it, which
# have their own constraints.
READ_DEFINITIONS = """
    WITH tables AS (
        SELECT pg_class.oid, relname, relpersistence, relrowsecurity
        FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname = current_schema() AND relkind IN ('r', 'p')
    )
    SELECT relname, attname || ' ' || format_type(atttypid, atttypmod)
        || coalesce(' COLLATE ' || collname, '')
        || CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END
        || CASE WHEN attidentity <> '' OR attgenerated <> ''
            THEN ' GENERATED' ELSE '' END
        || coalesce(' DEFAULT ' || pg_get_expr(adbin, adrelid), '')
    FROM tables JOIN pg_attribute ON attrelid = tables.oid
    LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    LEFT JOIN pg_collation
        ON pg_collation.oid = attcollation AND collname <> 'default'
    WHERE attnum > 0 AND NOT attisdropped
    UNION ALL SELECT relname, 'UNLOGGED' FROM tables WHERE relpersistence = 'u'
    UNION ALL SELECT relname, 'ROW LEVEL SECURITY' FROM tables WHERE relrowsecurity
    UNION ALL SELECT relname, CASE inhparent WHEN tables.oid
        THEN 'the child ' || CAST(inhrelid AS regclass)
        ELSE 'the parent ' || CAST(inhparent AS regclass) END
    FROM tables JOIN pg_inherits ON tables.oid IN (inhparent, inhrelid)
    UNION ALL SELECT relname, 'a sequence with INCREMENT ' || seqincrement
        || CASE WHEN seqcycle THEN ' CYCLE' ELSE '' END
    FROM tables JOIN pg_depend ON refobjid = tables.oid
        AND refclassid = CAST('pg_class' AS regclass) AND deptype IN ('a', 'i')
    JOIN pg_sequence ON seqrelid = objid
    UNION ALL SELECT relname,
        conname || ' ' || pg_get_constraintdef(pg_constraint.oid, TRUE)
    FROM tables JOIN pg_constraint ON conrelid = tables.oid
    WHERE contype NOT IN ('n', 't')
    UNION ALL SELECT relname, pg_get_indexdef(indexrelid, 0, TRUE)
        || CASE WHEN indisvalid AND indisready THEN '' ELSE ', not valid' END
    FROM tables JOIN pg_index ON indrelid = tables.oid
    UNION ALL SELECT relname, pg_get_ruledef(pg_rewrite.oid, TRUE)
    FROM tables JOIN pg_rewrite ON ev_class = tables.oid
    UNION ALL SELECT relname, CASE tgenabled WHEN 'D' THEN 'disabled: ' ELSE '' END
        || pg_get_triggerdef(pg_trigger.oid, TRUE)
    FROM tables JOIN pg_trigger ON tgrelid = tables.oid
    WHERE NOT tgisinternal OR tgenabled <> 'O'
"""

_READ_IDS = """
    SELECT seqcache, coalesce(pg_sequence_last_value(seqrelid), 0) + 1,
        (SELECT coalesce(max(id), 0) FROM operations)
    FROM pg_sequence
    WHERE seqrelid = CAST(pg_get_serial_sequence('operations', 'id') AS regclass)
"""


def check_ids(connection: BoundedConnection) -> None:
    """Raise StartError unless operations get ascending ids.

    A session that caches ids uses them late. If only rows were restored, the sequence
    is behind them.
    """
    [(cached_count, next_id, last_id)] = connection.execute(_READ_IDS)
    if cached_count != 1:
        raise StartError(
            f"DATABASE_URL: each session caches {cached_count} ids of operations, which"
            " must ascend; run: ALTER SEQUENCE operations_id_seq CACHE 1"
        )
    if next_id <= last_id:
        raise StartError(
            f"DATABASE_URL: the next id of an operation is {next_id}, and there is"
            f" {last_id} already; run: SELECT setval('operations_id_seq', {last_id})"
        )
