"""The ledger in PostgreSQL: deadlines, retries, failover."""
