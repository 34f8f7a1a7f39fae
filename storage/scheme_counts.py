"""How many outputs each hash scheme guards."""

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from deeds.domain.model import HashScheme
from storage import statements
from storage.repository import scheme_of
from storage.tables import outputs


@dataclass(frozen=True, slots=True)
class SchemeCounts:
    """A scheme and how many outputs it guards."""

    scheme: HashScheme
    live: int
    spent: int


def count_schemes(connection: Connection) -> list[SchemeCounts]:
    """Return the counts of every scheme ever recorded, oldest first. Reads every output."""
    schemes = [scheme_of(row) for row in connection.execute(statements.READ_SCHEMES)]
    # One after the other, so that nothing is sorted: there are few.
    counted = [
        connection.execute(
            select(func.count().label("all"), func.count(outputs.c.spent_by).label("spent")).where(
                outputs.c.scheme_id == scheme.id
            )
        ).one()
        for scheme in schemes
    ]
    return [
        SchemeCounts(scheme, row.all - row.spent, row.spent)
        for scheme, row in zip(schemes, counted, strict=True)
    ]
