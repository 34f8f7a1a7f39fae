"""The ledger: one repository, its tables and migrations, and SQLite."""
