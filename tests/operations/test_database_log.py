"""The log line about a refusal of the database: its cause, at most once a second."""

import pytest

from storage import database
from tests.support.api import UNAVAILABLE, refusal
from tests.support.hooks import hooked
from tests.support.ledger_view import LedgerView
from tests.support.watched import database_causes, events

DEFECT = (500, "internal", None)


@pytest.fixture
def database_url(ledger_url):
    """A database for one test only, which may change its tables."""
    return ledger_url


def test_a_column_that_is_not_there_is_a_defect_with_its_code(
    api, database_url, caplog, capfd
):
    item = api.mint("+5.a")
    rename = "ALTER TABLE outputs RENAME COLUMN amount TO units"
    LedgerView(database_url).execute(rename)

    answer = api.swap(f"+5.{item}.a", f"+5.{item}.b")

    assert refusal(answer) == DEFECT
    [(error, code, message)] = database_causes(caplog)
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
    many = [f"+1.{number}" for number in range(256)]
    counts = []

    def fill(connection, *_):
        connection.execute("PRAGMA max_page_count = 1")

    with hooked("after begin", fill):
        for now_s in (1_000.0, 1_000.9, 1_001.0, 1_001.5):
            monkeypatch.setattr(database, "monotonic", lambda at_s=now_s: at_s)
            assert refusal(api.send_mint(*many)) == UNAVAILABLE
            counts.append(len(database_causes(caplog)))

    assert counts == [1, 1, 2, 2]
    assert set(database_causes(caplog)) == {
        ("OperationalError", "SQLITE_FULL", "database or disk is full")
    }
