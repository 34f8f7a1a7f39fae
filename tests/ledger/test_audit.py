"""An audit finds every way in which a ledger can be wrong, and nothing in one that is right."""

import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import make_url, text

from deeds.domain.model import Argon2Cost
from deeds.settings import Settings
from storage.audit import AuditReport, Invariant, audit
from storage.counts import LedgerCounts
from storage.engine import WRITES, make_engine, parse_database_url
from storage.tables import metadata
from tests.support.copying import ledger_url  # noqa: F401  (a fixture)
from tests.support.requests import mint, swap

KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"
ON_SQLITE = pytest.mark.parametrize("ledger_url", ["sqlite"], indirect=True)
COUNTS = LedgerCounts(items=2, mints=2, swaps=2, live_outputs=4, spent_outputs=3)

# What is changed behind the service's back, and all that an audit then says. In the ledger,
# operation 1 mints 5 and 3 units of A, 2 mints 7 of B, 3 splits the 5 into 2 and 3, and 4 trades
# 3 of A and 7 of B.
TAMPERED = {
    "nothing but the constraints": ("DELETE FROM items WHERE id = 'nothing'", {}),
    "a total that was raised": (
        "UPDATE items SET total = 9 WHERE id = :a",
        {Invariant.ITEM_TOTAL: "A", Invariant.OPERATION_BALANCE: "1 (A)"},
    ),
    "an output that is live again": (
        "UPDATE outputs SET spent_by = NULL WHERE spent_by = 3",
        {
            Invariant.ITEM_TOTAL: "A",
            Invariant.OPERATION_BALANCE: "3 (A)",
            Invariant.OPERATION_COUNTS: "3",
        },
    ),
    "a unit made by a swap": (
        "UPDATE outputs SET amount = 4 WHERE created_by = 3 AND amount = 3",
        {Invariant.ITEM_TOTAL: "A", Invariant.OPERATION_BALANCE: "3 (A)"},
    ),
    "an output that is gone": (
        "DELETE FROM outputs WHERE created_by = 3 AND amount = 3",
        {
            Invariant.ITEM_TOTAL: "A",
            Invariant.OPERATION_BALANCE: "3 (A)",
            Invariant.OPERATION_COUNTS: "3",
        },
    ),
    "inputs that were moved from one swap to another": (
        "UPDATE outputs SET amount = 8 - amount WHERE created_by = 1",
        {Invariant.OPERATION_BALANCE: "3 (A), 4 (A)"},
    ),
    "units that turned into those of another item": (
        "UPDATE outputs SET item_id = :b WHERE created_by = 3 AND amount = 3",
        {
            Invariant.ITEM_TOTAL: "A, B",
            Invariant.OPERATION_BALANCE: "3 (A), 3 (B)",
        },
    ),
    "a swap that says it made more": (
        "UPDATE operations SET outputs_count = 3 WHERE id = 3",
        {Invariant.OPERATION_COUNTS: "3"},
    ),
    "a swap that says it took more": (
        "UPDATE operations SET inputs_count = 2 WHERE id = 3",
        {Invariant.OPERATION_COUNTS: "3"},
    ),
    "an operation that is gone": (
        "DELETE FROM operations WHERE id = 3",
        {Invariant.OPERATION_KNOWN: "3"},
    ),
    "an operation that did nothing": (
        (
            "INSERT INTO operations (id, kind, inputs_count, outputs_count, created_at_ms)"
            " VALUES (9, 'swap', 1, 1, 0)"
        ),
        {Invariant.OPERATION_COUNTS: "9"},
    ),
    "a mint that calls itself a swap": (
        "UPDATE operations SET kind = 'swap' WHERE id = 2",
        {Invariant.OPERATION_KIND: "2"},
    ),
    "a mint that spends": (
        (
            "UPDATE operations SET kind = CASE id WHEN 3 THEN 'mint' ELSE 'swap' END WHERE id < 4;"
            "UPDATE items SET created_by = 3 WHERE id = :a;"
            "UPDATE operations SET kind = 'mint' WHERE id = 2"
        ),
        {Invariant.OPERATION_BALANCE: "1 (A), 3 (A)", Invariant.OPERATION_KIND: "3"},
    ),
    "an operation of no kind": (
        "UPDATE operations SET kind = 'gift' WHERE id = 3",
        {Invariant.OPERATION_KIND: "3"},
    ),
    "an output that was spent before it was created": (
        (
            "UPDATE outputs SET created_by = 9 WHERE created_by = 2;"
            "UPDATE items SET created_by = 9 WHERE created_by = 2;"
            "UPDATE operations SET id = 9 WHERE id = 2"
        ),
        {Invariant.OUTPUT_ORDER: "B (operation 9)"},
    ),
    "an item that is gone": (
        "DELETE FROM items WHERE id = :b",
        {
            Invariant.OUTPUT_ITEM: "B",
            Invariant.OPERATION_BALANCE: "2 (B)",
            Invariant.OPERATION_KIND: "2",
        },
    ),
    "an unknown scheme": (
        (
            "UPDATE outputs SET scheme_id = 99 WHERE item_id = :b;"
            "UPDATE item_schemes SET scheme_id = 99 WHERE item_id = :b"
        ),
        {Invariant.OUTPUT_SCHEME: "B (operation 2), B (operation 4)"},
    ),
    "an item that names a scheme too many": (
        "INSERT INTO item_schemes (item_id, scheme_id) VALUES (:a, 99)",
        {Invariant.ITEM_SCHEMES: "A (scheme 99)"},
    ),
    "an item that names a scheme too few": (
        "DELETE FROM item_schemes WHERE item_id = :b",
        {Invariant.ITEM_SCHEMES: "B (scheme 1)"},
    ),
    "a scheme named by an item that does not exist": (
        "INSERT INTO item_schemes (item_id, scheme_id) VALUES ('deed_zzz', 1)",
        {Invariant.ITEM_SCHEMES: "deed_zzz (scheme 1)"},
    ),
    "a secret that was used twice": (
        (
            "UPDATE outputs SET digest ="
            " (SELECT max(digest) FROM outputs WHERE created_by = 2) WHERE item_id = :b"
        ),
        {Invariant.OUTPUT_ONCE: "B"},
    ),
    "a key that made two operations": (
        (
            "UPDATE operations SET idempotency_key_hash ="
            " (SELECT idempotency_key_hash FROM operations WHERE id = 3) WHERE id = 4"
        ),
        {Invariant.KEY_ONCE: "3"},
    ),
    "a digest that was cut": (
        "UPDATE outputs SET digest = substr(digest, 1, 31) WHERE created_by = 2",
        {Invariant.OUTPUT_FORM: "B (operation 2)"},
    ),
    "an output of no units": (
        (
            "UPDATE outputs SET amount = 0 WHERE created_by = 3 AND amount = 3;"
            "UPDATE outputs SET amount = 5 WHERE created_by = 3 AND amount = 2"
        ),
        {Invariant.OUTPUT_FORM: "A (operation 3)"},
    ),
    "a salt that was cut": (
        "UPDATE items SET salt = substr(salt, 1, 15) WHERE id = :a",
        {Invariant.ITEM_FORM: "A"},
    ),
    "a scheme of an unknown class": (
        "UPDATE hash_schemes SET secret_class = 'weak' WHERE id = 1",
        {Invariant.SCHEME_FORM: "1"},
    ),
    "a scheme that costs nothing": (
        "UPDATE hash_schemes SET time_cost = 0 WHERE id = 2",
        {Invariant.SCHEME_FORM: "2"},
    ),
}


class Books:
    """A small ledger past whose constraints one can go."""

    def __init__(self, url, a, b):
        self.url, self.ids = url, {"a": a, "b": b}

    def execute(self, statements):
        """Take every constraint away and execute the statements."""
        engine = make_engine(parse_database_url(self.url))
        with engine.execution_options(**{WRITES: True}).begin() as connection:
            for name in [table.name for table in reversed(metadata.sorted_tables)]:
                connection.execute(text(f"CREATE TABLE {name}_2 AS SELECT * FROM {name}"))  # noqa: S608
                cascade = " CASCADE" if engine.dialect.name == "postgresql" else ""
                connection.execute(text(f"DROP TABLE {name}{cascade}"))
                connection.execute(text(f"ALTER TABLE {name}_2 RENAME TO {name}"))
            for statement in statements.split(";"):
                named = {name: id_ for name, id_ in self.ids.items() if f":{name}" in statement}
                connection.execute(text(statement), named)
        engine.dispose()

    def audit(self, progress=lambda *_: None) -> AuditReport:
        engine = make_engine(parse_database_url(self.url))
        try:
            return audit(engine, progress)
        finally:
            engine.dispose()

    def findings(self):
        """Return what an audit finds, with A and B for the items and places in their order."""
        return {
            invariant: ", ".join(sorted(self._short(place) for place in finding.places))
            for invariant, finding in self.audit().findings.items()
        }

    def _short(self, place):
        return place.replace(self.ids["a"], "A").replace(self.ids["b"], "B")


@pytest.fixture
def serve(open_app, ledger_url):  # noqa: F811
    """A function that opens the service and returns a client of it."""
    return lambda: open_app(Settings(ledger_url, Argon2Cost(8, 1, 1))).test_client()


@pytest.fixture
def books(serve, ledger_url):  # noqa: F811
    client = serve()
    a = mint(client, "+5.a", "+3.b")
    b = mint(client, "+7.c", key=KEY)
    swap(client, [f"+5.{a}.a"], [f"+2.{a}.d", f"+3.{a}.e"], KEY.replace("8", "9"))
    swap(client, [f"+3.{a}.b", f"+7.{b}.c"], [f"+3.{a}.f", f"+7.{b}.g"])
    client.application.extensions["deeds"].close()
    return Books(ledger_url, a, b)


def test_a_sound_ledger_is_counted_and_nothing_is_found(books):
    assert books.audit() == AuditReport(COUNTS)


@pytest.mark.parametrize(("change", "found"), TAMPERED.values(), ids=TAMPERED)
def test_what_was_tampered_with_is_found_where_it_is(books, change, found):
    books.execute(change)

    assert books.findings() == found


def test_every_invariant_is_broken_by_one_of_these_tests():
    broken = {invariant for _, found in TAMPERED.values() for invariant in found}

    assert set(Invariant) - broken == {Invariant.DATABASE}


@pytest.mark.parametrize("amount", [2**63 - 1, 1 - 2**63])
def test_sums_beyond_64_bits_are_found_and_fail_nothing(books, amount):
    books.execute(f"UPDATE outputs SET amount = {amount}")  # noqa: S608

    assert books.findings()[Invariant.ITEM_TOTAL] == "A, B"


def test_a_sum_that_only_overflow_would_even_out_is_found(books):
    """2^64 more than it should be, in parts of 2^62."""
    books.execute(
        "INSERT INTO outputs (item_id, digest, scheme_id, amount, created_by)"
        " SELECT item_id, digest, scheme_id, 4611686018427387904, created_by"
        " FROM outputs WHERE item_id = :a AND spent_by IS NULL"
        " UNION ALL SELECT item_id, digest, scheme_id, 4611686018427387904, created_by"
        " FROM outputs WHERE item_id = :a AND created_by = 4"
    )

    assert books.findings()[Invariant.ITEM_TOTAL] == "A"


@ON_SQLITE  # A column of PostgreSQL holds one type.
def test_amounts_that_are_no_whole_numbers_are_found(books):
    books.execute("UPDATE outputs SET amount = 3.5 WHERE created_by = 3 AND amount = 3")

    assert books.findings()[Invariant.OUTPUT_FORM] == "A (operation 3)"


def test_of_many_places_the_first_are_named_and_all_are_counted(serve, ledger_url):  # noqa: F811
    client = serve()
    items = [mint(client, "+1.a") for _ in range(25)]
    client.application.extensions["deeds"].close()
    books = Books(ledger_url, *items[:2])

    books.execute("UPDATE items SET total = 2")

    finding = books.audit().findings[Invariant.ITEM_TOTAL]
    assert (len(finding.places), finding.count) == (20, 25)
    assert set(finding.places) < set(items)
    assert str(finding) == ", ".join(finding.places) + " and 5 more"


def test_an_audit_sees_one_moment_while_the_service_goes_on(books, serve):
    client = serve()
    a, secrets = books.ids["a"], ["f", *(f"new{number}" for number in range(20))]
    swapped = []

    def swap_meanwhile(*_):
        old, new = secrets[len(swapped) : len(swapped) + 2]
        swapped.append(swap(client, [f"+3.{a}.{old}"], [f"+3.{a}.{new}"]).status_code)

    report = books.audit(swap_meanwhile)

    assert len(swapped) > 5
    assert set(swapped) == {200}
    assert (report.counts, report.findings) == (COUNTS, {})


def test_the_progress_ends_where_all_is_done(books):
    steps = []

    books.audit(lambda *step: steps.append(step))

    assert steps == [(done, len(steps)) for done in range(1, len(steps) + 1)]


@ON_SQLITE  # PostgreSQL has amcheck for that.
def test_an_index_that_disagrees_with_its_table_is_found(books):
    with closing(sqlite3.connect(make_url(books.url).database)) as connection:
        connection.execute("CREATE INDEX odd ON operations (outputs_count)")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET sql = 'CREATE INDEX odd ON operations (kind)'"
            " WHERE name = 'odd'"
        )
        connection.commit()

    assert set(books.audit().findings) == {Invariant.DATABASE}
