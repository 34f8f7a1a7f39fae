"""The ledger on SQLite and PostgreSQL.

Tables, migrations, transactions and one repository.
"""
