"""A ledger that loses operations under a running service is written no more.

With a failover of PostgreSQL: tests/faults/test_failover.py.
"""

import time
from dataclasses import replace

import pytest

from deeds.domain.errors import LedgerRolledBackError
from storage.repository import Repository
from tests.support.commanding import invoke
from tests.support.hooks import hooked, is_writer
from tests.support.ledger_records import add_item
from tests.support.requests import check, mint, refusal, stop, swap
from tests.support.waiting import wait_until

ROLLED_BACK = (503, "ledger_rolled_back", None)
ON_SQLITE = pytest.mark.parametrize("ledger_url", ["sqlite"], indirect=True)
ON_POSTGRES = pytest.mark.parametrize("ledger_url", ["postgresql"], indirect=True)
CUT_OFF = """
    SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


@pytest.fixture(autouse=True)
def look_soon(monkeypatch):
    """Nobody waits a second for a look at the last operations."""
    monkeypatch.setattr("storage.last_operations._LOOK_EVERY_S", 0.01)


@pytest.fixture
def database_url(ledger_url):
    return ledger_url


class Loss:
    """A service under which the ledger lost a swap of `a` to `b`."""

    def __init__(self, client, keep_copy):
        self.client = client
        self.item = mint(client, "+5.a")
        _, self._roll_back = keep_copy()
        assert self.swap("a", "b").status_code == 200
        _, self.put_right = keep_copy()

    def roll_back(self):
        self._roll_back()
        return self

    def swap(self, old, new):
        raws = [f"+5.{self.item}.{each}" for each in (old, new)]
        return swap(self.client, raws[:1], raws[1:])

    def state(self, secret):
        return check(self.client, f"+5.{self.item}.{secret}")


@pytest.fixture
def lose(keep_copy):
    """A function that makes a service lose a swap, which its file tells of."""

    def lose_swap(client, file):
        loss = Loss(client, keep_copy)
        wait_until(lambda: file is None or file.read().operation_id == 2)
        return loss.roll_back()

    return lose_swap


def events(caplog, level):
    return [each.event for each in caplog.records if each.levelname == level]


@ON_POSTGRES
@pytest.mark.parametrize("has_file", [True, False])
def test_on_postgres_the_first_write_after_a_loss_is_refused(
    open_app, guarded, lose, ledger, checkpoint, caplog, *, has_file
):
    path = str(checkpoint.path) if has_file else None
    client = open_app(replace(guarded, checkpoint_file=path)).test_client()
    loss = lose(client, checkpoint if has_file else None)
    before = ledger.rows()

    said = [
        refusal(loss.swap("a", "c")),
        refusal(client.post("/v1/mint", json={"outputs": ["+1.x"]})),
        refusal(client.get("/readyz")),
    ]

    assert said == [ROLLED_BACK] * 3
    assert client.get("/healthz").status_code == 200
    assert loss.state("a") == ["unspent"]
    stop(client)
    assert ledger.rows() == before
    assert checkpoint.read().operation_id == (2 if has_file else 0)
    [line] = [each for each in caplog.records if each.levelname == "ERROR"]
    assert line.event == "ledger_rolled_back"
    assert line.getMessage().startswith("operation 2 of ")
    assert "flask --app app deeds accept-rollback" in line.getMessage()


def test_an_item_that_is_gone_again_is_a_ledger_rolled_back(
    open_app, guarded, keep_copy
):
    """The process has only read of the item, so it misses no operation of its own."""
    own_file = replace(guarded, checkpoint_file=f"{guarded.checkpoint_file}-2")
    maker, reader = (open_app(each).test_client() for each in (guarded, own_file))
    _, roll_back = keep_copy()
    item = mint(maker, "+5.a")
    assert check(reader, f"+5.{item}.a") == ["unspent"]
    roll_back()

    refused = swap(reader, [f"+5.{item}.a"], [f"+5.{item}.b"])

    assert refusal(refused) == ROLLED_BACK


@ON_POSTGRES
def test_readiness_tells_of_a_loss_before_any_write(serve, lose, checkpoint):
    loss = lose(serve(), checkpoint)

    assert refusal(loss.client.get("/readyz")) == ROLLED_BACK


@ON_POSTGRES
def test_on_postgres_writes_go_on_when_the_right_ledger_is_back(
    serve, lose, ledger, checkpoint, caplog
):
    loss, connections = lose(serve(), checkpoint), []
    assert refusal(loss.swap("a", "c")) == ROLLED_BACK
    # It looks again over fresh connections: those that it has may lead to the past.
    with hooked("do_connect", lambda *_: connections.append(None)):
        wait_until(lambda: len(connections) > 2, 5)

    loss.put_right()
    wait_until(lambda: loss.client.get("/readyz").status_code == 200, 5)

    assert loss.swap("b", "c").status_code == 200
    assert (loss.state("a"), loss.state("c")) == (["spent"], ["unspent"])
    assert events(caplog, "ERROR") == ["ledger_rolled_back"]
    assert events(caplog, "WARNING").count("ledger_found") == 1


@ON_POSTGRES
def test_a_standby_that_lags_is_no_loss_until_it_is_the_primary(
    serve, lose, checkpoint, caplog, monkeypatch
):
    client = serve()
    monkeypatch.setattr("storage.checkpoint.is_in_recovery", lambda _: True)
    loss = lose(client, checkpoint)

    assert loss.state("a") == ["unspent"]
    assert client.get("/readyz").status_code == 200
    assert events(caplog, "ERROR") == []

    monkeypatch.undo()
    assert refusal(loss.swap("a", "c")) == ROLLED_BACK


@ON_SQLITE
def test_on_sqlite_a_loss_is_noticed_after_a_write_and_stays(
    serve, lose, ledger, checkpoint, caplog
):
    """What is at the path may be another file than the one that is open."""
    client = serve()
    loss = lose(client, checkpoint)
    assert loss.swap("a", "c").status_code == 200
    wait_until(lambda: client.get("/readyz").status_code == 503, 5)
    before = ledger.rows()

    assert refusal(client.get("/readyz")) == ROLLED_BACK
    assert refusal(loss.swap("c", "d")) == ROLLED_BACK
    assert (loss.state("c"), ledger.rows()) == (["unspent"], before)
    loss.put_right()
    time.sleep(0.1)
    assert refusal(loss.swap("b", "d")) == ROLLED_BACK
    stop(client)
    assert checkpoint.read().operation_id == 2
    assert events(caplog, "ERROR") == ["ledger_rolled_back"]

    loss.client = serve()
    assert loss.swap("b", "d").status_code == 200


def test_after_a_loss_is_accepted_a_restart_serves_the_ledger(
    serve, lose, guarded, checkpoint
):
    """A service that was not restarted leaves the file alone that was accepted."""
    loss = lose(serve(), checkpoint)
    if loss.swap("a", "c").status_code == 200:
        wait_until(lambda: loss.client.get("/readyz").status_code == 503)
    newest = 2 if loss.state("c") == ["unspent"] else 1

    ran = invoke(guarded, "accept-rollback", "--yes")
    refused = refusal(loss.swap("a", "d"))
    stop(loss.client)

    found = ran.exit_code, refused, checkpoint.read().operation_id
    assert found == (0, ROLLED_BACK, newest)
    loss.client = serve()
    assert loss.swap("c" if newest == 2 else "a", "e").status_code == 200
    assert loss.client.get("/readyz").status_code == 200


def take_away(other, operation_id):
    """Take an operation away, as where another one got its id, and all connections."""
    times = "UPDATE operations SET created_at_ms = 0 WHERE id = %s"
    other.execute(times, [operation_id])
    other.execute(CUT_OFF)


@ON_POSTGRES
@pytest.mark.parametrize("lost", range(8))
def test_whichever_of_the_last_operations_is_missing_is_noticed(
    repository, other, lost
):
    made = [add_item(repository, number) for number in range(8)]
    take_away(other, made[lost])

    with pytest.raises(LedgerRolledBackError):
        add_item(repository, 9)


@ON_POSTGRES
def test_a_server_that_lacked_an_operation_is_looked_at_again(
    repository, other, monkeypatch
):
    """The right one, found meanwhile, does not clear a connection to this one."""
    monkeypatch.setattr("storage.last_operations._LOOK_EVERY_S", 3600)
    take_away(other, add_item(repository, 0))
    assert repository.read_item(f"deed_{0:026}").total == 5
    repository._last._report_found()

    with pytest.raises(LedgerRolledBackError):
        add_item(repository, 1)


@ON_POSTGRES
def test_a_loss_that_is_met_during_a_look_elsewhere_stands(
    open_engine, database_url, other, thread, monkeypatch
):
    """The look reads before the loss, and ends after another connection met it."""
    monkeypatch.setattr("storage.last_operations._LOOK_EVERY_S", 3600)
    repository, refused = Repository(open_engine(database_url)), []
    made = add_item(repository, 0)

    def lose(_connection, _cursor, text, *_):
        if "created_at_ms FROM operations" in text and not refused:
            refused.append(None)
            take_away(other, made)
            refused[0] = thread.submit(add_item, repository, 1).exception(20)

    with hooked("after_cursor_execute", lose):
        repository._last._look()

    assert [type(each) for each in refused] == [LedgerRolledBackError]
    with pytest.raises(LedgerRolledBackError):
        repository._last.check_not_lost()
    repository.close()


@ON_POSTGRES
@pytest.mark.parametrize("lost", [0, 1])
def test_of_operations_that_overlapped_none_is_lost_unseen(
    open_repository, other, thread, lost
):
    """PostgreSQL's ids are not in the order of its commits."""
    repository = open_repository()
    add_item(repository, 0)
    inner = []

    def commit_another_first(connection):
        if is_writer(connection) and not inner:
            inner.append(None)
            inner[0] = thread.submit(add_item, repository, 1).result(20)

    with hooked("commit", commit_another_first):
        outer = add_item(repository, 2)
    assert inner[0] > outer
    take_away(other, [outer, inner[0]][lost])

    with pytest.raises(LedgerRolledBackError):
        add_item(repository, 3)
    repository.close()


@ON_SQLITE
def test_a_process_sees_that_another_one_raised_the_file_too_far(
    open_repository, keep_copy, checkpoint
):
    """What it lacks was not its own: the file alone tells of it."""
    loser, other = open_repository(), open_repository()
    add_item(loser, 0)
    _, roll_back = keep_copy()
    lost = add_item(other, 1)
    other.close()
    assert checkpoint.read().operation_id == lost
    roll_back()
    add_item(loser, 2)

    def is_stopped():
        try:
            loser.check_ready()
        except LedgerRolledBackError:
            return True
        return False

    wait_until(is_stopped, 5)
    loser.close()
    assert checkpoint.read().operation_id == lost
