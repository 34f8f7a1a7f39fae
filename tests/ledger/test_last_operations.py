"""What a process committed last is looked for on each new connection to PostgreSQL."""

import time
from uuid import uuid4

import pytest

from deeds.domain.errors import LedgerRolledBackError, LedgerUnavailableError
from tests.support.api import UNAVAILABLE, refusal
from tests.support.databases import on_postgresql
from tests.support.ledger_view import CUT_OFF
from tests.support.leftovers import add_item, hooked, is_writer

pytestmark = on_postgresql


@pytest.fixture(autouse=True)
def look_on_connections_alone(monkeypatch):
    monkeypatch.setattr("storage.last_operations._LOOK_EVERY_S", 3600)


def take_away(other, operation_id):
    """Take an operation away, as where another one got its id, and all connections."""
    times = "UPDATE operations SET created_at_ms = 0 WHERE id = %s"
    other.execute(times, [operation_id])
    other.execute(CUT_OFF)


@pytest.mark.parametrize("lost", [0, 4, 7])
def test_whichever_of_the_last_operations_is_missing_is_noticed(
    repository, other, lost
):
    made = [add_item(repository, number) for number in range(8)]
    take_away(other, made[lost])

    with pytest.raises(LedgerUnavailableError):
        add_item(repository, 9)


def test_a_server_that_lacked_an_operation_is_looked_at_again(repository, other):
    """The right one, found meanwhile, does not clear a connection to this one."""
    take_away(other, add_item(repository, 0))
    with pytest.raises(LedgerUnavailableError):
        repository.read_item(f"deed_{0:026}")
    repository._last._report_found()

    with pytest.raises(LedgerUnavailableError):
        add_item(repository, 1)


def test_a_loss_that_is_met_during_a_look_elsewhere_stands(
    repository, other, thread, monkeypatch
):
    """The look reads before the loss, and ends after another connection met it."""
    monkeypatch.setattr("storage.last_operations._DOUBT_SECONDS", 0.0)
    made, refused = add_item(repository, 0), []

    def lose(_connection, _cursor, text, *_):
        if "created_at_ms FROM operations" in text and not refused:
            refused.append(None)
            take_away(other, made)
            refused[0] = thread.submit(add_item, repository, 1).exception(20)

    with hooked("after_cursor_execute", lose):
        repository._last._look()

    assert [type(each) for each in refused] == [LedgerUnavailableError]
    repository._last._look()
    with pytest.raises(LedgerRolledBackError):
        repository._last.check_not_lost()


def test_a_server_that_has_all_of_them_puts_off_the_verdict(
    repository, other, monkeypatch
):
    """A connection to the primary may be there while new ones meet another server."""
    made = add_item(repository, 0)
    rows = "UPDATE operations SET created_at_ms = -created_at_ms WHERE id = %s"
    now_s = time.monotonic()
    monkeypatch.setattr("storage.last_operations.monotonic", lambda: now_s)

    for _ in range(4):
        now_s += 10.0
        other.execute(rows, [made])
        repository._last._is_behind = True
        repository._last._look()
        other.execute(rows, [made])
        repository.read_policies()

    repository._last.check_not_lost()


def test_repetitions_push_no_operation_out(api, other):
    key = str(uuid4())
    api.mint("+5.a", key=key)
    api.mint("+5.b")
    for _ in range(50):
        api.mint("+5.a", key=key)
    [made] = other.execute("SELECT max(id) FROM operations").fetchone()
    take_away(other, made)

    assert refusal(api.send_mint("+5.a")) == UNAVAILABLE


@pytest.mark.parametrize(
    ("path", "field"),
    [("/v1/swap", "inputs"), ("/v1/check", "outputs"), ("/v1/item/{}", None)],
)
def test_nothing_is_unknown_to_a_server_that_lacks_an_operation(
    api, other, path, field
):
    """It was the primary when the connection was made, and another one is now."""
    item = api.mint("+5.a")
    other.execute("UPDATE operations SET created_at_ms = 0")
    raws = [f"+5.{item}.made-elsewhere"]
    body = {"inputs": raws, "outputs": [f"+5.{item}.b"]}

    if field is None:
        answer = api.get(path.format(f"deed_{0:026}"))
    else:
        answer = api.post(path, {field: raws} if field == "outputs" else body)

    assert refusal(answer) == UNAVAILABLE


@pytest.mark.parametrize("lost", ["outer", "inner"])
def test_of_operations_that_overlapped_none_is_lost_unseen(
    repository, other, thread, lost
):
    """PostgreSQL's ids are not in the order of its commits."""
    add_item(repository, 0)
    made = {}

    def commit_another_first(connection):
        if is_writer(connection) and not made:
            made["inner"] = None
            made["inner"] = thread.submit(add_item, repository, 1).result(20)

    with hooked("commit", commit_another_first):
        made["outer"] = add_item(repository, 2)
    assert made["inner"] > made["outer"]
    take_away(other, made[lost])

    with pytest.raises(LedgerUnavailableError):
        add_item(repository, 3)
