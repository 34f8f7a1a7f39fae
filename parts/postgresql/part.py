"""The PostgreSQL part: findings of `deeds doctor`.

For a URL of PostgreSQL, app.py itself imports `PostgresqlDatabase` from database.py.
"""

from collections.abc import Iterator

from deeds.part import Finding, Ledger, Part


def examine(ledger: Ledger) -> Iterator[Finding]:
    """Yield findings on the server, if the ledger is in PostgreSQL."""
    if ledger.settings.database_url.startswith("postgres"):
        # Imported here, so that commands on SQLite do not wait for psycopg.
        from parts.postgresql.examination import (  # noqa: PLC0415
            examine_server,
        )

        yield from examine_server(ledger.settings)


PART = Part("postgresql", examine=examine)
