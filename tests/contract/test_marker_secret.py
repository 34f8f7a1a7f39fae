"""No secret appears in an error, header, log, repr or database.

A marker is sent everywhere.
"""

import dataclasses
import importlib
import logging
import re
from pathlib import Path

import pytest

from tests.support import marker
from tests.support.marker import MARK, NOWHERE, assert_no_trace
from tests.support.requests import mint, post, swap
from tests.support.sources import module_paths

# Names of fields that hold a secret, what is made of one, or the password of the
# database.
HIDDEN = re.compile(
    r"secret$|digest|pepper$|peppers|key_hashes|database_url|limits_storage"
)

SENDERS = [
    marker.send_good_requests,
    marker.send_refused_swaps,
    marker.send_offers,
    marker.send_malformed_requests,
    marker.send_to_odd_places,
]


@pytest.fixture(autouse=True)
def _log_everything(caplog):
    """Set before the application opens.

    SQLAlchemy looks at the level of its logger only then.
    """
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, "sqlalchemy")


def logged(caplog):
    """Return all that was logged, with the arguments that no format shows."""
    return "\n".join(
        [caplog.text, *(repr(vars(record)) for record in caplog.records)]
    ).encode()


def stored(ledger):
    """Return every byte of an SQLite ledger's files, and every row of any ledger."""
    path = Path(ledger.engine.url.database)
    on_sqlite = ledger.engine.dialect.name == "sqlite"
    files = path.parent.glob(f"{path.name}*") if on_sqlite else []
    values = [value for rows in ledger.rows().values() for row in rows for value in row]
    texts = [
        value if isinstance(value, bytes) else str(value).encode() for value in values
    ]
    return b"\n".join([*(each.read_bytes() for each in files), *texts])


@pytest.mark.parametrize("send", SENDERS)
def test_no_answer_log_or_database_holds_a_secret(client, ledger, caplog, capfd, send):
    item_id = mint(client, "+1.a")

    answers = send(client)

    said, logs, kept = "".join(capfd.readouterr()), logged(caplog), stored(ledger)
    assert '"event":"request"' in said
    assert b"INSERT INTO outputs" in logs
    assert item_id.encode() in kept
    for data in (said.encode(), logs, kept):
        assert_no_trace(data)
    for answer in answers:
        assert_no_trace(answer.data + str(answer.headers).encode())


@pytest.mark.parametrize("method", ["read_items", "read_operation", "record_swap"])
def test_a_defect_that_quotes_a_secret_is_logged_without_it(
    settings, open_app, monkeypatch, caplog, capfd, method
):
    def fail(*_args, **_options):
        raise RuntimeError(f"cannot spend +5.{NOWHERE}.{MARK}") from KeyError(MARK)

    minted = post(
        open_app(settings).test_client(), "/v1/mint", {"outputs": [f"+5.{MARK}"]}
    )
    assert_no_trace(str(minted.headers).encode())
    item_id = minted.get_json()["itemId"]
    monkeypatch.setattr(f"storage.repository.Repository.{method}", fail)

    # A service takes the functions of its repository when it is opened.
    broken = open_app(settings).test_client()
    answer = swap(broken, [f"+5.{item_id}.{MARK}"], [f"+5.{item_id}.a"], MARK)

    assert (answer.status_code, answer.get_json()["code"]) == (500, "internal")
    assert_no_trace(answer.data)
    said = capfd.readouterr().err
    assert '"error":"RuntimeError","places":"' in said
    assert_no_trace(said.encode())
    assert_no_trace(logged(caplog))


def test_no_repr_of_a_value_shows_a_field_that_may_hold_a_secret():
    modules = [path.removesuffix(".py").replace("/", ".") for path in module_paths()]
    found = {
        value
        for name in modules
        if ".migrations."
        not in name  # Only Alembic can import those, and they hold none.
        for value in vars(importlib.import_module(name)).values()
        if isinstance(value, type) and dataclasses.is_dataclass(value)
    }
    fields = [
        (each.__name__, field.name, field.repr)
        for each in found
        for field in dataclasses.fields(each)
        if HIDDEN.search(field.name)
    ]

    assert len(fields) > 8
    assert [field for field in fields if field[2]] == []


def test_the_marks_are_found_where_they_are():
    """A search that finds nothing anywhere would prove nothing."""
    for trace in marker.traces(MARK):
        with pytest.raises(AssertionError):
            assert_no_trace(b"x" + trace + b"x")
