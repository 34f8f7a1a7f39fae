"""Alembic's entry: runs the migrations on the connection of `storage.schema`.

The caller holds the transaction, so all of an upgrade is there or nothing.
"""

from alembic import context

context.configure(connection=context.config.attributes["connection"])

with context.begin_transaction():
    context.run_migrations()
