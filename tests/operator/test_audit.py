"""An audit finds every way in which a ledger can be wrong, and nothing else."""

import re
import sqlite3
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.operator.tampered_rows import (
    ADD_OPERATION,
    BAD_BYTES,
    METADATA,
    NO_METADATA,
    OTHER_TYPES,
    TAMPERED,
)
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
DATABASE_IS_SOUND = "the database is not damaged and its constraints hold"
SOUND = f"{COUNTS}Every invariant holds.\n"

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
        c = api.mint("+4.h", metadata={})
        d = api.mint("+6.k", metadata={"image": "ipfs://d", "name": '"\u00e9\\\u2028'})
        done = api.offer_id(f"+4.{c}.h", fresh(6, d))
        api.complete(done, f"+6.{d}.k", f"+4.{c}.l")
        still_open = api.offer_id(f"+4.{c}.l", fresh(1, d))
    [[made_at_ms]] = LedgerView(shared_url).read(
        "SELECT created_at_ms FROM operations WHERE id = 9"
    )
    return {
        "a": a,
        "b": b,
        "done": done,
        "open": still_open,
        "made_at_s": -(-made_at_ms // 1000),
        # A letter that is not the last one of {a}.
        "other": "01"[a.endswith("0")],
    }


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
        for statement in change.format(**ids).split(";"):
            connection.execute(statement)

    assert findings(url) == {
        each: sorted(said.format(**ids).split(", ")) for each, said in found.items()
    }


@pytest.mark.parametrize("metadata", NO_METADATA.values(), ids=NO_METADATA)
def test_metadata_that_no_mint_writes_is_found(url, ids, metadata):
    view = LedgerView(url)
    view.execute("UPDATE items SET metadata = ? WHERE id = ?", metadata, ids["b"])

    assert findings(url) == {METADATA: [ids["b"]]}


@pytest.mark.parametrize("seconds", [60, 2_592_000])
def test_an_offer_of_the_shortest_or_longest_time_is_sound(url, ids, seconds):
    view = LedgerView(url)
    makings = view.read(
        "SELECT offers.id, created_at_ms FROM offers"
        " JOIN operations ON operations.id = created_by"
    )
    assert {offer_id for offer_id, _ in makings} == {ids["done"], ids["open"]}
    # Each from its own making: a second may have begun between them.
    for offer_id, made_at_ms in makings:
        expires_at_s = -(-made_at_ms // 1000) + seconds
        set_expiry = "UPDATE offers SET expires_at_s = ? WHERE id = ?"
        view.execute(set_expiry, expires_at_s, offer_id)

    assert invoke(environ_of(url), "audit").output == SOUND


def test_kinds_are_unknown_only_where_every_part_is_there(url, monkeypatch):
    monkeypatch.setattr("app.PARTS", ["operator"])

    ran = invoke(environ_of(url), "audit")

    assert (ran.exit_code, ran.stderr) == (0, "")


@on_shared_sqlite
@pytest.mark.parametrize(("change", "found"), BAD_BYTES.values(), ids=BAD_BYTES)
def test_text_that_is_not_utf_8_is_found(url, ids, change, found):
    with past_constraints(url) as connection:
        for statement in change.format(**ids).split(";"):
            connection.execute(statement)

    assert findings(url) == {
        each: [place.format(**ids)] for each, place in found.items()
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
@pytest.mark.parametrize(("table", "change"), OTHER_TYPES.values(), ids=OTHER_TYPES)
def test_a_value_of_another_type_is_refused_and_found(copy, table, change):
    update = f"UPDATE {table} SET {change}"  # noqa: S608
    read_sql = "SELECT sql FROM sqlite_master WHERE name = ?"
    write_sql = "UPDATE sqlite_master SET sql = ? WHERE name = ?"
    [[sql]] = LedgerView(copy).read(read_sql, table)
    loose_sql = re.sub(r"[\s,]*STRICT\s*$", "", sql)

    with past_constraints(copy) as connection:
        with pytest.raises(sqlite3.IntegrityError, match="cannot store"):
            connection.execute(update)
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(write_sql, (loose_sql, table))
    with past_constraints(copy) as connection:
        connection.execute(update)
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(write_sql, (sql, table))

    found = findings(copy)[DATABASE_IS_SOUND]

    assert f" value in {table}.{change.partition(' ')[0]}" in "".join(found)


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
