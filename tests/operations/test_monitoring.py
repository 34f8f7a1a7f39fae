"""GET /healthz: the process lives. GET /readyz: it would not refuse requests.

tests/faults/test_postgres_away.py has a database that fails and returns.
"""

from storage import database
from tests.support.api import UNAVAILABLE, good, refusal
from tests.support.databases import on_sqlite
from tests.support.hooks import hooked, logged_statements
from tests.support.ledger_view import LedgerView
from tests.support.strong_secrets import make_strong_secret

ALIVE = {"status": "alive"}
READY = {"status": "ready"}


def test_a_process_that_lives_asks_no_database(api):
    with logged_statements() as log:
        assert good(api.get("/healthz")) == ALIVE

    assert log.sent == []


def test_a_service_is_ready_after_one_read(api, hash_costs):
    with logged_statements() as log:
        assert good(api.get("/readyz")) == READY

    assert log.names == ["SELECT schema_version"]
    assert log.commits_count == 0
    assert hash_costs == []


def test_tables_of_a_later_version_are_not_ready(api, database_url):
    ledger = LedgerView(database_url)
    raise_versions = (
        "UPDATE schema_version SET version = version + ?, serves_from = serves_from + ?"
    )
    ledger.execute(raise_versions, 98, 98)

    answer = api.get("/readyz")

    # Restore them, because other tests use this database too.
    ledger.execute(raise_versions, -98, -98)
    assert refusal(answer) == UNAVAILABLE
    assert "have version 99" in answer.json()["detail"]


@on_sqlite
def test_all_monitors_of_a_disk_that_refuses_writes_try_one_in_a_second(
    api, monkeypatch
):
    monkeypatch.setattr(database, "monotonic", lambda: now_s)
    now_s = 1000.0
    disk = "PRAGMA query_only = ON"
    tries = []

    def refuse(connection, *_):
        tries.append(disk)
        connection.execute(disk)

    with hooked("before begin", refuse):
        refused = api.send_mint("+5.a")
        unready = [api.get("/readyz") for _ in range(5)]
        disk = "PRAGMA query_only = OFF"
        now_s += database.TRY_INTERVAL_S
        ready = api.get("/readyz")

    assert {refusal(each) for each in (refused, *unready)} == {UNAVAILABLE}
    assert good(ready) == READY
    # One attempt by the mint, one by all five requests, and one a second later.
    assert tries == ["PRAGMA query_only = ON"] * 2 + [disk]


def test_a_full_hash_pool_is_not_ready_and_refuses_ordinary_secrets_alone(
    open_api, monkeypatch, hash_costs
):
    monkeypatch.setattr("app.HASH_REQUESTS_MAX", 1)
    api = open_api()
    item = api.mint("+5.a")
    refused = []

    def ask_meanwhile():
        refused.append(api.swap(f"+5.{item}.a", f"+5.{item}.c"))
        refused.append(api.get("/readyz"))
        api.mint(f"+5.{make_strong_secret()}")

    hash_costs.meanwhile = ask_meanwhile
    slow = api.swap(f"+5.{item}.a", f"+5.{item}.b")

    assert slow.status_code == 200
    assert [refusal(each) for each in refused] == [(503, "overloaded", None)] * 2
    assert api.check(f"+5.{item}.b", f"+5.{item}.c") == ["unspent", "unknown"]
    assert good(api.get("/readyz")) == READY
