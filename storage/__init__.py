"""The ledger on SQLite and PostgreSQL: tables, migrations, transactions and one repository."""
