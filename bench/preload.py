"""Makes a ledger big by SQL, keeping its invariants: what no client could wait for.

The outputs are unspent, of one unit, and under digests that nobody knows a secret for. They count
as part of the item's mint: its total and the operation's number of outputs grow with them. They go
in by ascending digest, which is several times faster, and leave the same tree as any order.
"""

from sqlalchemy import Connection, create_engine, make_url, text

_GROW_ITEM = text("UPDATE items SET total = total + :count WHERE id = :item_id")
_GROW_MINT = text(
    "UPDATE operations SET outputs_count = outputs_count + :count"
    " WHERE id = (SELECT created_by FROM items WHERE id = :item_id)"
)

_ADD_OUTPUTS_SQLITE = text(
    "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :count)"
    " INSERT INTO outputs (item_id, digest, scheme_id, amount, created_by)"
    " SELECT items.id, randomblob(32) AS digest, item_schemes.scheme_id, 1, items.created_by"
    " FROM items JOIN item_schemes ON item_schemes.item_id = items.id, numbers"
    " WHERE items.id = :item_id ORDER BY digest"
)
_ADD_OUTPUTS_POSTGRES = text(
    "INSERT INTO outputs (item_id, digest, scheme_id, amount, created_by)"
    " SELECT items.id, uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) AS digest,"
    " item_schemes.scheme_id, 1, items.created_by"
    " FROM items JOIN item_schemes ON item_schemes.item_id = items.id, generate_series(1, :count)"
    " WHERE items.id = :item_id ORDER BY digest"
)

# Foreign keys hold by construction, and checking each would take minutes. Only a superuser may.
_TRUST_FOREIGN_KEYS = text(
    "SELECT set_config('session_replication_role', 'replica', true)"
    " WHERE current_setting('is_superuser') = 'on'"
)


def preload(database_url: str, item_id: str, outputs_count: int) -> None:
    """Add outputs to an item whose outputs are all under one scheme.

    The service should not run meanwhile: on SQLite it would have to wait.
    """
    engine = create_engine(make_url(database_url).set(drivername=_driver(database_url)))
    values = {"item_id": item_id, "count": outputs_count}
    with engine.begin() as connection:
        connection.execute(_GROW_ITEM, values)
        connection.execute(_GROW_MINT, values)
        _add_outputs(connection, values)
    engine.dispose()


def settle(database_url: str) -> None:
    """Leave nothing that the database would put off: write-ahead log, statistics, dirty pages."""
    engine = create_engine(
        make_url(database_url).set(drivername=_driver(database_url)), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))
        else:
            connection.execute(text("VACUUM ANALYZE"))
            connection.execute(text("CHECKPOINT"))
    engine.dispose()


def _add_outputs(connection: Connection, values: dict[str, object]) -> None:
    if connection.dialect.name == "sqlite":
        connection.execute(_ADD_OUTPUTS_SQLITE, values)
    else:
        connection.execute(_TRUST_FOREIGN_KEYS)
        connection.execute(_ADD_OUTPUTS_POSTGRES, values)


def _driver(database_url: str) -> str:
    return "postgresql+psycopg" if database_url.startswith("postgres") else "sqlite+pysqlite"
