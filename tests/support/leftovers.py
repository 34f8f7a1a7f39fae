"""What tests of the present storage still need, and nothing else may use.

It goes with them: SQLAlchemy's events and engines, its tables, records of the ledger.
"""

import re
import secrets
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import Engine, MetaData, create_engine, event

from deeds.domain.model import (
    Argon2Cost,
    HashPolicy,
    Item,
    ItemHashing,
    MintRecord,
    Output,
    OutputKey,
)
from storage.checkpoint import read_newest
from storage.engine import make_engine, parse_database_url
from storage.tables import create_tables
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


def _read_tables():
    found, engine = MetaData(), create_engine("sqlite://")
    with engine.begin() as connection:
        create_tables(connection)
        found.reflect(connection)
    engine.dispose()
    return found


metadata = _read_tables()
items, offers, operations, outputs = (
    metadata.tables[name] for name in ("items", "offers", "operations", "outputs")
)

ITEM_ID = "deed_00000000000000000000000000"
OTHER_ID = "deed_11111111111111111111111111"
POLICY = HashPolicy(Argon2Cost(8, 1, 1), "")


def output(amount, item_id=ITEM_ID):
    """Return an output of a digest that no other has."""
    return Output(OutputKey(item_id, secrets.token_bytes(32)), amount)


def mint_record(*outputs, key_hash=None, policy=POLICY):
    """Return the mint of an item with these outputs."""
    item = Item(outputs[0].item_id, sum(each.amount for each in outputs), None)
    hashing = ItemHashing(secrets.token_bytes(16), policy, item.total)
    return MintRecord(item, hashing, outputs, key_hash)


def add_item(repository, number):
    """Mint an item of this number; return the operation."""
    return repository.record_mint(mint_record(output(5, f"deed_{number:026}")))


def newest_of(ledger):
    """Return the checkpoint of a ledger's newest operation."""
    engine = make_engine(parse_database_url(ledger.url))
    try:
        return read_newest(engine)
    finally:
        engine.dispose()


@pytest.fixture
def open_engine():
    """A function that opens an engine on the database at a URL."""
    with ExitStack() as stack:

        def open_one(url, **options):
            engine = make_engine(parse_database_url(url), **options)
            stack.callback(engine.dispose)
            return engine

        yield open_one
