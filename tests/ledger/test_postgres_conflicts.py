"""Transactions that meet on PostgreSQL.

Who waits for whom, what is tried again, what is a 503.
"""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

import storage.engine
import storage.transactions
from deeds.domain.model import Argon2Cost
from storage.driver import CONFLICT
from storage.transactions import TRIES_MAX
from tests.support.hooks import AtWrite, hooked
from tests.support.requests import check, mint, post, refusal, swap
from tests.support.waiting import wait_until
from tests.support.watched import counting, retries

pytestmark = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)

UNAVAILABLE = (503, "ledger_unavailable", None)
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


def somebody_waits_for_a_lock(other):
    return other.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone()


@pytest.fixture
def meanwhile(other, thread):
    """A context in which a request is sent while another one is at a statement.

    That goes on once the request waits for a lock or is answered.
    """

    @contextmanager
    def sending(number, send, *arguments):
        found = SimpleNamespace(answer=lambda: found.sent.result(WAIT_S))

        def wait(_connection):
            found.sent = thread.submit(send, *arguments)
            wait_until(lambda: found.sent.done() or somebody_waits_for_a_lock(other))
            found.has_waited = not found.sent.done()

        with hooked("before_cursor_execute", AtWrite(number, wait)):
            yield found

    return sending


def test_swaps_of_one_item_do_not_wait_for_each_other(client, ledger, meanwhile):
    item = mint(client, "+5.a", "+7.b")

    with meanwhile(
        AT_OUTPUTS, swap, client, [f"+7.{item}.b"], [f"+7.{item}.d"]
    ) as second:
        first = swap(client, [f"+5.{item}.a"], [f"+5.{item}.c"])

    assert not second.has_waited
    assert (first.status_code, second.answer().status_code) == (200, 200)
    assert ledger.live(item) == [5, 7]


def test_a_swap_of_an_output_created_meanwhile_is_tried_again(
    settings, open_app, ledger, meanwhile
):
    """The output's operation has a later id, so the first try must not spend it."""
    client = open_app(counting(settings)).test_client()
    item = mint(client, "+5.a")

    with meanwhile(
        AT_OUTPUTS, swap, client, [f"+5.{item}.a"], [f"+5.{item}.b"]
    ) as creating:
        spending = swap(client, [f"+5.{item}.b"], [f"+5.{item}.c"])

    assert (creating.answer().status_code, spending.status_code) == (200, 200)
    states = check(client, *(f"+5.{item}.{secret}" for secret in "abc"))
    assert states == ["spent", "spent", "unspent"]
    assert ledger.live(item) == [5]
    assert retries(client) == {"conflict": 1}


def test_a_key_that_is_being_recorded_is_waited_for(clients, ledger, meanwhile):
    request = ("/v1/mint", {"outputs": ["+5.a"]}, "order 17")

    with meanwhile(AT_ITEM, post, clients[0], *request) as second:
        first = post(clients[1], *request)

    assert second.has_waited
    assert second.answer().get_json() == first.get_json()
    assert second.answer().headers["Idempotency-Replayed"] == "true"
    assert len(ledger.rows()["items"]) == 1


def test_a_policy_that_is_being_recorded_is_waited_for_and_used(
    open_client, ledger, meanwhile
):
    open_client({})
    clients = [open_client({"ordinary_cost": Argon2Cost(16, 1, 1)}) for _ in range(2)]

    with meanwhile(AT_ITEM_AGAIN, mint, clients[0], "+5.a") as second:
        first = mint(clients[1], "+5.a")

    assert second.has_waited
    raws = [f"+5.{item}.a" for item in (first, second.answer())]
    assert check(clients[0], *raws) == ["unspent"] * 2
    assert len(ledger.rows()["hash_policies"]) == 2


def test_a_swap_that_a_deadlock_ends_is_tried_again(
    settings, open_app, ledger, other, thread
):
    client = open_app(counting(settings)).test_client()
    item = mint(client, "+5.a", "+7.b")
    first, second = other.execute("SELECT item_id, digest FROM outputs ORDER BY 1, 2")
    lock = "UPDATE outputs SET amount = amount WHERE item_id = %s AND digest = %s"

    # PostgreSQL ends the transaction that first looks for a deadlock: the service's,
    # not ours.
    other.execute("SET deadlock_timeout = '1min'")
    other.execute("BEGIN")
    other.execute(lock, second)
    swapping = thread.submit(
        swap, client, [f"+5.{item}.a", f"+7.{item}.b"], [f"+12.{item}.c"]
    )
    wait_until(lambda: somebody_waits_for_a_lock(other))
    other.execute(lock, first)
    other.execute("ROLLBACK")

    assert swapping.result(WAIT_S).status_code == 200
    # More than one where it was there again before the other session had its lock.
    assert retries(client)["conflict"] >= 1
    assert ledger.live(item) == [12]


@pytest.mark.parametrize("deferred", ["", "DEFERRABLE INITIALLY DEFERRED"])
@pytest.mark.parametrize("failures_count", [TRIES - 1, TRIES])
def test_a_serialization_failure_is_tried_again_up_to_a_bound(
    client, ledger, other, failures_count, deferred
):
    item = mint(client, "+5.a")
    before = ledger.rows()
    other.execute(FAILING.format(count=failures_count, deferred=deferred))

    try:
        answer = swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"])
        tries = other.execute("SELECT last_value FROM failures").fetchone()
    finally:
        other.execute(FAILING_NO_MORE)

    assert tries == (TRIES,)
    if failures_count == TRIES:
        assert refusal(answer) == UNAVAILABLE
        assert ledger.rows() == before
    else:
        assert answer.status_code == 200
        assert check(client, f"+5.{item}.a", f"+5.{item}.b") == ["spent", "unspent"]


@pytest.mark.parametrize(
    ("lock", "codes"),
    [
        ("UPDATE outputs SET amount = amount", [200, 503, 200, 200]),
        ("LOCK TABLE outputs, items IN ACCESS EXCLUSIVE MODE", [503] * 4),
    ],
)
def test_what_stays_locked_is_a_503_for_every_request_that_needs_it(
    settings, open_app, monkeypatch, ledger, other, *, lock, codes
):
    begin = storage.transactions._BEGIN["postgresql"].replace("'5s'", "'50ms'")
    monkeypatch.setitem(storage.transactions._BEGIN, "postgresql", begin)
    monkeypatch.setattr(storage.engine, "STATEMENT_TIMEOUT", "50ms")
    client = open_app(settings).test_client()
    item = mint(client, "+5.a")

    other.execute("BEGIN")
    other.execute(lock)
    answers = [
        post(client, "/v1/mint", {"outputs": ["+5.a"]}),
        swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"]),
        post(client, "/v1/check", {"outputs": [f"+5.{item}.a"]}),
        client.get(f"/v1/item/{item}"),
    ]
    other.execute("ROLLBACK")

    assert [answer.status_code for answer in answers] == codes
    refused = [refusal(answer) for answer in answers if answer.status_code != 200]
    assert refused == [UNAVAILABLE] * len(refused)
    assert (ledger.live(item), ledger.spent(item)) == ([5], [])
    assert swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"]).status_code == 200
