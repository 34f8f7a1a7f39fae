"""No secret appears in an error, header, log, repr or database.

A marker is sent everywhere.
"""

import dataclasses
import importlib
import pickle
import re
from unittest.mock import Mock

import pytest

from tests.support import marker
from tests.support.hooks import hooked
from tests.support.marker import MARK, NOWHERE, assert_no_trace
from tests.support.sources import module_paths

# Names of fields that hold a secret, what is made of one, or the password of the
# database.
HIDDEN = re.compile(
    r"secret$|digest|pepper$|peppers|key_hashes|database_url|limits_storage"
)

SENDERS = [
    marker.send_good_requests,
    marker.send_tokens,
    marker.send_refused_swaps,
    marker.send_offers,
    marker.send_malformed_requests,
    marker.send_to_wrong_places,
]


@pytest.mark.parametrize("send", SENDERS)
def test_no_answer_log_or_database_holds_a_secret(
    open_api, ledger, tmp_path, caplog, capfd, send
):
    api = open_api(DEEDS_MINT_TOKEN=MARK, DEEDS_LOG_LEVEL="debug")
    api.http.headers["Authorization"] = f"Bearer {MARK}"
    minted = api.send_mint(f"+1.{MARK}")

    answers = send(api)

    said = "".join(capfd.readouterr()).encode()
    # With the arguments that no format shows.
    records = repr([vars(record) for record in caplog.records])
    logs = (caplog.text + records).encode()
    # Texts and bytes stand in it as they are.
    rows = pickle.dumps(ledger.rows())
    assert b'"event":"request"' in said
    assert minted.json()["itemId"].encode() in rows
    files = [each.read_bytes() for each in tmp_path.glob("deeds.sqlite3*")]
    # The body of a mint repeats the secret to its owner.
    heads = [str(each.headers.raw).encode() for each in (minted, *answers)]
    bodies = [each.content for each in answers]
    for data in (said, logs, rows, *files, *heads, *bodies):
        assert_no_trace(data)


@pytest.mark.parametrize(
    "moment", ["before statement", "after statement", "before begin", "before commit"]
)
def test_a_defect_that_quotes_a_secret_is_logged_without_it(api, caplog, capfd, moment):
    item_id = api.mint(f"+5.{MARK}")
    defect = RuntimeError(f"cannot spend +5.{NOWHERE}.{MARK}")
    defect.__cause__ = KeyError(MARK)

    with hooked(moment, Mock(side_effect=defect)):
        answer = api.swap(f"+5.{item_id}.{MARK}", f"+5.{item_id}.a", MARK)

    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert_no_trace(answer.content)
    said = capfd.readouterr().err
    assert '"error":"RuntimeError","places":"' in said
    records = repr([vars(record) for record in caplog.records])
    assert_no_trace((said + caplog.text + records).encode())


def test_no_repr_of_a_value_shows_a_field_that_may_hold_a_secret():
    modules = [path.removesuffix(".py").replace("/", ".") for path in module_paths()]
    classes = {
        value
        for name in modules
        for value in vars(importlib.import_module(name)).values()
        if isinstance(value, type) and dataclasses.is_dataclass(value)
    }
    fields = [
        (each, field)
        for each in classes
        for field in dataclasses.fields(each)
        if HIDDEN.search(field.name)
    ]

    shown = [
        field.name
        for each, field in fields
        if field.repr and each.__dataclass_params__.repr
    ]

    assert len(fields) > 5
    assert shown == []


@pytest.mark.parametrize("trace", marker.traces(MARK))
def test_the_marks_are_found_where_they_are(trace):
    """A search that finds nothing anywhere would prove nothing."""
    with pytest.raises(AssertionError):
        assert_no_trace(b"x" + trace + b"x")
