"""The first schema, which `storage.schema` creates from `storage.tables`.

Later revisions change it by statements of their own, and the tables follow them.
"""

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Do nothing: every ledger is at this revision or a later one."""
