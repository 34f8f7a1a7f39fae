"""What the log says when the database refuses: the cause, and no more than that."""

import logging
import secrets

import pytest
from sqlalchemy import make_url

import storage.driver
from deeds.domain.model import Argon2Cost
from deeds.settings import Settings
from storage.engine import make_engine, parse_database_url
from tests.support.hooks import hooked
from tests.support.marker import MARK, assert_no_trace
from tests.support.requests import mint, post, refusal, swap
from tests.support.watched import events

AWAY = (503, "ledger_unavailable", None)
DEFECT = (500, "internal", None)


@pytest.fixture
def open_client(open_app):
    """A function that opens the service on a database."""
    return lambda url: open_app(
        Settings(url, ordinary_cost=Argon2Cost(8, 1, 1))
    ).test_client()


def causes(caplog):
    """Return class, code and message of each line about the database."""
    return [
        (record.fields["error"], record.fields["database_code"], record.getMessage())
        for record in caplog.records
        if getattr(record, "event", None) == "database"
    ]


def execute(url, *statements):
    engine = make_engine(parse_database_url(url))
    with engine.connect() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    engine.dispose()


def test_a_role_that_may_not_log_in_is_named_as_the_cause(
    fresh_postgres_url, open_client, caplog
):
    admin = fresh_postgres_url()
    role = f"deeds_test_{secrets.token_hex(6)}"
    own = make_url(admin).set(username=role, password=MARK)
    execute(admin, f"CREATE ROLE {role} LOGIN SUPERUSER")
    client = open_client(own.render_as_string(hide_password=False))
    item = mint(client, "+5.a")
    execute(
        admin,
        f"ALTER ROLE {role} NOLOGIN",
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
        " WHERE usename LIKE 'deeds_test_%%'",
    )

    answers = [swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"]) for _ in range(3)]

    execute(admin, f"DROP ROLE {role}")
    assert [refusal(answer) for answer in answers] == [AWAY] * 3
    [(name, code, message)] = causes(caplog)
    assert (name, code) == ("OperationalError", None)
    assert "not permitted to log in" in message
    assert_no_trace(message.encode())


def test_a_column_that_is_not_there_is_a_defect_with_its_code(
    ledger_url, open_client, caplog, capfd
):
    client = open_client(ledger_url)
    item = mint(client, "+5.a")
    execute(ledger_url, "ALTER TABLE outputs RENAME COLUMN amount TO units")

    answer = swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"])

    assert refusal(answer) == DEFECT
    [(error, code, message)] = causes(caplog)
    codes = {"OperationalError": "SQLITE_ERROR", "UndefinedColumn": "42703"}
    assert code == codes[error]
    assert "amount" in message
    [defect] = [
        each for each in events(capfd.readouterr().err) if each["event"] == "defect"
    ]
    assert defect["places"]


def test_a_refusal_of_the_disk_is_logged_at_most_once_a_second(
    sqlite_url, open_client, caplog, monkeypatch
):
    clock = [1_000.0, 1_000.9, 1_001.0, 1_001.5]
    monkeypatch.setattr(storage.driver, "monotonic", lambda: clock.pop(0))
    client = open_client(sqlite_url)
    body = {"outputs": [f"+1.{number}" for number in range(256)]}
    counts, full = [], "PRAGMA max_page_count = 1"

    with hooked("begin", lambda connection: connection.exec_driver_sql(full)):
        while clock:
            assert refusal(post(client, "/v1/mint", body)) == AWAY
            counts.append(len(causes(caplog)))

    assert counts == [1, 1, 2, 2]
    assert set(causes(caplog)) == {
        ("OperationalError", "SQLITE_FULL", "database or disk is full")
    }


def test_what_postgresql_says_in_detail_stays_out_of_the_log(
    fresh_postgres_url, open_client, caplog, capfd
):
    """DETAIL of a constraint is the whole row."""
    caplog.set_level(logging.DEBUG)
    url = fresh_postgres_url()
    client = open_client(url)
    execute(
        url,
        "ALTER TABLE items ADD CONSTRAINT no_mark"
        f" CHECK (metadata NOT LIKE '%%{MARK}%%')",
    )

    answer = post(
        client,
        "/v1/mint",
        {"outputs": [f"+5.{MARK}"], "metadata": {"name": MARK}},
        key=MARK,
    )

    assert refusal(answer) == DEFECT
    said = 'new row for relation "items" violates check constraint "no_mark"'
    assert causes(caplog) == [("CheckViolation", "23514", said)]
    assert_no_trace(caplog.text.encode())
    assert_no_trace(capfd.readouterr().err.encode())
    assert_no_trace(answer.data)
