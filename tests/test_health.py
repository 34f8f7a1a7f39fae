"""GET /healthz: the process lives. GET /readyz: its requests would not be refused.

With a database that goes away and comes back: tests/test_database_away.py.
"""

from dataclasses import replace

import pytest
from sqlalchemy import text

import storage.readiness
from storage.engine import make_engine, parse_database_url
from tests.hashes_held import HeldHashes
from tests.requests import mint, refusal
from tests.statement_log import logged_statements

ALIVE = (200, {"status": "alive"})
READY = (200, {"status": "ready"})


def said(client, path):
    answer = client.get(path)
    return answer.status_code, answer.get_json()


def test_a_service_that_can_work_is_alive_and_ready(client):
    assert said(client, "/healthz") == ALIVE
    assert said(client, "/readyz") == READY


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_what_they_say_is_kept_by_nobody(client, path):
    assert client.get(path).headers["Cache-Control"] == "no-store"
    assert client.head(path).status_code == 200


def test_to_live_takes_no_database_and_no_hash(client, hash_costs):
    with logged_statements() as log:
        client.get("/healthz")

    assert (log.sent, hash_costs) == ([], [])


def test_to_be_ready_takes_one_statement_and_no_hash(client, hash_costs):
    with logged_statements() as log:
        client.get("/readyz")

    assert (log.names, log.commits_count, hash_costs) == (["SELECT alembic_version"], 0, [])


def test_a_database_of_another_revision_is_not_ready(database_url, client, monkeypatch):
    monkeypatch.setattr(storage.readiness, "HEAD_REVISION", "9999")

    answer = client.get("/readyz")

    assert refusal(answer) == (503, "ledger_unavailable", None)
    assert "revision" in answer.get_json()["detail"]


def test_a_database_whose_tables_are_gone_is_not_ready(sqlite_url, settings, open_app):
    client = open_app(replace(settings, database_url=sqlite_url)).test_client()
    engine = make_engine(parse_database_url(sqlite_url))
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE alembic_version"))
    engine.dispose()

    assert refusal(client.get("/readyz")) == (503, "ledger_unavailable", None)
    assert said(client, "/healthz") == ALIVE


@pytest.mark.parametrize("bound", ["HASH_REQUESTS_MAX", "HASH_TASKS_MAX"])
def test_a_full_lane_of_hashes_is_not_ready_until_it_has_room(
    settings, open_app, monkeypatch, bound
):
    monkeypatch.setattr(f"app.{bound}", 1)
    client = open_app(settings).test_client()

    with HeldHashes(monkeypatch) as held:
        minting = held.start(mint, client, "+5.a")
        full = client.get("/readyz")
        alive = said(client, "/healthz")
    minting.result()

    assert refusal(full) == (503, "overloaded", None)
    assert alive == ALIVE
    assert said(client, "/readyz") == READY
