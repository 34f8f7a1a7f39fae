"""Records as the service hands them to the ledger, made up, and work on them."""

import secrets

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
from storage.repository import write_swap

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


def backend_of(transaction):
    return transaction.execute(READ_BACKEND).fetchone()[0]


def ask(database, how, sql):
    """Return the first value of a query in a read or in a write."""
    if how == "read":
        return database.read(sql)[0][0]
    values = []

    def work(transaction, _record):
        values.extend(transaction.execute(sql).fetchone())
        return NO_OPERATION

    database.write(work, None)
    return values[0]


def ask_backend(database, how):
    """Return which session of the server a read or a write uses."""
    return ask(database, how, READ_BACKEND)


def nested(database, count, innermost=lambda: None):
    """Open transactions in one another; return which sessions they used."""
    backends = set()

    def work(transaction, left):
        backends.add(backend_of(transaction))
        if left > 1:
            database.write(work, left - 1)
        else:
            innermost()
        return NO_OPERATION

    database.write(work, count)
    return backends


class AtStatement:
    """A transaction that does something before its statement of a number, from 0."""

    def __init__(self, transaction, number, function):
        self.now_ms = transaction.now_ms
        self._transaction = transaction
        self._left = number
        self._function = function

    def execute(self, *arguments):
        self._count()
        return self._transaction.execute(*arguments)

    def executemany(self, *arguments):
        self._count()
        return self._transaction.executemany(*arguments)

    def read_each(self, *arguments):
        self._count()
        return self._transaction.read_each(*arguments)

    def _count(self):
        if self._left == 0:
            self._function(self._transaction)
        self._left -= 1


def swap_interrupted(number, function):
    """Return a `write_swap` whose first try does something before a statement."""
    tries = []

    def work(transaction, record):
        tries.append(transaction)
        if len(tries) == 1:
            transaction = AtStatement(transaction, number, function)
        return write_swap(transaction, record)

    return work
