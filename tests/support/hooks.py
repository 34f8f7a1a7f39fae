"""Does something at a certain moment of the engines of this process, once or every time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, event

from storage.engine import WRITES


@contextmanager
def hooked(moment: str, hook: Callable[..., None]) -> Iterator[None]:
    """Call the hook at SQLAlchemy's event of this name within the block."""
    event.listen(Engine, moment, hook)
    try:
        yield
    finally:
        event.remove(Engine, moment, hook)


def is_writer(connection: Connection) -> bool:
    """Tell whether it is a connection on which the service changes the ledger."""
    return bool(connection.get_execution_options().get(WRITES))


class AtWrite:
    """Calls a function once, at the writers' statement of this number, counted from 0."""

    def __init__(self, number: int, function: Callable[[Connection], None]) -> None:
        """Take the number and the function, which gets the connection."""
        self.number = number
        self.function = function
        self.statements_count = 0

    def __call__(self, connection: Connection, _cursor: Any, text: str, *_: Any) -> None:
        """Take what SQLAlchemy tells of a statement; a BEGIN is none."""
        if is_writer(connection) and not text.startswith("BEGIN"):
            self.statements_count += 1
            if self.statements_count == self.number + 1:
                self.function(connection)


class Counter:
    """Counts how often it is called."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, *_: Any) -> None:
        """Count."""
        self.count += 1
