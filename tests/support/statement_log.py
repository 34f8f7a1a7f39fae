"""Notes what every engine of this process sends to its database."""

import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.support.hooks import hooked

_STATEMENT = re.compile(
    r"\s*(?:(SELECT)\b.*?\bFROM (\w+)|(INSERT) INTO (\w+)|(UPDATE) (\w+))", re.DOTALL
)


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
        """Take what SQLAlchemy tells before it executes a statement; a BEGIN is none.

        What the mark costs, once a second at most, is no part of any request.
        """
        if threading.current_thread().name == "mark":
            return
        if match := _STATEMENT.match(text):
            self.sent.append(Statement(" ".join(filter(None, match.groups())), text, parameters))

    def note_commit(self, _connection):
        self.commits_count += 1


@contextmanager
def logged_statements():
    log = StatementLog()
    with hooked("before_cursor_execute", log.note), hooked("commit", log.note_commit):
        yield log
