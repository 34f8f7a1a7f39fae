"""Does something at a certain moment of the engines of this process, once or every time."""

from contextlib import contextmanager

from sqlalchemy import Engine, event

from storage.transactions import WRITES


@contextmanager
def hooked(moment, hook):
    """Call the hook at SQLAlchemy's event of this name within the block."""
    event.listen(Engine, moment, hook)
    try:
        yield
    finally:
        event.remove(Engine, moment, hook)


def is_writer(connection):
    """Tell whether it is a connection on which the service changes the ledger."""
    return bool(connection.get_execution_options().get(WRITES))


class AtWrite:
    """Calls a function once, at the writers' statement of this number, counted from 0."""

    def __init__(self, number, function):
        self.number = number
        self.function = function
        self.statements_count = 0

    def __call__(self, connection, _cursor, text, *_):
        """Take what SQLAlchemy tells of a statement; a BEGIN is none."""
        if is_writer(connection) and not text.startswith("BEGIN"):
            self.statements_count += 1
            if self.statements_count == self.number + 1:
                self.function(connection)


class Counter:
    def __init__(self):
        self.count = 0

    def __call__(self, *_):
        self.count += 1
