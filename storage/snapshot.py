"""Reads a whole ledger as it was at one moment, while the service goes on."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """Yield a connection that sees one state of the ledger, and keeps no writer waiting."""
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            # In WAL mode a read transaction sees what was there at its first read.
            connection.exec_driver_sql("BEGIN")
            yield connection
            connection.rollback()
        return
    reader = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    with reader.connect() as connection:
        # It may read for hours.
        connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
        yield connection
