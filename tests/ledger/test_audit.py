"""An audit finds every way in which a ledger can be wrong, and nothing in one that is right."""

import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import text

from deeds.domain.model import Argon2Cost
from deeds.settings import Settings
from storage.audit import AuditReport, Invariant, audit
from storage.counts import LedgerCounts
from storage.engine import make_engine, parse_database_url
from storage.tables import metadata
from storage.transactions import WRITES
from tests.support.copying import ledger_url  # noqa: F401  (a fixture)
from tests.support.ledger_view import ignore_progress
from tests.support.requests import mint, swap

ON_SQLITE = pytest.mark.parametrize("ledger_url", ["sqlite"], indirect=True)
COUNTS = LedgerCounts(items=2, mints=2, swaps=2, live_outputs=4, spent_outputs=3)

# What is changed behind the service's back, and all that an audit then says. In the ledger,
# operation 1 mints 5 and 3 units of A, 2 mints 7 of B, 3 splits the 5 into 2 and 3, and 4 trades
# 3 of A and 7 of B.
TAMPERED = {
    # Nothing but the constraints.
    "DELETE FROM items WHERE id = 'nothing'": {},
    "UPDATE items SET total = 9 WHERE id = :a": {
        Invariant.ITEM_TOTAL: "A",
        Invariant.OPERATION_BALANCE: "1 (A)",
    },
    "UPDATE outputs SET spent_by = NULL WHERE spent_by = 3": {
        Invariant.ITEM_TOTAL: "A",
        Invariant.OPERATION_BALANCE: "3 (A)",
        Invariant.OPERATION_COUNTS: "3",
    },
    # Inputs move from one swap to another.
    "UPDATE outputs SET amount = 8 - amount WHERE created_by = 1": {
        Invariant.OPERATION_BALANCE: "3 (A), 4 (A)"
    },
    # Units turn into those of another item.
    "UPDATE outputs SET item_id = :b WHERE created_by = 3 AND amount = 3": {
        Invariant.ITEM_TOTAL: "A, B",
        Invariant.OPERATION_BALANCE: "3 (A), 3 (B)",
    },
    "UPDATE operations SET outputs_count = 3 WHERE id = 3": {Invariant.OPERATION_COUNTS: "3"},
    "UPDATE operations SET inputs_count = 2 WHERE id = 3": {Invariant.OPERATION_COUNTS: "3"},
    "DELETE FROM operations WHERE id = 3": {Invariant.OPERATION_KNOWN: "3"},
    # An operation that did nothing.
    "INSERT INTO operations (id, kind, inputs_count, outputs_count, created_at_ms)"
    " VALUES (9, 'swap', 1, 1, 0)": {Invariant.OPERATION_COUNTS: "9"},
    "UPDATE operations SET kind = 'swap' WHERE id = 2": {Invariant.OPERATION_KIND: "2"},
    "UPDATE operations SET kind = 'gift' WHERE id = 3": {Invariant.OPERATION_KIND: "3"},
    # A mint that spends.
    "UPDATE operations SET kind = CASE id WHEN 3 THEN 'mint' ELSE 'swap' END WHERE id < 4;"
    "UPDATE items SET created_by = 3 WHERE id = :a;"
    "UPDATE operations SET kind = 'mint' WHERE id = 2": {
        Invariant.OPERATION_BALANCE: "1 (A), 3 (A)",
        Invariant.OPERATION_KIND: "3",
    },
    # An output that was spent before it was created.
    "UPDATE outputs SET created_by = 9 WHERE created_by = 2;"
    "UPDATE items SET created_by = 9 WHERE created_by = 2;"
    "UPDATE operations SET id = 9 WHERE id = 2": {Invariant.OUTPUT_ORDER: "B (operation 9)"},
    "DELETE FROM items WHERE id = :b": {
        Invariant.OUTPUT_ITEM: "B",
        Invariant.OPERATION_BALANCE: "2 (B)",
        Invariant.OPERATION_KIND: "2",
    },
    # An unknown scheme.
    "UPDATE outputs SET scheme_id = 99 WHERE item_id = :b;"
    "UPDATE item_schemes SET scheme_id = 99 WHERE item_id = :b": {
        Invariant.OUTPUT_SCHEME: "B (operation 2), B (operation 4)"
    },
    "INSERT INTO item_schemes VALUES (:a, 99)": {Invariant.ITEM_SCHEMES: "A (scheme 99)"},
    "DELETE FROM item_schemes WHERE item_id = :b": {Invariant.ITEM_SCHEMES: "B (scheme 1)"},
    "INSERT INTO item_schemes VALUES ('deed_z', 1)": {Invariant.ITEM_SCHEMES: "deed_z (scheme 1)"},
    "UPDATE outputs SET digest = (SELECT max(digest) FROM outputs) WHERE item_id = :b": {
        Invariant.OUTPUT_ONCE: "B"
    },
    "UPDATE operations SET idempotency_key_hash = (SELECT salt FROM items WHERE id = :a)": {
        Invariant.KEY_ONCE: "1"
    },
    "UPDATE outputs SET digest = substr(digest, 1, 31) WHERE created_by = 2": {
        Invariant.OUTPUT_FORM: "B (operation 2)"
    },
    # An output of no units, and one that has its own and those of the other.
    "UPDATE outputs SET amount = CASE amount WHEN 3 THEN 0 ELSE 5 END WHERE created_by = 3": {
        Invariant.OUTPUT_FORM: "A (operation 3)"
    },
    "UPDATE items SET salt = substr(salt, 1, 15) WHERE id = :a": {Invariant.ITEM_FORM: "A"},
    "UPDATE hash_schemes SET secret_class = 'weak' WHERE id = 1": {Invariant.SCHEME_FORM: "1"},
    "UPDATE hash_schemes SET time_cost = 0 WHERE id = 2": {Invariant.SCHEME_FORM: "2"},
}


class TamperedLedger:
    """A small ledger past whose constraints one can go."""

    def __init__(self, url, a, b):
        self.engine, self.ids = make_engine(parse_database_url(url)), {"a": a, "b": b}

    def execute(self, statements):
        """Take every constraint away and execute the statements."""
        cascade = " CASCADE" if self.engine.dialect.name == "postgresql" else ""
        with self.engine.execution_options(**{WRITES: True}).begin() as connection:
            for name in [table.name for table in reversed(metadata.sorted_tables)]:
                connection.execute(text(f"CREATE TABLE {name}_2 AS SELECT * FROM {name}"))  # noqa: S608
                connection.execute(text(f"DROP TABLE {name}{cascade}"))
                connection.execute(text(f"ALTER TABLE {name}_2 RENAME TO {name}"))
            for statement in statements.split(";"):
                named = {name: id_ for name, id_ in self.ids.items() if f":{name}" in statement}
                connection.execute(text(statement), named)

    def findings(self):
        """Return what an audit finds, with A and B for the items and places in their order."""
        found = audit(self.engine, ignore_progress).findings
        return {
            invariant: ", ".join(sorted(self._short(place) for place in finding.places))
            for invariant, finding in found.items()
        }

    def _short(self, place):
        return place.replace(self.ids["a"], "A").replace(self.ids["b"], "B")


@pytest.fixture
def serve(open_app, ledger_url):  # noqa: F811
    """A function that opens the service and returns a client of it."""
    return lambda: open_app(Settings(ledger_url, Argon2Cost(8, 1, 1))).test_client()


@pytest.fixture
def ledger(serve, ledger_url):  # noqa: F811
    client = serve()
    a = mint(client, "+5.a", "+3.b")
    b = mint(client, "+7.c", key="one")
    swap(client, [f"+5.{a}.a"], [f"+2.{a}.d", f"+3.{a}.e"], "two")
    swap(client, [f"+3.{a}.b", f"+7.{b}.c"], [f"+3.{a}.f", f"+7.{b}.g"])
    client.application.extensions["deeds"].close()
    ledger = TamperedLedger(ledger_url, a, b)
    yield ledger
    ledger.engine.dispose()


def test_a_sound_ledger_is_counted_and_nothing_is_found(ledger):
    steps = []

    assert audit(ledger.engine, lambda *step: steps.append(step)) == AuditReport(COUNTS)
    assert steps == [(done, len(steps)) for done in range(1, len(steps) + 1)]


@pytest.mark.parametrize(("change", "found"), TAMPERED.items())
def test_what_was_tampered_with_is_found_where_it_is(ledger, change, found):
    ledger.execute(change)

    assert ledger.findings() == found


def test_every_invariant_is_broken_by_one_of_these_tests():
    broken = {invariant for found in TAMPERED.values() for invariant in found}

    assert set(Invariant) - broken == {Invariant.DATABASE}


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("UPDATE outputs SET amount = 9223372036854775807", "A, B"),
        ("UPDATE outputs SET amount = -9223372036854775807", "A, B"),
        # Four times 2^62: a sum that overflows would even it out.
        (
            (
                "INSERT INTO outputs (item_id, digest, scheme_id, amount, created_by)"
                " SELECT item_id, digest, scheme_id, 4611686018427387904, created_by"
                " FROM outputs WHERE item_id = :a AND created_by < 4"
            ),
            "A",
        ),
    ],
    ids=["largest", "smallest", "overflow"],
)
def test_sums_beyond_64_bits_are_found_and_fail_nothing(ledger, change, found):
    ledger.execute(change)

    assert ledger.findings()[Invariant.ITEM_TOTAL] == found


@ON_SQLITE  # A column of PostgreSQL holds one type.
def test_amounts_that_are_no_whole_numbers_are_found(ledger):
    ledger.execute("UPDATE outputs SET amount = 3.5 WHERE created_by = 3 AND amount = 3")

    assert ledger.findings()[Invariant.OUTPUT_FORM] == "A (operation 3)"


def test_of_many_places_the_first_are_named_and_all_are_counted():
    report = AuditReport(COUNTS)
    for number in range(25):
        report.add(Invariant.KEY_ONCE, number)

    [finding] = report.findings.values()
    assert (len(finding.places), finding.count) == (20, 25)
    assert str(finding) == ", ".join(map(str, range(20))) + " and 5 more"


def test_an_audit_sees_one_moment_while_the_service_goes_on(ledger, serve):
    client = serve()
    a, secrets = ledger.ids["a"], ["f", *(f"new{number}" for number in range(20))]
    swapped = []

    def swap_meanwhile(*_):
        old, new = secrets[len(swapped) : len(swapped) + 2]
        swapped.append(swap(client, [f"+3.{a}.{old}"], [f"+3.{a}.{new}"]).status_code)

    report = audit(ledger.engine, swap_meanwhile)

    assert len(swapped) > 5
    assert set(swapped) == {200}
    assert (report.counts, report.findings) == (COUNTS, {})


@ON_SQLITE  # PostgreSQL has amcheck for that.
def test_an_index_that_disagrees_with_its_table_is_found(ledger):
    with closing(sqlite3.connect(ledger.engine.url.database)) as connection:
        connection.execute("CREATE INDEX counts ON operations (outputs_count)")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET sql = 'CREATE INDEX counts ON operations (kind)'"
            " WHERE name = 'counts'"
        )
        connection.commit()

    assert set(ledger.findings()) == {Invariant.DATABASE}
