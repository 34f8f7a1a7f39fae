"""A ledger that loses operations under a running service is written no more.

With a failover of PostgreSQL: tests/faults/test_failover.py.
"""

import time
from dataclasses import dataclass

import pytest

from storage.checkpoint import Checkpoint
from tests.support.api import UNAVAILABLE, good, refusal, served
from tests.support.commanding import invoke
from tests.support.databases import on_postgresql, on_sqlite
from tests.support.leftovers import hooked, newest_of
from tests.support.waiting import wait_until
from tests.support.ways_to_fail import wait_for_verdict

ROLLED_BACK = (503, "ledger_rolled_back", None)


@pytest.fixture(autouse=True)
def look_soon(monkeypatch):
    """Nobody waits a second for a look at the last operations, nor out a doubt."""
    monkeypatch.setattr("storage.last_operations._LOOK_EVERY_S", 0.01)
    monkeypatch.setattr("storage.last_operations._DOUBT_SECONDS", 0.0)


@dataclass
class Loss:
    """The operation that a ledger lost, a swap of `a` to `b`, and its rows with it."""

    lost: Checkpoint
    rows: dict[str, list[tuple]]
    a: str
    b: str
    c: str
    d: str


@pytest.fixture
def lose(ledger, checkpoint):
    """A function that makes the ledger of a service lose its last operation."""

    def lose_swap(api, *, has_file=True):
        item = api.mint("+5.a")
        raws = {secret: f"+5.{item}.{secret}" for secret in "abcd"}
        older = ledger.rows()
        good(api.swap(raws["a"], raws["b"]))
        loss = Loss(newest_of(ledger), ledger.rows(), **raws)
        wait_until(lambda: not has_file or checkpoint.read() == loss.lost)
        ledger.restore(older)
        return loss

    return lose_swap


def errors_of(caplog):
    return [each for each in caplog.records if each.levelname == "ERROR"]


@on_postgresql
@pytest.mark.parametrize("has_file", [True, False], ids=["file", "no file"])
def test_on_postgres_nothing_is_answered_after_a_loss(
    guarded, ledger, lose, checkpoint, caplog, *, has_file
):
    settings = guarded if has_file else guarded | {"DEEDS_CHECKPOINT_FILE": ""}
    with served(settings) as api:
        loss = lose(api, has_file=has_file)

        with ledger.unchanged():
            first = api.swap(loss.a, loss.c)
            wait_for_verdict(api)
            refused = [
                api.swap(loss.a, loss.c),
                api.send_mint("+1.x"),
                api.send_check(loss.a),
            ]

        assert refusal(first)[0] == 503
        assert [refusal(each) for each in refused] == [ROLLED_BACK] * 3
        assert api.get("/healthz").status_code == 200
    assert (checkpoint.read() == loss.lost) == has_file
    [line] = errors_of(caplog)
    assert line.event == "ledger_rolled_back"
    assert line.getMessage().startswith(f"operation {loss.lost.operation_id} of ")
    assert "flask --app app deeds accept-rollback" in line.getMessage()


def test_an_item_that_is_gone_again_is_no_refusal(guarded, ledger, checkpoint):
    """The process has only read of the item, so it misses no operation of its own."""
    own_file = guarded | {"DEEDS_CHECKPOINT_FILE": f"{checkpoint.path}-2"}
    with served(guarded) as maker, served(own_file) as reader:
        older = ledger.rows()
        item = maker.mint("+5.a")
        assert reader.check(f"+5.{item}.a") == ["unspent"]
        ledger.restore(older)

        refused = reader.swap(f"+5.{item}.a", f"+5.{item}.b")

    assert refusal(refused) == UNAVAILABLE


@on_postgresql
def test_on_postgres_writes_go_on_when_the_right_ledger_is_back(
    guarded, ledger, lose, caplog
):
    connections = []
    with served(guarded) as api:
        loss = lose(api)
        wait_for_verdict(api)
        # It looks again over fresh connections: those that it has may lead to the past.
        with hooked("do_connect", lambda *_: connections.append(None)):
            wait_until(lambda: len(connections) > 2)

        ledger.restore(loss.rows)
        wait_until(lambda: api.get("/readyz").status_code == 200)

        good(api.swap(loss.b, loss.c))
        assert api.check(loss.a, loss.c) == ["spent", "unspent"]
    assert [each.event for each in errors_of(caplog)] == ["ledger_rolled_back"]
    assert [each.event for each in caplog.records].count("ledger_found") == 1


@on_postgresql
def test_a_standby_that_lags_is_no_loss_until_it_is_the_primary(
    guarded, lose, caplog, monkeypatch
):
    monkeypatch.setattr("storage.checkpoint.is_in_recovery", lambda _: True)
    with served(guarded) as api:
        loss = lose(api)

        assert refusal(api.get("/readyz")) == UNAVAILABLE
        assert refusal(api.swap(loss.a, loss.c)) == UNAVAILABLE
        assert errors_of(caplog) == []

        monkeypatch.setattr("storage.checkpoint.is_in_recovery", lambda _: False)
        wait_for_verdict(api)
        assert refusal(api.swap(loss.a, loss.c)) == ROLLED_BACK


@on_sqlite
def test_on_sqlite_a_loss_is_noticed_after_a_write_and_stays(
    guarded, ledger, lose, checkpoint, caplog
):
    """What is at the path may be another file than the one that is open."""
    with served(guarded) as api:
        loss = lose(api)
        good(api.swap(loss.a, loss.c))
        wait_until(lambda: api.get("/readyz").status_code == 503)

        with ledger.unchanged():
            refused = [api.get("/readyz"), api.swap(loss.c, loss.d)]

        assert [refusal(each) for each in refused] == [ROLLED_BACK] * 2
        assert api.check(loss.c) == ["unspent"]
        ledger.restore(loss.rows)
        time.sleep(0.1)
        assert refusal(api.swap(loss.b, loss.d)) == ROLLED_BACK
    assert checkpoint.read() == loss.lost
    assert [each.event for each in errors_of(caplog)] == ["ledger_rolled_back"]
    with served(guarded) as api:
        good(api.swap(loss.b, loss.d))


def test_after_a_loss_is_accepted_a_restart_serves_the_ledger(
    guarded, ledger, lose, checkpoint
):
    """A service that was not restarted leaves the file alone that was accepted."""
    with served(guarded) as api:
        loss = lose(api)
        # Refused on PostgreSQL, noticed afterwards on SQLite.
        api.swap(loss.a, loss.c)
        wait_for_verdict(api)

        ran = invoke(guarded, "accept-rollback", "--yes")

        assert ran.exit_code == 0
        assert refusal(api.swap(loss.a, loss.d)) == ROLLED_BACK
    assert checkpoint.read() == newest_of(ledger)
    with served(guarded) as api:
        api.mint("+5.a")
        assert api.get("/readyz").status_code == 200


@on_sqlite
def test_a_process_sees_that_another_one_raised_the_file_too_far(
    guarded, ledger, checkpoint
):
    """What it lacks was not its own: the file alone tells of it."""
    with served(guarded) as loser:
        loser.mint("+5.a")
        older = ledger.rows()
        with served(guarded) as other:
            other.mint("+5.a")
        lost = newest_of(ledger)
        assert checkpoint.read() == lost
        ledger.restore(older)
        loser.mint("+5.a")

        wait_until(lambda: loser.get("/readyz").status_code == 503)

        assert refusal(loser.get("/readyz")) == ROLLED_BACK
    assert checkpoint.read() == lost
