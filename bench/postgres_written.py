"""What PostgreSQL writes for a swap: its log and its tables."""

from dataclasses import dataclass
from typing import Self

import psycopg

_READ = (
    "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint,"
    " pg_database_size(current_database()), (SELECT count(*) FROM operations)"
)


@dataclass(frozen=True, slots=True)
class Written:
    """Bytes since the database was made, and operations in it."""

    log_bytes: int
    database_bytes: int
    operations_count: int

    @classmethod
    def so_far(cls, database_url: str) -> Self:
        """Read it; nothing else may be writing into this PostgreSQL."""
        with psycopg.connect(database_url) as connection:
            [row] = connection.execute(_READ).fetchall()
        return cls(*map(int, row))

    def per_operation(self, before: Self) -> dict[str, int]:
        """Return the bytes of each operation since then."""
        count = self.operations_count - before.operations_count
        return {
            "log_bytes": (self.log_bytes - before.log_bytes) // count,
            "database_bytes": (self.database_bytes - before.database_bytes) // count,
        }
