"""What the log says when the database refuses: the cause, and no more than that."""

import logging
import secrets

import pytest
from sqlalchemy import make_url
from sqlalchemy.exc import OperationalError

import storage.driver
from tests.support.api import UNAVAILABLE, refusal
from tests.support.ledger_view import LedgerView
from tests.support.leftovers import hooked
from tests.support.marker import MARK, assert_no_trace
from tests.support.watched import events

DEFECT = (500, "internal", None)

on_postgresql = pytest.mark.parametrize("ledger_url", ["postgresql"], indirect=True)


@pytest.fixture
def database_url(ledger_url):
    """That of this test alone, which may change its tables."""
    return ledger_url


def causes(caplog):
    """Return class, code and message of each line about the database."""
    return [
        (record.fields["error"], record.fields["database_code"], record.getMessage())
        for record in caplog.records
        if getattr(record, "event", None) == "database"
    ]


@on_postgresql
def test_a_role_that_may_not_log_in_is_named_as_the_cause(
    database_url, open_api, other, caplog
):
    role = f"deeds_test_{secrets.token_hex(6)}"
    url = make_url(database_url).set(username=role, password=MARK)
    other.execute(f"CREATE ROLE {role} LOGIN SUPERUSER")
    api = open_api(DATABASE_URL=url.render_as_string(False))
    item = api.mint("+5.a")
    other.execute(f"ALTER ROLE {role} NOLOGIN")
    other.execute(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
        " WHERE usename = %s",
        [role],
    )

    answers = [api.swap(f"+5.{item}.a", f"+5.{item}.b") for _ in range(3)]

    other.execute(f"DROP ROLE {role}")
    assert [refusal(answer) for answer in answers] == [UNAVAILABLE] * 3
    [(name, code, message)] = causes(caplog)
    assert (name, code) == ("OperationalError", None)
    assert "not permitted to log in" in message
    assert_no_trace(message.encode())


def test_a_line_has_the_causes_of_all_hosts(open_engine, caplog):
    ports = range(1, 5)
    hosts = ",".join(f"127.0.0.{port}:{port}" for port in ports)
    engine = open_engine(f"postgresql://deeds@{hosts}/deeds")

    with pytest.raises(OperationalError) as refused:
        engine.connect()
    storage.driver.CauseLog().log(refused.value)

    [(_, _, message)] = causes(caplog)
    assert all(f"port {port} failed: Connection refused" in message for port in ports)


def test_a_column_that_is_not_there_is_a_defect_with_its_code(
    api, database_url, caplog, capfd
):
    item = api.mint("+5.a")
    rename = "ALTER TABLE outputs RENAME COLUMN amount TO units"
    LedgerView(database_url).execute(rename)

    answer = api.swap(f"+5.{item}.a", f"+5.{item}.b")

    assert refusal(answer) == DEFECT
    [(error, code, message)] = causes(caplog)
    codes = {"OperationalError": "SQLITE_ERROR", "UndefinedColumn": "42703"}
    assert code == codes[error]
    assert "amount" in message
    [defect] = [
        each for each in events(capfd.readouterr().err) if each["event"] == "defect"
    ]
    assert defect["places"]


@pytest.mark.parametrize("ledger_url", ["sqlite"], indirect=True)
def test_a_refusal_of_the_disk_is_logged_at_most_once_a_second(
    api, caplog, monkeypatch
):
    clock = [1_000.0, 1_000.9, 1_001.0, 1_001.5]
    monkeypatch.setattr(storage.driver, "monotonic", lambda: clock.pop(0))
    many = [f"+1.{number}" for number in range(256)]
    counts, full = [], "PRAGMA max_page_count = 1"

    with hooked("begin", lambda connection: connection.exec_driver_sql(full)):
        while clock:
            assert refusal(api.send_mint(*many)) == UNAVAILABLE
            counts.append(len(causes(caplog)))

    assert counts == [1, 1, 2, 2]
    assert set(causes(caplog)) == {
        ("OperationalError", "SQLITE_FULL", "database or disk is full")
    }


@on_postgresql
def test_what_postgresql_says_in_detail_stays_out_of_the_log(api, other, caplog, capfd):
    """DETAIL of a constraint is the whole row."""
    caplog.set_level(logging.DEBUG)
    condition = f"CHECK (metadata NOT LIKE '%{MARK}%')"
    other.execute(f"ALTER TABLE items ADD CONSTRAINT no_mark {condition}")

    answer = api.send_mint(f"+5.{MARK}", key=MARK, metadata={"name": MARK})

    assert refusal(answer) == DEFECT
    said = 'new row for relation "items" violates check constraint "no_mark"'
    assert causes(caplog) == [("CheckViolation", "23514", said)]
    assert_no_trace(caplog.text.encode())
    assert_no_trace(capfd.readouterr().err.encode())
    assert_no_trace(answer.content)
