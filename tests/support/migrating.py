"""Migrations by Alembic alone, and what a database says that they made."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import text

import storage
from storage.transactions import WRITES

# What PostgreSQL and SQLite make of the constraints, each in its own words.
CONSTRAINTS = {
    "postgresql": """
        SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2
    """,
    "sqlite": "SELECT name, type, sql FROM sqlite_master ORDER BY 1",
}


def script():
    config = Config()
    config.set_main_option("script_location", str(Path(storage.__file__).parent / "migrations"))
    return config, ScriptDirectory.from_config(config)


def revisions():
    _, directory = script()
    return [each.revision for each in directory.walk_revisions()][::-1]


def upgrade_to(engine, revision):
    """Bring a database to a revision by Alembic alone, as an older version of the code did."""
    config, _ = script()
    with engine.execution_options(**{WRITES: True}).connect() as connection, connection.begin():
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def set_revision(engine, revision):
    """Make a database say that it is at a revision."""
    with engine.execution_options(**{WRITES: True}).begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :it"), {"it": revision})


def words(engine):
    """Return what the database tells of its tables and constraints, spaces evened out."""
    with engine.connect() as connection:
        rows = connection.execute(text(CONSTRAINTS[engine.dialect.name])).all()
    found = [tuple(" ".join(str(each).split()).replace('"', "") for each in row) for row in rows]
    return sorted(row for row in found if "alembic_version" not in row[0] + row[1])
