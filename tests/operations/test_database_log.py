"""What the log says when the database refuses: the cause, and no more than that."""

import logging
import secrets
import sqlite3
from contextlib import closing
from dataclasses import replace

import psycopg
import pytest
from sqlalchemy import make_url

import storage.failures
from deeds.domain.model import Argon2Cost
from deeds.settings import Settings
from tests.support.hooks import hooked
from tests.support.limited_disk import FULL
from tests.support.marker import MARK, assert_no_trace
from tests.support.requests import mint, post, refusal, swap
from tests.support.watched import events

AWAY = (503, "ledger_unavailable", None)
DEFECT = (500, "internal", None)
LARGE_MINT = {"outputs": [f"+1.{number}" for number in range(256)]}


@pytest.fixture(autouse=True)
def _nothing_was_said_yet(monkeypatch):
    monkeypatch.setattr(storage.failures, "_logged_at_s", {})


@pytest.fixture
def settings():
    """Settings, but for the database."""
    return Settings("", ordinary_cost=Argon2Cost(8, 1, 1))


@pytest.fixture
def postgres_client(fresh_postgres_url, settings, open_app):
    """The service on a database that the test may change the tables of, and its URL."""
    url = fresh_postgres_url()
    return open_app(replace(settings, database_url=url)).test_client(), url


def causes(caplog):
    """Return class, code and message of each line about the database."""
    return [
        (record.fields["error"], record.fields["database_code"], record.getMessage())
        for record in caplog.records
        if getattr(record, "event", None) == "database"
    ]


def execute(url, *statements):
    with psycopg.connect(url, autocommit=True) as other:
        for statement in statements:
            other.execute(statement)


def execute_on_sqlite(url, statement):
    with closing(sqlite3.connect(make_url(url).database)) as other:
        other.execute(statement)


def forbid_new_pages(connection):
    connection.connection.driver_connection.execute(FULL)


def test_a_role_that_may_not_log_in_is_named_as_the_cause(
    fresh_postgres_url, settings, open_app, caplog
):
    admin = fresh_postgres_url()
    role = f"deeds_test_{secrets.token_hex(6)}"
    own = make_url(admin).set(username=role, password=MARK)
    execute(admin, f"CREATE ROLE {role} LOGIN SUPERUSER")
    url = own.render_as_string(hide_password=False)
    client = open_app(replace(settings, database_url=url)).test_client()
    item = mint(client, "+5.a")
    execute(
        admin,
        f"ALTER ROLE {role} NOLOGIN",
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        " AND datname = current_database()",
    )

    answers = [swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"]) for _ in range(3)]

    execute(admin, f"DROP ROLE {role}")
    assert [refusal(answer) for answer in answers] == [AWAY] * 3
    [(name, code, message)] = causes(caplog)
    assert (name, code) == ("OperationalError", None)
    assert "not permitted to log in" in message
    assert_no_trace(message.encode())


def test_a_column_that_is_not_there_is_a_defect_with_its_code(postgres_client, caplog, capfd):
    client, url = postgres_client
    item = mint(client, "+5.a")
    execute(url, "ALTER TABLE outputs RENAME COLUMN amount TO units")

    answer = swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"])

    assert refusal(answer) == DEFECT
    assert causes(caplog) == [
        ("UndefinedColumn", "42703", 'column "amount" of relation "outputs" does not exist')
    ]
    [defect] = [each for each in events(capfd.readouterr().err) if each["event"] == "defect"]
    assert defect["database_code"] == "42703"


def test_a_wrong_statement_is_a_defect_on_sqlite_too(sqlite_url, settings, open_app, caplog, capfd):
    client = open_app(replace(settings, database_url=sqlite_url)).test_client()
    item = mint(client, "+5.a")
    execute_on_sqlite(sqlite_url, "ALTER TABLE outputs RENAME COLUMN amount TO units")

    answer = swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"])

    assert refusal(answer) == DEFECT
    [(name, code, message)] = causes(caplog)
    assert (name, code) == ("OperationalError", "SQLITE_ERROR")
    assert "amount" in message
    [defect] = [each for each in events(capfd.readouterr().err) if each["event"] == "defect"]
    assert defect["database_code"] == "SQLITE_ERROR"


def test_a_commit_that_the_disk_refuses_is_told_with_its_code(
    sqlite_url, settings, open_app, caplog
):
    client = open_app(replace(settings, database_url=sqlite_url)).test_client()

    with hooked("begin", forbid_new_pages):
        answer = post(client, "/v1/mint", LARGE_MINT)

    assert refusal(answer) == AWAY
    assert causes(caplog) == [("OperationalError", "SQLITE_FULL", "database or disk is full")]


def test_a_cause_is_told_at_most_once_a_second(sqlite_url, settings, open_app, caplog, monkeypatch):
    clock = [1_000.0, 1_000.9, 1_001.0, 1_001.5]
    monkeypatch.setattr(storage.failures, "monotonic", lambda: clock.pop(0))
    client = open_app(replace(settings, database_url=sqlite_url)).test_client()
    told = []

    with hooked("begin", forbid_new_pages):
        while clock:
            assert refusal(post(client, "/v1/mint", LARGE_MINT)) == AWAY
            told.append(len(causes(caplog)))

    assert told == [1, 1, 2, 2]


def test_what_postgresql_says_in_detail_stays_out_of_the_log(postgres_client, caplog, capfd):
    """DETAIL of a constraint is the whole row."""
    caplog.set_level(logging.DEBUG)
    client, url = postgres_client
    execute(url, f"ALTER TABLE items ADD CONSTRAINT no_mark CHECK (metadata NOT LIKE '%{MARK}%')")
    body = {"outputs": [f"+5.{MARK}"], "metadata": {"name": MARK}}

    answer = post(client, "/v1/mint", body, key=MARK)

    assert refusal(answer) == DEFECT
    said = 'new row for relation "items" violates check constraint "no_mark"'
    assert causes(caplog) == [("CheckViolation", "23514", said)]
    assert_no_trace(caplog.text.encode())
    assert_no_trace(capfd.readouterr().err.encode())
    assert_no_trace(answer.data)
