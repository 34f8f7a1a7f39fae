"""Statements that are turned into SQL once, for those that every mint or swap runs.

SQLAlchemy keeps compiled SQL too, but finds it anew, and asks again what each value is, at every
execution: a tenth of all that a strong swap costs the service.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from sqlalchemy import Connection, CursorResult, Dialect
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ClauseElement

Values = Mapping[str, Any]


class Prepared:
    """One statement in the SQL of one dialect, with values that the driver takes as they are."""

    def __init__(
        self, construct: ClauseElement, dialect: Dialect, columns: Sequence[str] | None = None
    ) -> None:
        """Take the construct and, of an INSERT, the columns whose values are bound."""
        compiled = cast(SQLCompiler, construct.compile(dialect=dialect, column_keys=columns))
        self._text = compiled.string
        # On SQLite values are bound by place.
        self._order = compiled.positiontup

    def execute(self, connection: Connection, values: Values) -> CursorResult[Any]:
        """Execute it once."""
        return connection.exec_driver_sql(self._text, self._bound(values))

    def execute_all(self, connection: Connection, rows: Sequence[Values]) -> int:
        """Execute it once for each of the rows; return how many rows of the table it wrote."""
        return connection.exec_driver_sql(self._text, [self._bound(row) for row in rows]).rowcount

    def _bound(self, values: Values) -> Any:
        if self._order is None:
            return dict(values)
        return tuple([values[name] for name in self._order])
