"""Deadlocks, serialization failures and locks of others on PostgreSQL: retried, or 503."""

import pytest

import storage.engine
from deeds.domain.errors import LedgerUnavailableError
from storage.failures import CONFLICT
from storage.transactions import TRIES_MAX, Transactions
from tests.support.hooks import hooked
from tests.support.racing import client_of_port
from tests.support.requests import check, mint, post, refusal, swap
from tests.support.waiting import wait_until
from tests.support.watched import moved

UNAVAILABLE = (503, "ledger_unavailable", None)
WAIT_S = 60
TRIES = TRIES_MAX[CONFLICT]

# Fails a number of times for real: a sequence counts on when its transaction is undone.
FAILING = """
    CREATE SEQUENCE failures;
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF nextval('failures') <= {count} THEN
            RAISE EXCEPTION 'made for a test' USING ERRCODE = '{state}';
        END IF;
        RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON operations
    {deferred} FOR EACH ROW WHEN (NEW.kind = 'swap') EXECUTE FUNCTION fail();
"""


CONFLICT = "DO $$ BEGIN RAISE EXCEPTION 'made for a test' USING ERRCODE = '40001'; END $$"


@pytest.fixture
def database_url(fresh_postgres_url):
    """A database that the test may change the tables of."""
    return fresh_postgres_url()


class SqlStates:
    """Notes the error codes that the service met."""

    def __init__(self):
        self.met = []

    def __call__(self, context):
        self.met.append(context.original_exception.sqlstate)


def somebody_waits_for_a_lock(other):
    return other.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone()


def lock(other, row):
    other.execute("UPDATE outputs SET amount = amount WHERE item_id = %s AND digest = %s", row)


@pytest.fixture
def deadlock(other, thread):
    """A function that sends a swap of the only two outputs into a deadlock; returns the answer."""

    def send_into_it(send, *arguments):
        first, second = other.execute("SELECT item_id, digest FROM outputs ORDER BY 1, 2")
        # PostgreSQL ends whoever looks for a deadlock first: the service, not we.
        other.execute("SET deadlock_timeout = '1min'")
        other.execute("BEGIN")
        lock(other, second)
        swapping = thread.submit(send, *arguments)
        wait_until(lambda: somebody_waits_for_a_lock(other))
        lock(other, first)
        other.execute("ROLLBACK")
        return swapping.result(WAIT_S)

    return send_into_it


def test_a_swap_that_a_deadlock_ends_is_tried_again(client, ledger, deadlock):
    item = mint(client, "+5.a", "+7.b")
    states = SqlStates()

    with hooked("handle_error", states):
        answer = deadlock(swap, client, [f"+5.{item}.a", f"+7.{item}.b"], [f"+12.{item}.c"])

    assert states.met == ["40P01"]
    assert answer.status_code == 200
    assert ledger.live(item) == [12]


def test_a_real_service_counts_the_conflicts_that_it_tried_again(
    gunicorn_service, database_url, deadlock
):
    service = gunicorn_service(DATABASE_URL=database_url, DEEDS_METRICS="on")
    with client_of_port(service.port) as send:
        item = send("/v1/mint", {"outputs": ["+5.a", "+7.b"]})[1]["itemId"]
        spent, created = [f"+5.{item}.a", f"+7.{item}.b"], [f"+12.{item}.c"]

        answer = deadlock(send, "/v1/swap", {"inputs": spent, "outputs": created})

    assert answer == (200, {"success": True})
    assert moved(service.get_text("/metrics"), "deeds_database_retries") == {
        "deeds_database_retries_total{reason=conflict}": 1
    }


@pytest.mark.parametrize(
    "failure",
    [("40001", ""), ("40P01", ""), ("40001", "DEFERRABLE INITIALLY DEFERRED")],
    ids=["serialization failure", "deadlock", "serialization failure at the commit"],
)
@pytest.mark.parametrize(
    ("failures_count", "status"),
    [(1, 200), (TRIES - 1, 200), (TRIES, 503)],
)
def test_a_serialization_failure_is_tried_again_up_to_a_bound(
    client, ledger, other, failure, failures_count, status
):
    item = mint(client, "+5.a")
    before = ledger.rows()
    state, deferred = failure
    other.execute(FAILING.format(count=failures_count, state=state, deferred=deferred))

    answer = swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"])

    assert answer.status_code == status
    assert other.execute("SELECT last_value FROM failures").fetchone() == (
        min(failures_count + 1, TRIES),
    )
    if status == 503:
        assert refusal(answer) == UNAVAILABLE
        assert ledger.rows() == before
    else:
        assert check(client, f"+5.{item}.a", f"+5.{item}.b") == ["spent", "unspent"]


def test_each_try_after_the_first_is_told_with_its_reason(ledger):
    def conflict(connection):
        connection.exec_driver_sql(CONFLICT)

    reasons = []
    transactions = Transactions(ledger.engine, reasons.append)

    with pytest.raises(LedgerUnavailableError):
        transactions.write(conflict)

    assert reasons == ["conflict"] * (TRIES - 1)


def test_an_output_that_somebody_keeps_locked_is_a_503(
    settings, open_app, ledger, other, monkeypatch
):
    monkeypatch.setattr(storage.engine, "POSTGRESQL_LOCK_TIMEOUT_MS", 50)
    client = open_app(settings).test_client()
    item = mint(client, "+5.a")
    before = ledger.rows()

    other.execute("BEGIN")
    other.execute("UPDATE outputs SET amount = amount")
    refused = swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"])
    states = check(client, f"+5.{item}.a")
    other.execute("ROLLBACK")

    assert (refusal(refused), states) == (UNAVAILABLE, ["unspent"])
    assert ledger.rows() == before
    assert swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"]).status_code == 200


def test_a_table_that_somebody_keeps_locked_is_a_503_for_every_request_that_needs_it(
    settings, open_app, ledger, other, monkeypatch
):
    monkeypatch.setattr(storage.engine, "POSTGRESQL_LOCK_TIMEOUT_MS", 50)
    client = open_app(settings).test_client()
    item = mint(client, "+5.a")

    other.execute("BEGIN")
    other.execute("LOCK TABLE outputs, items IN ACCESS EXCLUSIVE MODE")
    answers = [
        post(client, "/v1/mint", {"outputs": ["+5.a"]}),
        swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"]),
        post(client, "/v1/check", {"outputs": [f"+5.{item}.a"]}),
        client.get(f"/v1/item/{item}"),
    ]
    other.execute("ROLLBACK")

    assert [refusal(answer) for answer in answers] == [UNAVAILABLE] * 4
    assert client.get(f"/v1/item/{item}").status_code == 200


def test_a_database_that_became_read_only_is_a_503_for_writers(settings, open_app, ledger, other):
    client = open_app(settings).test_client()
    item = mint(client, "+5.a")
    before = ledger.rows()
    name = other.info.dbname

    other.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    end_all = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> %s"
    )
    other.execute(end_all, [name, other.info.backend_pid])
    refused = swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"])
    states = check(client, f"+5.{item}.a")
    other.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
    other.execute(end_all, [name, other.info.backend_pid])
    ledger.engine.dispose()

    assert (refusal(refused), states) == (UNAVAILABLE, ["unspent"])
    assert ledger.rows() == before
    assert swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"]).status_code == 200
