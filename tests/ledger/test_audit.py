"""An audit finds every way in which a ledger can be wrong, and nothing else."""

from contextlib import contextmanager

import pytest

from storage.audit import DATABASE_IS_SOUND, PLACES_COUNT_MAX, AuditReport, audit
from tests.support.api import environ_of, fresh, good, served
from tests.support.ledger_view import LedgerView
from tests.support.leftovers import hooked

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
    " VALUES ({id}, 'swap', 1, 1, 0)"
)

ITEM_TOTAL = "the live outputs of an item sum to its total"
ITEM_POLICY = "an item names a hash policy that is known"
OPERATION_BALANCE = "an operation gives as many units of an item as it takes, or mints"
OPERATION_COUNTS = "an operation has the inputs, outputs and item or offer that it says"
OFFER = (
    "an offer names what exists, and was completed in time by a swap that holds its"
    " half"
)

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
            OPERATION_COUNTS: "3",
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
    "the number of outputs": (
        "UPDATE operations SET outputs_count = 3 WHERE id = 3",
        {OPERATION_COUNTS: "3"},
    ),
    "the number of inputs": (
        "UPDATE operations SET inputs_count = 2 WHERE id = 3",
        {OPERATION_COUNTS: "3"},
    ),
    "an operation that did nothing": (
        ADD_OPERATION.format(id=99),
        {OPERATION_COUNTS: "99"},
    ),
    "a mint without an item": (
        "UPDATE operations SET kind = 'mint', inputs_count = 0 WHERE id = 3",
        {OPERATION_COUNTS: "3"},
    ),
    "a swap that mints": (
        "UPDATE operations SET kind = 'swap', inputs_count = 1 WHERE id = 2",
        {OPERATION_COUNTS: "2"},
    ),
    "an operation is gone": (
        "DELETE FROM operations WHERE id = 3",
        {OPERATION_COUNTS: "3"},
    ),
    "an item is gone": (
        "DELETE FROM items WHERE id = '{b}'",
        {OPERATION_BALANCE: "2 ({b})", OPERATION_COUNTS: "2"},
    ),
    "a hash policy that is not there": (
        "UPDATE items SET hash_policy_id = 99 WHERE id = '{b}'",
        {ITEM_POLICY: "{b}"},
    ),
    "a making without its offer": (
        "UPDATE operations SET kind = 'offer' WHERE id = 3",
        {OPERATION_COUNTS: "3"},
    ),
    "an offer is gone": (
        "DELETE FROM offers WHERE id = '{open}'",
        {OPERATION_COUNTS: "9", OFFER: "{open}"},
    ),
    "a making that moves units": (
        "UPDATE outputs SET spent_by = 9 WHERE spent_by = 3",
        {
            OPERATION_BALANCE: "3 ({a}), 9 ({a})",
            OPERATION_COUNTS: "3, 9",
        },
    ),
    "an offer without its inputs": (
        "DELETE FROM offer_inputs WHERE offer_id = '{open}'",
        {OPERATION_COUNTS: "9"},
    ),
    "an offer without its outputs": (
        "DELETE FROM offer_outputs WHERE offer_id = '{open}'",
        {OPERATION_COUNTS: "9"},
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
        "UPDATE offers SET expires_at = 1 WHERE id = '{done}'",
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
        "CREATE INDEX counts ON operations (outputs_count);"
        " PRAGMA writable_schema = ON; UPDATE sqlite_master"
        " SET sql = replace(sql, 'outputs_count', 'kind') WHERE name = 'counts'"
    ),
}

PAST_CONSTRAINTS = {
    "sqlite": ["PRAGMA foreign_keys = OFF", "PRAGMA ignore_check_constraints = ON"],
    "postgresql": ["SET session_replication_role = replica"],
}


@contextmanager
def past_constraints(engine):
    """Yield a connection whose statements may violate constraints."""
    with engine.connect() as connection:
        for statement in PAST_CONSTRAINTS[engine.dialect.name]:
            connection.exec_driver_sql(statement)
        yield connection
        connection.invalidate()


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
def engine(shared_url, ids, open_engine):
    """The small ledger. After the test its rows are as before."""
    view = LedgerView(shared_url)
    before = view.rows()
    yield open_engine(shared_url)
    view.restore(before)


def test_a_sound_ledger_is_counted_and_nothing_is_found(engine):
    assert audit(engine) == AuditReport(COUNTS, {})


@pytest.mark.parametrize(("change", "found"), TAMPERED.values(), ids=TAMPERED)
def test_what_was_tampered_with_is_found_where_it_is(engine, ids, change, found):
    with past_constraints(engine) as connection:
        connection.exec_driver_sql(change.format(**ids))

    findings = audit(engine).findings

    # Places are in no order.
    places = {each: sorted(said.split(", ")) for each, said in findings.items()}
    assert places == {
        each: sorted(said.format(**ids).split(", ")) for each, said in found.items()
    }


@pytest.mark.parametrize("shared_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("change", FORBIDDEN.values(), ids=FORBIDDEN)
def test_what_sqlite_finds_wrong_with_the_database_is_found(
    engine, open_engine, tmp_path, change
):
    with engine.connect() as connection:
        connection.exec_driver_sql(f"VACUUM INTO '{tmp_path}/copy'")
    copy = open_engine(f"sqlite:///{tmp_path}/copy")
    with past_constraints(copy) as connection:
        for statement in change.split(";"):
            connection.exec_driver_sql(statement)

    assert DATABASE_IS_SOUND in audit(copy).findings


def test_of_many_places_the_first_are_named(engine):
    with past_constraints(engine) as connection:
        for operation_id in range(99, 99 + PLACES_COUNT_MAX + 5):
            connection.exec_driver_sql(ADD_OPERATION.format(id=operation_id))

    [said] = audit(engine).findings.values()

    assert said.count(",") == PLACES_COUNT_MAX - 1
    assert said.endswith(" and more")


def test_an_audit_sees_one_moment_while_the_service_goes_on(
    engine, ids, shared_url, tmp_path
):
    # A checkpoint of its own: what it adds is gone after the test.
    settings = environ_of(
        shared_url, DEEDS_CHECKPOINT_FILE=str(tmp_path / "checkpoint")
    )
    a, swapped = ids["a"], ["f"]

    def swap_meanwhile(connection, _cursor, statement, *_):
        if connection.engine is engine and "SELECT" in statement:
            old, new = swapped[-1], f"new {len(swapped)}"
            good(api.swap(f"+3.{a}.{old}", f"+3.{a}.{new}"))
            swapped.append(new)

    with served(settings) as api, hooked("after_cursor_execute", swap_meanwhile):
        report = audit(engine)

    assert len(swapped) > 4
    assert report == AuditReport(COUNTS, {})
