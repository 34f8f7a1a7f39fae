"""What PostgreSQL's part has for others. app.py opens its `Database` for a URL."""

from collections.abc import Iterator

from deeds.part import Finding, Ledger, Part


def examine(ledger: Ledger) -> Iterator[Finding]:
    """Yield what there is to say of the server, where the ledger is on one."""
    if ledger.settings.database_url.startswith("postgres"):
        # A command with another ledger does not wait for psycopg.
        from parts.postgresql.examination import (  # noqa: PLC0415
            examine_server,
        )

        yield from examine_server(ledger.settings)


PART = Part("postgresql", examine=examine)
