"""The next release of the service: our sources with one migration more."""

import re
import shutil

from tests.support.commanding import run_deeds
from tests.support.ledger_view import LedgerView
from tests.support.serving import REPOSITORY

# Adds what old code does not know of and need not: columns, a table and an index.
_MIGRATION = """
import sqlalchemy as sa
from alembic import op

revision = "{revision}"
down_revision = "{before}"


def upgrade() -> None:
    op.add_column("operations", sa.Column("note", sa.Text))
    rank = sa.Column("rank", sa.Integer, nullable=False, server_default="0")
    op.add_column("outputs", rank)
    op.create_index("outputs_rank", "outputs", ["rank"])
    op.create_table("notes", sa.Column("id", sa.Integer, primary_key=True))
    {more}
"""


def revisions():
    """Return every revision, oldest first."""
    versions = REPOSITORY / "storage" / "migrations" / "versions"
    return sorted(path.stem[:4] for path in versions.glob("[0-9]*.py"))


HEAD_REVISION = revisions()[-1]


def set_revision(url, revision):
    """Make a database say that it is at a revision."""
    LedgerView(url).execute("UPDATE alembic_version SET version_num = ?", revision)


def newer_revision(*, permits_old):
    """Return the revision after the newest one.

    It may permit the code of now to serve it.
    """
    number = int(HEAD_REVISION[:4])
    return f"{number + 1:04}_from_{number:04}" if permits_old else f"{number + 1:04}"


def write_newer_code(directory, revision, more="pass"):
    """Copy the sources into the directory, with a migration to the revision.

    Return where to.

    `more` is a statement at the end of the migration.
    """
    directory.mkdir(exist_ok=True)
    for name in ("app.py", "gunicorn.conf.py", "deeds", "schemas", "storage"):
        copy = shutil.copytree if (REPOSITORY / name).is_dir() else shutil.copy
        copy(REPOSITORY / name, directory / name)
    storage = directory / "storage"
    migration = _MIGRATION.format(revision=revision, before=HEAD_REVISION, more=more)
    (storage / "migrations" / "versions" / f"{revision}.py").write_text(migration)
    schema = storage / "schema.py"
    text, count = re.subn(
        '^HEAD_REVISION = ".*"$',
        f'HEAD_REVISION = "{revision}"',
        schema.read_text(),
        flags=re.M,
    )
    assert count == 1
    schema.write_text(text)
    return directory


def migrate_by(sources, url):
    """Run `flask --app app deeds migrate` of the sources, and return what it said."""
    ran = run_deeds("migrate", cwd=sources, DATABASE_URL=url)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout
