"""An audit finds every way in which a ledger can be wrong, and nothing else."""

import pytest
from sqlalchemy import text

from storage.audit import PLACES_COUNT_MAX, AuditReport, Invariant, audit
from storage.engine import make_engine, parse_database_url
from storage.tables import metadata
from tests.support.hooks import hooked
from tests.support.requests import ask_for, complete, fresh, mint, offer, stop, swap

ON_SQLITE = pytest.mark.parametrize("ledger_url", ["sqlite"], indirect=True)
COUNTS = {
    "items": 4,
    "mints": 4,
    "swaps": 3,
    "offers_made": 2,
    "offers_completed": 1,
    "live_outputs": 6,
    "spent_outputs": 5,
}
ADD_OPERATION = (
    "INSERT INTO operations (id, kind, inputs_count, outputs_count, created_at_ms)"
    " VALUES"
)

# What is changed behind the service's back, and all that an audit then says. In the
# ledger, operation 1 mints 5 and 3 units of A, 2 mints 7 of B, 3 splits the 5 into 2
# and 3, and 4 trades 3 of A and 7 of B. 7 offers one item for another and 8 completes
# that (DONE); 9 offers what was got by it (OPEN).
TAMPERED = {
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
    "UPDATE operations SET outputs_count = 3 WHERE id = 3": {
        Invariant.OPERATION_COUNTS: "3"
    },
    "UPDATE operations SET inputs_count = 2 WHERE id = 3": {
        Invariant.OPERATION_COUNTS: "3"
    },
    # An operation that did nothing.
    f"{ADD_OPERATION} (99, 'swap', 1, 1, 0)": {Invariant.OPERATION_COUNTS: "99"},
    # A mint without an item, and a swap that mints.
    "UPDATE operations SET kind = 'mint', inputs_count = 0 WHERE id = 3": {
        Invariant.OPERATION_COUNTS: "3"
    },
    "UPDATE operations SET kind = 'swap', inputs_count = 1 WHERE id = 2": {
        Invariant.OPERATION_COUNTS: "2"
    },
    # What is referred to is not there.
    "DELETE FROM operations WHERE id = 3": {Invariant.OPERATION_COUNTS: "3"},
    "DELETE FROM items WHERE id = :b": {
        Invariant.OPERATION_BALANCE: "2 (B)",
        Invariant.OPERATION_COUNTS: "2",
    },
    "UPDATE items SET hash_policy_id = 99 WHERE id = :b": {Invariant.ITEM_POLICY: "B"},
    # A making without its offer, and one that moves units.
    "UPDATE operations SET kind = 'offer' WHERE id = 3": {
        Invariant.OPERATION_COUNTS: "3"
    },
    "DELETE FROM offers WHERE id = :open": {
        Invariant.OPERATION_COUNTS: "9",
        Invariant.OFFER: "OPEN",
    },
    "UPDATE outputs SET spent_by = 9 WHERE spent_by = 3": {
        Invariant.OPERATION_BALANCE: "3 (A), 9 (A)",
        Invariant.OPERATION_COUNTS: "3, 9",
    },
    # One without its half.
    "DELETE FROM offer_inputs WHERE offer_id = :open": {
        Invariant.OPERATION_COUNTS: "9"
    },
    "DELETE FROM offer_outputs WHERE offer_id = :open": {
        Invariant.OPERATION_COUNTS: "9"
    },
    # What an offer refers to is not there.
    "UPDATE offer_inputs SET item_id = :a WHERE offer_id = :open": {
        Invariant.OFFER: "OPEN"
    },
    "UPDATE offer_outputs SET item_id = 'deed_z' WHERE offer_id = :open": {
        Invariant.OFFER: "OPEN"
    },
    # A completion that came too late, or moved something else.
    "UPDATE offers SET expires_at = 1 WHERE id = :done": {Invariant.OFFER: "DONE"},
    "UPDATE offer_inputs SET digest ="
    " (SELECT digest FROM offer_inputs WHERE offer_id = :open)"
    " WHERE offer_id = :done": {Invariant.OFFER: "DONE"},
    "UPDATE offer_outputs SET item_id = :a WHERE offer_id = :done": {
        Invariant.OFFER: "DONE"
    },
    "UPDATE offer_outputs SET amount = amount - 1 WHERE offer_id = :done": {
        Invariant.OFFER: "DONE"
    },
}

# A row that a constraint forbids, and an index that disagrees with its table:
# PostgreSQL has no way to make either.
FORBIDDEN = [
    "UPDATE items SET salt = x'00'",
    (
        "CREATE INDEX counts ON operations (outputs_count);"
        " PRAGMA writable_schema = ON; UPDATE sqlite_master"
        " SET sql = replace(sql, 'outputs_count', 'kind') WHERE name = 'counts'"
    ),
]


class TamperedLedger:
    """A small ledger in which rows may refer to what is not there."""

    def __init__(self, url, **ids):
        self.engine, self.ids = make_engine(parse_database_url(url)), ids

    def execute(self, statements, past_constraints):
        """Execute the statements on a connection that is told to look away."""
        with self.engine.connect() as connection:
            connection.exec_driver_sql(past_constraints)
            for statement in statements.split(";"):
                named = {
                    name: id_
                    for name, id_ in self.ids.items()
                    if f":{name}" in statement
                }
                connection.execute(text(statement), named)
            connection.invalidate()

    def findings(self):
        """Return what an audit finds, places in order, with names for ids such as A."""
        found = audit(self.engine).findings
        return {
            each: ", ".join(sorted(self._short(said))) for each, said in found.items()
        }

    def _short(self, said):
        for name, id_ in self.ids.items():
            said = said.replace(id_, name.upper())
        return said.split(", ")


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_url(request):
    """The URL of an empty ledger on each kind of database, whose ids begin with 1."""
    if request.param == "sqlite":
        return request.getfixturevalue("sqlite_url")
    url = request.getfixturevalue("emptied_postgres_url")
    engine = make_engine(parse_database_url(url))
    with engine.connect() as connection:
        connection.execute(
            text(f"TRUNCATE {', '.join(metadata.tables)} RESTART IDENTITY")
        )
    engine.dispose()
    return url


@pytest.fixture
def ledger(serve, ledger_url):
    client = serve()
    a = mint(client, "+5.a", "+3.b")
    b = mint(client, "+7.c", key="one")
    swap(client, [f"+5.{a}.a"], [f"+2.{a}.d", f"+3.{a}.e"], "two")
    swap(client, [f"+3.{a}.b", f"+7.{b}.c"], [f"+3.{a}.f", f"+7.{b}.g"])
    c, d = mint(client, "+4.h"), mint(client, "+6.k")
    done = offer(client, [f"+4.{c}.h"], [fresh(6, d)])
    complete(client, done, [f"+6.{d}.k"], [f"+4.{c}.l"])
    still_open = ask_for(client, d, inputs=[f"+4.{c}.l"])
    stop(client)
    ledger = TamperedLedger(
        ledger_url, a=a, b=b, done=done.json["offerId"], open=still_open
    )
    yield ledger
    ledger.engine.dispose()


def test_a_sound_ledger_is_counted_and_nothing_is_found(ledger):
    assert audit(ledger.engine) == AuditReport(COUNTS, {})


@pytest.mark.parametrize(("change", "found"), TAMPERED.items())
def test_what_was_tampered_with_is_found_where_it_is(ledger, change, found):
    is_sqlite = ledger.engine.dialect.name == "sqlite"
    ledger.execute(
        change,
        "PRAGMA foreign_keys = OFF"
        if is_sqlite
        else "SET session_replication_role = replica",
    )

    assert ledger.findings() == found


@ON_SQLITE
@pytest.mark.parametrize("change", FORBIDDEN)
def test_what_sqlite_finds_wrong_with_the_database_is_found(ledger, change):
    ledger.execute(change, "PRAGMA ignore_check_constraints = ON")

    assert Invariant.DATABASE in ledger.findings()


def test_of_many_places_the_first_are_named(ledger):
    for operation_id in range(99, 99 + PLACES_COUNT_MAX + 5):
        ledger.execute(f"{ADD_OPERATION} ({operation_id}, 'swap', 1, 1, 0)", "SELECT 1")

    [said] = audit(ledger.engine).findings.values()
    assert (said.count(","), said.endswith(" and more")) == (PLACES_COUNT_MAX - 1, True)


def test_an_audit_sees_one_moment_while_the_service_goes_on(ledger, serve):
    client = serve()
    a, secrets = ledger.ids["a"], ["f", *(f"new{number}" for number in range(20))]
    swapped = []

    def swap_meanwhile(connection, _cursor, statement, *_):
        if connection.engine is ledger.engine and "SELECT" in statement:
            old, new = secrets[len(swapped) : len(swapped) + 2]
            swapped.append(
                swap(client, [f"+3.{a}.{old}"], [f"+3.{a}.{new}"]).status_code
            )

    with hooked("after_cursor_execute", swap_meanwhile):
        report = audit(ledger.engine)

    assert len(swapped) >= 4
    assert set(swapped) == {200}
    assert (report.counts, report.findings) == (COUNTS, {})
