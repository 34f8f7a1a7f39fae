"""GET /healthz: the process lives. GET /readyz: its requests would not be refused.

With a database that goes away and comes back: tests/faults/test_postgres_away.py.
"""

from dataclasses import replace

import pytest

import storage.schema
from deeds.domain.raw_output import make_strong_secret
from tests.support.hooks import hooked, logged_statements
from tests.support.requests import check, mint, post, refusal, swap

ALIVE = (200, {"status": "alive"})
READY = (200, {"status": "ready"})


def said(client, path):
    answer = client.get(path)
    return answer.status_code, answer.get_json()


def test_a_service_that_can_work_is_alive_and_ready(client, hash_costs):
    with logged_statements() as log:
        assert said(client, "/healthz") == ALIVE
        assert log.sent == []
        assert said(client, "/readyz") == READY

    assert (log.names, log.commits_count, hash_costs) == (
        ["SELECT alembic_version"],
        0,
        [],
    )
    for path in ("/healthz", "/readyz"):
        assert client.get(path).headers["Cache-Control"] == "no-store"
        assert client.head(path).status_code == 200


def test_a_database_of_another_revision_is_not_ready(client, monkeypatch):
    monkeypatch.setattr(storage.schema, "HEAD_REVISION", "9999")

    answer = client.get("/readyz")

    assert refusal(answer) == (503, "ledger_unavailable", None)
    assert "revision" in answer.get_json()["detail"]


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_postgresql_that_turns_read_only_is_not_ready(client, other):
    def alter_and_end_sessions(setting):
        other.execute(f'ALTER DATABASE "{other.info.dbname}" {setting}')
        other.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )

    client.get("/readyz")

    alter_and_end_sessions("SET default_transaction_read_only = on")
    read_only = client.get("/readyz")
    alter_and_end_sessions("RESET ALL")

    assert refusal(read_only) == (503, "ledger_unavailable", None)
    assert read_only.get_json()["detail"] == "the database is read-only"
    assert said(client, "/readyz") == READY


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_disk_that_refuses_a_write_is_not_ready_until_one_succeeds(client):
    disk = "PRAGMA query_only = ON"

    def refuse(connection):
        connection.connection.driver_connection.execute(disk)

    with hooked("begin", refuse):
        unnoticed = said(client, "/readyz")
        refused = post(client, "/v1/mint", {"outputs": ["+5.a"]})
        unready = [client.get("/readyz") for _ in range(2)]
        disk = "PRAGMA query_only = OFF"
        ready = said(client, "/readyz")

    assert unnoticed == ready == READY
    assert {refusal(each) for each in (refused, *unready)} == {
        (503, "ledger_unavailable", None)
    }


def test_a_full_hash_pool_is_not_ready_and_serves_strong_secrets(
    settings, open_app, monkeypatch, hash_costs
):
    monkeypatch.setattr("app.HASH_REQUESTS_MAX", 1)
    client = open_app(settings).test_client()
    item, refused = mint(client, "+5.a"), []

    def ask_meanwhile():
        refused.append(swap(client, [f"+5.{item}.a"], [f"+5.{item}.c"]))
        refused.append(client.get("/readyz"))
        mint(client, f"+5.{make_strong_secret()}")

    hash_costs.meanwhile = ask_meanwhile
    slow = swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"])

    assert [refusal(each) for each in refused] == [(503, "overloaded", None)] * 2
    assert min(int(each.headers["Retry-After"]) for each in refused) >= 1
    assert slow.status_code == 200
    assert said(client, "/readyz") == READY
    assert check(client, f"+5.{item}.b", f"+5.{item}.c") == ["unspent", "unknown"]


def test_metrics_are_text_for_prometheus_where_they_are_asked_for(
    client, settings, open_app
):
    asked_for = open_app(replace(settings, metrics="on")).test_client()

    answer = asked_for.get("/metrics")

    assert answer.status_code == 200
    assert answer.content_type.startswith("text/plain; version=")
    assert answer.headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in answer.headers
    assert refusal(client.get("/metrics")) == (404, "not_found", None)
