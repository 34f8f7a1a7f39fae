"""The ledger's database in PostgreSQL, with what keeps it available and right.

The part knows the core; the core and the other parts do not know it.
"""
