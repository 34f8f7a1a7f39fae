"""Alembic's entry.

Runs the migrations on the connection that `storage.schema` hands over.

The caller holds the transaction, so all of an upgrade is there or nothing.
"""

from alembic import context

from storage.tables import metadata

context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata
)

with context.begin_transaction():
    context.run_migrations()
