"""An audit finds every way in which a ledger can be wrong, and nothing else."""

import re
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.api import environ_of, fresh, good, served
from tests.support.commanding import invoke
from tests.support.databases import (
    connected,
    is_sqlite,
    on_shared_sqlite,
    sqlite_path,
)
from tests.support.hooks import hooked
from tests.support.ledger_view import LedgerView

# An audit names no more of them.
PLACES_COUNT_MAX = 20

# SQLite's default.
PAGE_BYTES = 4096

COUNTS = """\
items                          4
mints                          4
swaps                          3
live outputs                   6
spent outputs                  5
offers made                    2
offers completed               1
"""
SOUND = f"{COUNTS}Every invariant holds.\n"

ADD_OPERATION = (
    "INSERT INTO operations (id, kind, created_at_ms) VALUES ({id}, '{kind}', 0)"
)

DATABASE_IS_SOUND = "the database is not damaged and its constraints hold"
ITEM_TOTAL = "the live outputs of an item sum to its total"
ITEM_POLICY = "an item names a hash policy that is known"
OPERATION_BALANCE = "an operation gives as many units of an item as it takes, or mints"
OPERATION_KIND = "an operation mints an item, swaps or moves nothing, as its kind says"
OFFER = (
    "an offer names what exists, and was completed in time by a swap that holds its"
    " half"
)
OFFER_MAKING = "the making of an offer has an offer that wants something"

# What is changed behind the service's back, and all that an audit then says. In the
# ledger, operation 1 mints 5 and 3 units of {a}, 2 mints 7 of {b}, 3 splits the 5 into
# 2 and 3, and 4 trades 3 of {a} and 7 of {b}. 7 offers one item for another and 8
# completes that, {done}; 9 offers what was got by it, {open}.
TAMPERED = {
    "the total of an item": (
        "UPDATE items SET total = 9 WHERE id = '{a}'",
        {ITEM_TOTAL: "{a}", OPERATION_BALANCE: "1 ({a})"},
    ),
    "inputs are live again": (
        "UPDATE outputs SET spent_by = NULL WHERE spent_by = 3",
        {
            ITEM_TOTAL: "{a}",
            OPERATION_BALANCE: "3 ({a})",
            OPERATION_KIND: "3",
        },
    ),
    "outputs are gone": (
        "DELETE FROM outputs WHERE created_by = 4",
        {
            ITEM_TOTAL: "{a}, {b}",
            OPERATION_BALANCE: "4 ({a}), 4 ({b})",
            OPERATION_KIND: "4",
        },
    ),
    "inputs move from one swap to another": (
        "UPDATE outputs SET amount = 8 - amount WHERE created_by = 1",
        {OPERATION_BALANCE: "3 ({a}), 4 ({a})"},
    ),
    "units turn into those of another item": (
        "UPDATE outputs SET item_id = '{b}' WHERE created_by = 3 AND amount = 3",
        {
            ITEM_TOTAL: "{a}, {b}",
            OPERATION_BALANCE: "3 ({a}), 3 ({b})",
        },
    ),
    "a swap that did nothing": (
        ADD_OPERATION.format(id=99, kind="swap"),
        {OPERATION_KIND: "99"},
    ),
    "a mint that did nothing": (
        ADD_OPERATION.format(id=99, kind="mint"),
        {OPERATION_KIND: "99"},
    ),
    "a mint without an item": (
        "UPDATE operations SET kind = 'mint' WHERE id = 3",
        {OPERATION_KIND: "3"},
    ),
    "a swap that mints": (
        "UPDATE operations SET kind = 'swap' WHERE id = 2",
        {OPERATION_KIND: "2"},
    ),
    "an operation is gone": (
        "DELETE FROM operations WHERE id = 3",
        {OPERATION_KIND: "3"},
    ),
    "an item is gone": (
        "DELETE FROM items WHERE id = '{b}'",
        {OPERATION_BALANCE: "2 ({b})", OPERATION_KIND: "2"},
    ),
    "a hash policy that is not there": (
        "UPDATE items SET hash_policy_id = 99 WHERE id = '{b}'",
        {ITEM_POLICY: "{b}"},
    ),
    "a making without its offer": (
        "UPDATE operations SET kind = 'offer' WHERE id = 3",
        {OPERATION_KIND: "3", OFFER_MAKING: "3"},
    ),
    "an offer is gone": (
        "DELETE FROM offers WHERE id = '{open}'",
        {OFFER_MAKING: "9", OFFER: "{open}"},
    ),
    "a making that moves units": (
        "UPDATE outputs SET spent_by = 9 WHERE spent_by = 3",
        {
            OPERATION_BALANCE: "3 ({a}), 9 ({a})",
            OPERATION_KIND: "3, 9",
        },
    ),
    "an offer without its outputs": (
        "DELETE FROM offer_outputs WHERE offer_id = '{open}'",
        {OFFER_MAKING: "9"},
    ),
    "an offer of an input that is not there": (
        "UPDATE offer_inputs SET item_id = '{a}' WHERE offer_id = '{open}'",
        {OFFER: "{open}"},
    ),
    "an offer that wants an item that is not there": (
        "UPDATE offer_outputs SET item_id = 'deed_z' WHERE offer_id = '{open}'",
        {OFFER: "{open}"},
    ),
    "a completion that came too late": (
        "UPDATE offers SET expires_at_s = 1 WHERE id = '{done}'",
        {OFFER: "{done}"},
    ),
    "a completion that spent another input": (
        (
            "UPDATE offer_inputs SET digest ="
            " (SELECT digest FROM offer_inputs WHERE offer_id = '{open}')"
            " WHERE offer_id = '{done}'"
        ),
        {OFFER: "{done}"},
    ),
    "a completion that created another output": (
        "UPDATE offer_outputs SET item_id = '{a}' WHERE offer_id = '{done}'",
        {OFFER: "{done}"},
    ),
    "a completion that created another amount": (
        "UPDATE offer_outputs SET amount = amount - 1 WHERE offer_id = '{done}'",
        {OFFER: "{done}"},
    ),
}

# PostgreSQL has no way to make either.
FORBIDDEN = {
    "a row that a constraint forbids": "UPDATE items SET salt = x'00'",
    "an index that disagrees with its table": (
        "CREATE INDEX times ON operations (created_at_ms);"
        " PRAGMA writable_schema = ON; UPDATE sqlite_master"
        " SET sql = replace(sql, 'created_at_ms', 'kind') WHERE name = 'times'"
    ),
}

PAST_CONSTRAINTS = {
    True: ["PRAGMA foreign_keys = OFF", "PRAGMA ignore_check_constraints = ON"],
    False: ["SET session_replication_role = replica"],
}


@contextmanager
def past_constraints(url):
    """Yield a connection whose statements may violate constraints."""
    with connected(url) as connection:
        for statement in PAST_CONSTRAINTS[is_sqlite(url)]:
            connection.execute(statement)
        yield connection


def findings(url):
    """Return where an audit finds each invariant violated, which is in no order."""
    ran = invoke(environ_of(url), "audit")
    assert ran.exit_code == 1
    first, *lines = ran.stderr.splitlines()
    assert first == "Error: the ledger violates these invariants:"
    found = dict(line.strip().split(": ", 1) for line in lines)
    return {each: sorted(places.split(", ")) for each, places in found.items()}


@pytest.fixture(scope="module")
def ids(shared_url):
    """The ids in a small ledger, by the name that they have above."""
    with served(environ_of(shared_url)) as api:
        a, b = api.mint("+5.a", "+3.b"), api.mint("+7.c", key="one")
        api.swap(f"+5.{a}.a", [f"+2.{a}.d", f"+3.{a}.e"], "two")
        api.swap([f"+3.{a}.b", f"+7.{b}.c"], [f"+3.{a}.f", f"+7.{b}.g"])
        c, d = api.mint("+4.h"), api.mint("+6.k")
        done = api.offer_id(f"+4.{c}.h", fresh(6, d))
        api.complete(done, f"+6.{d}.k", f"+4.{c}.l")
        still_open = api.offer_id(f"+4.{c}.l", fresh(1, d))
    return {"a": a, "b": b, "done": done, "open": still_open}


@pytest.fixture
def url(shared_url, ids):
    """The URL of the small ledger. After the test its rows are as before."""
    view = LedgerView(shared_url)
    before = view.rows()
    yield shared_url
    view.restore(before)


def test_a_sound_ledger_is_counted_and_nothing_is_found(url):
    ran = invoke(environ_of(url), "audit")

    assert (ran.exit_code, ran.output) == (0, SOUND)


@pytest.mark.parametrize(("change", "found"), TAMPERED.values(), ids=TAMPERED)
def test_what_was_tampered_with_is_found_where_it_is(url, ids, change, found):
    with past_constraints(url) as connection:
        connection.execute(change.format(**ids))

    assert findings(url) == {
        each: sorted(said.format(**ids).split(", ")) for each, said in found.items()
    }


@pytest.fixture
def copy(url, tmp_path):
    """The URL of a copy of the small ledger."""
    LedgerView(url).execute(f"VACUUM INTO '{tmp_path}/copy'")
    return f"sqlite:///{tmp_path}/copy"


@on_shared_sqlite
@pytest.mark.parametrize("change", FORBIDDEN.values(), ids=FORBIDDEN)
def test_what_sqlite_finds_wrong_with_the_database_is_found(copy, change):
    with past_constraints(copy) as connection:
        for statement in change.split(";"):
            connection.execute(statement)

    assert DATABASE_IS_SOUND in findings(copy)


@on_shared_sqlite
def test_a_ledger_that_cannot_be_read_is_said_in_one_line(copy):
    [[page]] = LedgerView(copy).read(
        "SELECT rootpage FROM sqlite_master WHERE name = 'outputs'"
    )
    with Path(sqlite_path(copy)).open("r+b") as file:
        file.seek((page - 1) * PAGE_BYTES)
        file.write(b"\xff" * PAGE_BYTES)

    ran = invoke(environ_of(copy), "audit")

    cause = "database disk image is malformed"
    assert (ran.exit_code, ran.output) == (
        1,
        f"deeds: the ledger cannot be read: {cause}\n",
    )


def test_of_many_places_the_first_are_named(url):
    with past_constraints(url) as connection:
        for operation_id in range(99, 99 + PLACES_COUNT_MAX + 5):
            connection.execute(ADD_OPERATION.format(id=operation_id, kind="swap"))

    [places] = findings(url).values()

    assert len(places) == PLACES_COUNT_MAX
    assert [place for place in places if place.endswith(" and more")]


def test_an_audit_sees_one_moment_while_the_service_goes_on(url, ids, tmp_path):
    # A checkpoint of its own: what it adds is gone after the test.
    settings = environ_of(url, DEEDS_CHECKPOINT_FILE=str(tmp_path / "checkpoint"))
    a, swapped, is_swapping = ids["a"], ["f"], threading.Event()

    def swap_meanwhile(_connection, sql, _values):
        """Swap after each look of the audit, but not within another swap."""
        if not re.search("FROM (items|operations|outputs)", sql):
            return
        if is_swapping.is_set():
            return
        is_swapping.set()
        good(api.swap(f"+3.{a}.{swapped[-1]}", f"+3.{a}.new {len(swapped)}"))
        swapped.append(f"new {len(swapped)}")
        is_swapping.clear()

    with served(settings) as api, hooked("after statement", swap_meanwhile):
        ran = invoke(settings, "audit")

    assert len(swapped) > 4
    assert (ran.exit_code, ran.output) == (0, SOUND)
