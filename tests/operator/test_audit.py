"""An audit finds every way in which a ledger can be wrong, and nothing else."""

import re
import threading
from pathlib import Path

import pytest

from tests.operator.tampered_rows import ITEM_ID, METADATA, TAMPERED
from tests.support.api import environ_of, fresh, good, served
from tests.support.commanding import invoke, output_of
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
DATABASE_IS_SOUND = "the database is not damaged and its constraints hold"

# PostgreSQL has no way to make either.
FORBIDDEN = """
    UPDATE items SET salt = x'00';
    CREATE INDEX times ON operations (created_at_ms);
    PRAGMA writable_schema = ON;
    UPDATE sqlite_master SET sql = replace(sql, 'created_at_ms', 'kind')
    WHERE name = 'times'
"""

# Text, in the way of SQLite, that is not UTF-8, or ends early for its functions.
BAD_BYTES = """
    UPDATE items SET metadata = CAST(x'7b226e616d65223a225cff227d' AS TEXT)
    WHERE id = '{a}';
    UPDATE items SET id = id || CAST(x'00ff' AS TEXT) WHERE id = '{b}';
    UPDATE outputs SET item_id = item_id || CAST(x'00ff' AS TEXT)
    WHERE item_id = '{b}'
"""

PAST_CONSTRAINTS = {
    True: ["PRAGMA foreign_keys = OFF", "PRAGMA ignore_check_constraints = ON"],
    False: ["SET session_replication_role = replica"],
}


def tamper(url, changes):
    """Execute statements that may violate constraints."""
    with connected(url) as connection:
        for statement in PAST_CONSTRAINTS[is_sqlite(url)] + changes.split(";"):
            connection.execute(statement)


def findings(url):
    """Return where an audit finds each invariant violated, which is in no order."""
    ran = invoke(environ_of(url), "audit")
    assert (ran.exit_code, ran.stdout) == (1, "")
    first, *lines = ran.stderr.splitlines()
    assert first == "Error: the ledger violates these invariants:"
    found = dict(line.strip().split(": ", 1) for line in lines)
    return {each: sorted(places.split(", ")) for each, places in found.items()}


@pytest.fixture(scope="module")
def ids(shared_url):
    """The ids in a small ledger, by the name that they have in TAMPERED.

    Its offers have the shortest and the longest time.
    """
    with served(environ_of(shared_url)) as api:
        a, b = api.mint("+5.a", "+3.b"), api.mint("+7.c", key="one")
        api.swap(f"+5.{a}.a", [f"+2.{a}.d", f"+3.{a}.e"], "two")
        api.swap([f"+3.{a}.b", f"+7.{b}.c"], [f"+3.{a}.f", f"+7.{b}.g"])
        c = api.mint("+4.h", metadata={})
        d = api.mint("+6.k", metadata={"image": "ipfs://d", "name": '"\u00e9\\\u2028'})
        done = good(api.offer(f"+4.{c}.h", fresh(6, d), expiresIn=60))["offerId"]
        good(api.complete(done, f"+6.{d}.k", f"+4.{c}.l"))
        other = good(api.offer(f"+4.{c}.l", fresh(1, d), expiresIn=2_592_000))
    offers = {"done": done, "open": other["offerId"]}
    return {"a": a, "b": b, "c": c, "d": d} | offers


@pytest.fixture
def url(shared_url, ids):
    """The URL of the small ledger. After the test its rows are as before."""
    view = LedgerView(shared_url)
    before = view.rows()
    yield shared_url
    view.restore(before)


def test_a_sound_ledger_is_counted_and_nothing_is_found(url):
    assert output_of(environ_of(url), "audit") == SOUND

    counts, size = output_of(environ_of(url), "stats").split("bytes on disk")

    assert counts == COUNTS
    assert int(size.replace(",", "")) > PAGE_BYTES


@pytest.mark.parametrize(
    "shared_url",
    ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)],
    indirect=True,
)
@pytest.mark.parametrize(("change", "found"), TAMPERED.values(), ids=TAMPERED)
def test_what_was_tampered_with_is_found_where_it_is(url, ids, change, found):
    tamper(url, change.format(**ids, deep_json="[" * 100_000))

    assert findings(url) == {
        each: sorted(said.format(**ids).split(", ")) for each, said in found.items()
    }


def test_kinds_are_unknown_only_where_every_part_is_there(url, monkeypatch):
    monkeypatch.setattr("app.PARTS", ["operator"])

    output_of(environ_of(url), "audit")


@on_shared_sqlite
def test_text_that_is_not_utf_8_is_found(url, ids):
    tamper(url, BAD_BYTES.format(**ids))

    assert findings(url) == {METADATA: [ids["a"]], ITEM_ID: [f"{ids['b']}\0\\udcff"]}


@pytest.fixture
def copy(url, tmp_path):
    """The URL of a copy of the small ledger."""
    LedgerView(url).execute(f"VACUUM INTO '{tmp_path}/copy'")
    return f"sqlite:///{tmp_path}/copy"


@on_shared_sqlite
def test_what_sqlite_finds_wrong_with_the_database_is_found(copy):
    tamper(copy, FORBIDDEN)

    found = ", ".join(findings(copy)[DATABASE_IS_SOUND])

    assert "CHECK constraint failed in items" in found
    assert "missing from index times" in found


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
    rows = [f"({each}, 'swap', 0)" for each in range(99, 99 + PLACES_COUNT_MAX + 5)]
    columns = "operations (id, kind, created_at_ms)"
    tamper(url, f"INSERT INTO {columns} VALUES {', '.join(rows)}")  # noqa: S608

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
        audited = output_of(settings, "audit")

    assert len(swapped) > 4
    assert audited == SOUND
