"""Transactions that meet on PostgreSQL.

Who waits for whom, what is tried again, what is a 503.
"""

from contextlib import contextmanager
from functools import partial

import pytest

import storage.transactions
from storage.driver import CONFLICT
from storage.transactions import TRIES_MAX
from tests.support.api import SUCCESS, UNAVAILABLE, good, refusal, replayed
from tests.support.databases import on_postgresql
from tests.support.hooks import AtWrite, hooked
from tests.support.racing import said
from tests.support.waiting import wait_until
from tests.support.watched import retries

pytestmark = on_postgresql

WAIT_S = 60
TRIES = TRIES_MAX[CONFLICT]

# Where a swap inserts its outputs, a mint its item, and a mint under a new policy its
# item once the policy is there.
AT_OUTPUTS, AT_ITEM, AT_ITEM_AGAIN = 1, 1, 3

# Fails a number of times for real: a sequence counts on when its transaction is undone.
FAILING = """
    CREATE SEQUENCE failures;
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF nextval('failures') <= {count} THEN
            RAISE EXCEPTION 'made for a test' USING ERRCODE = '40001';
        END IF;
        RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON operations
    {deferred} FOR EACH ROW WHEN (NEW.kind = 'swap') EXECUTE FUNCTION fail();
"""
FAILING_NO_MORE = (
    "DROP TRIGGER fail ON operations; DROP FUNCTION fail; DROP SEQUENCE failures"
)
WAITING = "SELECT 1 FROM pg_locks WHERE NOT granted"


@pytest.fixture
def meanwhile(other, thread):
    """A context in which a request is sent while another one is at a statement.

    That one goes on once the request waits for a lock or is answered. Yields a list of
    the future answer and whether the request has waited.
    """

    @contextmanager
    def sending(number, send, *arguments):
        sent = []

        def wait(_connection):
            request = thread.submit(send, *arguments)
            wait_until(lambda: request.done() or other.execute(WAITING).fetchone())
            sent.extend([request, not request.done()])

        with hooked("before statement", AtWrite(number, wait)):
            yield sent

    return sending


def test_swaps_of_one_item_do_not_wait_for_each_other(api, ledger, meanwhile):
    item = api.mint("+5.a", "+7.b")

    with meanwhile(AT_OUTPUTS, api.swap, f"+7.{item}.b", f"+7.{item}.d") as sent:
        first = api.swap(f"+5.{item}.a", f"+5.{item}.c")

    second, has_waited = sent
    assert not has_waited
    assert good(first) == good(second.result(WAIT_S)) == SUCCESS
    assert ledger.live(item) == [5, 7]


def test_a_swap_of_an_output_created_meanwhile_is_tried_again(
    open_api, ledger, meanwhile
):
    """The output's operation has a later id, so the first try must not spend it."""
    api = open_api(DEEDS_METRICS="on")
    item = api.mint("+5.a")

    with meanwhile(AT_OUTPUTS, api.swap, f"+5.{item}.a", f"+5.{item}.b") as sent:
        spending = api.swap(f"+5.{item}.b", f"+5.{item}.c")

    creating, _ = sent
    assert good(creating.result(WAIT_S)) == good(spending) == SUCCESS
    states = api.check(*(f"+5.{item}.{secret}" for secret in "abc"))
    assert states == ["spent", "spent", "unspent"]
    assert ledger.live(item) == [5]
    assert retries(api) == {"conflict": 1}


def test_a_key_that_is_being_recorded_is_waited_for(apis, ledger, meanwhile):
    api, twin = apis

    with meanwhile(AT_ITEM, partial(api.send_mint, "+5.a", key="order 17")) as sent:
        first = twin.send_mint("+5.a", key="order 17")

    second, has_waited = sent
    assert has_waited
    assert replayed(second.result(WAIT_S)) == good(first)
    assert len(ledger.rows()["items"]) == 1


def test_a_policy_that_is_being_recorded_is_waited_for_and_used(
    apis, ledger, meanwhile
):
    cheaper, dearer = apis

    with meanwhile(AT_ITEM_AGAIN, dearer.mint, "+5.a") as sent:
        first = dearer.mint("+5.a")

    second, has_waited = sent
    assert has_waited
    raws = [f"+5.{item}.a" for item in (first, second.result(WAIT_S))]
    assert cheaper.check(*raws) == ["unspent"] * 2
    assert len(ledger.rows()["hash_policies"]) == 2


def test_a_swap_that_a_deadlock_ends_is_tried_again(open_api, ledger, other, thread):
    api = open_api(DEEDS_METRICS="on")
    item = api.mint("+5.a", "+7.b")
    first, second = other.execute("SELECT item_id, digest FROM outputs ORDER BY 1, 2")
    lock = "UPDATE outputs SET amount = amount WHERE item_id = %s AND digest = %s"

    # PostgreSQL ends the transaction that first looks for a deadlock: the service's,
    # not ours.
    other.execute("SET deadlock_timeout = '1min'")
    other.execute("BEGIN")
    other.execute(lock, second)
    swapping = thread.submit(
        api.swap, [f"+5.{item}.a", f"+7.{item}.b"], f"+12.{item}.c"
    )
    wait_until(lambda: other.execute(WAITING).fetchone())
    other.execute(lock, first)
    other.execute("ROLLBACK")

    assert good(swapping.result(WAIT_S)) == SUCCESS
    # More than one where it was there again before the other session had its lock.
    assert retries(api)["conflict"] >= 1
    assert ledger.live(item) == [12]


@pytest.mark.parametrize("deferred", ["", "DEFERRABLE INITIALLY DEFERRED"])
@pytest.mark.parametrize(
    ("failures_count", "answered", "states"),
    [
        (TRIES - 1, (200, None, None), ["spent", "unspent"]),
        (TRIES, UNAVAILABLE, ["unspent", "unknown"]),
    ],
    ids=["passes", "stays"],
)
def test_a_serialization_failure_is_tried_again_up_to_a_bound(
    api, ledger, other, *, failures_count, answered, states, deferred
):
    item = api.mint("+5.a")
    raws = [f"+5.{item}.a", f"+5.{item}.b"]
    other.execute(FAILING.format(count=failures_count, deferred=deferred))

    try:
        answer = api.swap(raws[:1], raws[1:])
        tries = other.execute("SELECT last_value FROM failures").fetchone()
    finally:
        other.execute(FAILING_NO_MORE)

    assert said(answer) == answered
    assert tries == (TRIES,)
    assert api.check(*raws) == states
    assert ledger.live(item) == [5]


@pytest.mark.parametrize(
    ("lock", "codes"),
    [
        ("UPDATE outputs SET amount = amount", [200, 503, 200, 200]),
        ("LOCK TABLE outputs, items IN ACCESS EXCLUSIVE MODE", [503] * 4),
    ],
    ids=["rows", "tables"],
)
def test_what_stays_locked_is_a_503_for_every_request_that_needs_it(
    open_api, monkeypatch, ledger, other, lock, codes
):
    begin = storage.transactions._BEGIN["postgresql"].replace("'5s'", "'50ms'")
    monkeypatch.setitem(storage.transactions._BEGIN, "postgresql", begin)
    monkeypatch.setattr("storage.engine.STATEMENT_TIMEOUT", "50ms")
    api = open_api()
    item = api.mint("+5.a")

    other.execute("BEGIN")
    other.execute(lock)
    answers = [
        api.send_mint("+5.a"),
        api.swap(f"+5.{item}.a", f"+5.{item}.b"),
        api.send_check(f"+5.{item}.a"),
        api.get(f"/v1/item/{item}"),
    ]
    other.execute("ROLLBACK")

    assert [answer.status_code for answer in answers] == codes
    refused = [refusal(answer) for answer in answers if answer.status_code != 200]
    assert refused == [UNAVAILABLE] * codes.count(503)
    assert (ledger.live(item), ledger.spent(item)) == ([5], [])
    assert good(api.swap(f"+5.{item}.a", f"+5.{item}.b")) == SUCCESS
