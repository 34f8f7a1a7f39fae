"""The ledger on SQLite and PostgreSQL: tables, migrations, transactions and one repository.

Of `deeds` it may import only values, records, rules, errors and limits; never Flask or `schemas`.
"""
