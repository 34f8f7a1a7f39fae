"""A simulated next release: our sources with one more version of the tables."""

from storage.schema import CORE
from tests.support.commanding import run_deeds
from tests.support.installing import SERVICE_FILES, copy_sources
from tests.support.ledger_view import LedgerView

NEXT = CORE.newest + 1

# Appended to storage/schema.py. It adds columns, a table and an index, which old code
# can ignore.
_NEXT_VERSION = """

def upgrade_to_next(transaction: Transaction) -> None:
    for statement in (
        "ALTER TABLE operations ADD COLUMN note TEXT",
        "ALTER TABLE outputs ADD COLUMN rank INTEGER NOT NULL DEFAULT 0",
        "CREATE INDEX outputs_rank ON outputs (rank)",
        "CREATE TABLE notes (id INTEGER PRIMARY KEY)",
    ):
        transaction.execute(statement)
    {more}


CORE = Schema("core", (*CORE.versions, Version(upgrade_to_next, {serves_from})))
"""


def set_version(url, version, serves_from):
    """Set the version of the core's tables that is recorded in a database."""
    change = "UPDATE schema_version SET version = ?, serves_from = ? WHERE part = ?"
    LedgerView(url).execute(change, version, serves_from, CORE.part)


def write_newer_code(directory, *, permits_old, more="pass"):
    """Copy the sources, with one more version of the core's tables.

    Return `directory`. With `permits_old` today's code may serve that version. `more`
    is a statement at the end of the upgrade.
    """
    copy_sources(directory, *SERVICE_FILES, "setup.cfg")
    serves_from = CORE.newest if permits_old else NEXT
    with (directory / "storage" / "schema.py").open("a") as schema:
        schema.write(_NEXT_VERSION.format(serves_from=serves_from, more=more))
    return directory


def upgrade_line(before, after, serves_from, part="core"):
    """Return the line that a migration prints about the tables of a part."""
    return (
        f"upgraded the tables of {part} from version {before} to {after}, for code of"
        f" version {serves_from} and later\n"
    )


def migrate_by(sources, url):
    """Run `python -m app migrate` of the sources, and return its output."""
    ran = run_deeds("migrate", cwd=sources, DATABASE_URL=url)
    assert (ran.returncode, ran.stderr) == (0, "")
    return without_place(ran.stdout)


def without_place(output):
    """Return the output of a migration after the line that names the ledger."""
    place, _, rest = output.partition("\n")
    assert place.startswith("The ledger is ")
    return rest
