"""Records as the service hands them to the ledger, made up, and work on them."""

import secrets
from contextlib import contextmanager

from deeds.model import (
    HashPolicy,
    IdempotencyKey,
    Item,
    ItemHashing,
    MintRecord,
    Output,
    SwapRecord,
)
from storage.database import NO_OPERATION
from tests.support.hooks import hooked, is_writer

POLICY = HashPolicy(8, 1, 1)

# What a swap of a few outputs sends between BEGIN and COMMIT.
STATEMENTS_COUNT = 3

PROBE = "SELECT 1"
READ_BACKEND = "SELECT pg_backend_pid()"

# Those of others in the same database.
SESSIONS = (
    "SELECT state FROM pg_stat_activity WHERE datname = current_database()"
    " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
)


def new_output(amount, number=1):
    """Return an output of the item of a number, with a digest that no other has."""
    return Output(f"deed_{number:026}", secrets.token_bytes(32), amount)


def new_key():
    return IdempotencyKey(secrets.token_bytes(32), secrets.token_bytes(32))


def mint_of(*outputs, key=None):
    """Return the mint of an item with these outputs."""
    item = Item(outputs[0].item_id, sum(each.amount for each in outputs), None)
    hashing = ItemHashing(secrets.token_bytes(16), POLICY, item.total)
    return MintRecord(item, hashing, outputs, key)


def add_item(repository, number):
    """Mint an item of this number; return the operation."""
    return repository.mint(mint_of(new_output(5, number)))


def swap_of(*inputs, key=None, outputs=None):
    """Return a swap of these outputs for one of the same sum, or for these."""
    outputs = outputs or (new_output(sum(each.amount for each in inputs)),)
    return SwapRecord(inputs, outputs, key)


def states(repository, *outputs):
    """Return "unspent", "spent" or None of each."""
    found = repository.read_outputs(outputs)
    return [each and each.state for each in found]


def ask_backend(database):
    """Return which session of the server a read uses."""
    return database.read(READ_BACKEND)[0][0]


def nested(database, count, innermost=lambda: None):
    """Open transactions in one another; return which sessions they used."""
    backends = set()

    def work(transaction, left):
        backends.add(transaction.execute(READ_BACKEND).fetchone()[0])
        if left > 1:
            database.write(work, left - 1)
        else:
            innermost()
        return NO_OPERATION

    database.write(work, count)
    return backends


@contextmanager
def at_statement(number, function):
    """Call a function before a statement of a write, once, with the connection.

    The first statement after BEGIN has the number 0.
    """
    sent = []

    def count(connection, sql, _values):
        if is_writer(connection):
            sent.append(sql)
            if len(sent) == number + 1:
                function(connection)

    with hooked("before statement", count):
        yield
