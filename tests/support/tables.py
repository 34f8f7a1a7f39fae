"""The tables of a new ledger, for the statements of tests."""

from sqlalchemy import MetaData, create_engine

from storage.tables import create_tables


def _read_tables():
    found, engine = MetaData(), create_engine("sqlite://")
    with engine.begin() as connection:
        create_tables(connection)
        found.reflect(connection)
    engine.dispose()
    return found


metadata = _read_tables()
items, offers, operations, outputs = (
    metadata.tables[name] for name in ("items", "offers", "operations", "outputs")
)
