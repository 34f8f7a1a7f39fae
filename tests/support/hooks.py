"""Does something at a moment of the engines here, or notes what they send."""

import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, event

from storage.transactions import WRITES

_STATEMENT = re.compile(
    r"\s*(?:(SELECT)\b.*?\bFROM (\w+)|(INSERT) INTO (\w+)|(UPDATE) (\w+))", re.DOTALL
)


@contextmanager
def hooked(moment, hook):
    """Call the hook at SQLAlchemy's event of this name within the block."""
    event.listen(Engine, moment, hook)
    try:
        yield
    finally:
        event.remove(Engine, moment, hook)


def is_writer(connection):
    """Return whether it is a connection on which the service changes the ledger."""
    return bool(connection.get_execution_options().get(WRITES))


class AtWrite:
    """Calls a function once, at the writers' statement of a number, from 0."""

    def __init__(self, number, function):
        self.number = number
        self.function = function
        self.statements_count = 0

    def __call__(self, connection, _cursor, text, *_):
        """Count a statement before it is executed; BEGIN does not count."""
        if is_writer(connection) and not text.startswith("BEGIN"):
            self.statements_count += 1
            if self.statements_count == self.number + 1:
                self.function(connection)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement as it was sent, once for all of its rows."""

    name: str
    text: str
    parameters: Any


class StatementLog:
    """The statements that were sent, and how many transactions were committed."""

    def __init__(self):
        self.sent = []
        self.commits_count = 0

    @property
    def names(self):
        return [statement.name for statement in self.sent]

    def note(self, _connection, _cursor, text, parameters, *_):
        """Note a statement before it is executed, unless it only begins a transaction.

        A look for the last operations, once a second at most, is part of no request.
        """
        if threading.current_thread().name == "last":
            return
        if match := _STATEMENT.match(text):
            self.sent.append(
                Statement(" ".join(filter(None, match.groups())), text, parameters)
            )

    def note_commit(self, _connection):
        self.commits_count += 1


@contextmanager
def logged_statements():
    log = StatementLog()
    with hooked("before_cursor_execute", log.note), hooked("commit", log.note_commit):
        yield log
