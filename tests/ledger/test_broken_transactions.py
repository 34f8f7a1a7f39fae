"""The connection breaks off within a transaction: retried, or said to be in doubt, never lost."""

import psycopg
import pytest

from deeds.domain.errors import LedgerUnavailableError
from storage.transactions import Transactions
from tests.support.hooks import AtWrite, hooked, is_writer
from tests.support.requests import check, mint, refusal, swap
from tests.support.waiting import wait_until

# What a swap sends between BEGIN and COMMIT.
STATEMENTS_COUNT = 3

KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"


@pytest.fixture
def database_url(emptied_postgres_url):
    return emptied_postgres_url


@pytest.fixture
def cut_off(database_url):
    """A function that ends the server's side of a connection."""
    with psycopg.connect(database_url, autocommit=True) as other:

        def end(connection):
            pid = connection.connection.driver_connection.info.backend_pid
            other.execute("SELECT pg_terminate_backend(%s)", [pid])
            alive = "SELECT 1 FROM pg_stat_activity WHERE pid = %s"
            wait_until(lambda: not other.execute(alive, [pid]).fetchone())

        yield end


def before_first_commit(function):
    """Return a hook for the moment before a writer's first COMMIT."""
    calls = []

    def hook(connection):
        if is_writer(connection) and not calls:
            calls.append(connection)
            function(connection)

    return hook


@pytest.mark.parametrize("number", range(STATEMENTS_COUNT))
def test_a_swap_cut_off_before_a_statement_is_made_once_all_the_same(
    client, ledger, cut_off, number
):
    item = mint(client, "+5.a", "+7.b")
    cut = AtWrite(number, cut_off)

    with hooked("before_cursor_execute", cut):
        answer = swap(client, [f"+5.{item}.a", f"+7.{item}.b"], [f"+4.{item}.{s}" for s in "cde"])

    # Those of the first try, up to the cut, and all of the second one.
    assert cut.statements_count == number + 1 + STATEMENTS_COUNT
    assert answer.status_code == 200
    assert ledger.live(item) == [4, 4, 4]


def test_a_connection_is_replaced_once_and_then_the_database_is_away(ledger, cut_off):
    reasons = []
    transactions = Transactions(ledger.engine, reasons.append)

    def break_off(connection):
        cut_off(connection)
        connection.exec_driver_sql("SELECT 1")

    for ask in (transactions.read, transactions.write):
        with pytest.raises(LedgerUnavailableError):
            ask(break_off)

    assert reasons == ["disconnect"] * 2


def test_a_commit_that_never_arrived_is_in_doubt_and_the_key_brings_certainty(
    client, ledger, cut_off
):
    item = mint(client, "+5.a")
    request = ([f"+5.{item}.a"], [f"+5.{item}.b"], KEY)

    with hooked("commit", before_first_commit(cut_off)):
        doubtful = swap(client, *request)
    states = check(client, f"+5.{item}.a", f"+5.{item}.b")
    again = swap(client, *request)

    assert refusal(doubtful) == (503, "ledger_in_doubt", None)
    assert int(doubtful.headers["Retry-After"]) >= 1
    assert states == ["unspent", "unknown"]
    assert (again.status_code, again.headers.get("Idempotency-Replayed")) == (200, None)
    assert ledger.live(item) == [5]


def test_a_commit_that_arrived_unheard_is_in_doubt_and_the_key_brings_certainty(
    client, ledger, cut_off
):
    def commit_and_cut_off(connection):
        driver = connection.connection.driver_connection
        driver.execute("COMMIT")
        driver.execute("BEGIN")
        cut_off(connection)

    item = mint(client, "+5.a")
    request = ([f"+5.{item}.a"], [f"+5.{item}.b"], KEY)

    with hooked("commit", before_first_commit(commit_and_cut_off)):
        doubtful = swap(client, *request)
    states = check(client, f"+5.{item}.a", f"+5.{item}.b")
    again = swap(client, *request)

    assert refusal(doubtful) == (503, "ledger_in_doubt", None)
    assert states == ["spent", "unspent"]
    assert (again.status_code, again.headers.get("Idempotency-Replayed")) == (200, "true")
    assert ledger.live(item) == [5]


def test_a_mint_in_doubt_is_minted_once(client, ledger, cut_off):
    body = {"outputs": ["+5.a"]}

    with hooked("commit", before_first_commit(cut_off)):
        doubtful = client.post("/v1/mint", json=body, headers={"Idempotency-Key": KEY})
    answers = [
        client.post("/v1/mint", json=body, headers={"Idempotency-Key": KEY}) for _ in range(2)
    ]

    assert refusal(doubtful) == (503, "ledger_in_doubt", None)
    assert answers[0].get_json() == answers[1].get_json()
    assert len(ledger.rows()["items"]) == 1
