"""A ledger that loses operations under a running service is written no more.

With a failover of PostgreSQL: tests/faults/test_failover.py.
"""

import pytest

from deeds.domain.errors import LedgerRolledBackError
from storage.mark import RollbackError, raise_mark
from storage.tables import operations
from storage.transactions import WRITES
from tests.support.commanding import invoke
from tests.support.hooks import hooked, is_writer
from tests.support.ledger_records import add_item
from tests.support.requests import check, mint, refusal, stop, swap
from tests.support.waiting import wait_until

ROLLED_BACK = (503, "ledger_rolled_back", None)

# Where the database makes no difference.
ON_SQLITE = pytest.mark.parametrize("ledger_url", ["sqlite"], indirect=True)


@pytest.fixture(autouse=True)
def mark_soon(monkeypatch):
    """The mark is written as soon as it is behind: nobody waits a second for it."""
    monkeypatch.setattr("storage.mark._WRITE_EVERY_S", 0.01)


@pytest.fixture
def database_url(ledger_url):
    return ledger_url


@pytest.fixture
def rolled_back(serve, keep_copy, mark):
    """A service under which a swap of `a` to `b` was lost, and its item."""
    stop(client := serve())
    item = mint(client := serve(), "+5.a")
    stop(client)
    _, roll_back = keep_copy()
    client = serve()
    swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"])
    wait_until(lambda: mark.read().operation_id == 2)
    roll_back()
    return client, item


def test_an_older_copy_under_a_running_service_is_written_no_more(
    rolled_back, ledger, mark, caplog
):
    client, item = rolled_back
    before = ledger.rows(), mark.path.read_bytes()

    said = [
        refusal(swap(client, [f"+5.{item}.a"], [f"+5.{item}.c"])),
        refusal(client.post("/v1/mint", json={"outputs": ["+1.x"]})),
        refusal(client.get("/readyz")),
    ]

    assert said == [ROLLED_BACK] * 3
    assert client.get("/healthz").status_code == 200
    assert check(client, f"+5.{item}.a") == ["unspent"]
    stop(client)
    assert (ledger.rows(), mark.path.read_bytes()) == before
    [line] = [each.getMessage() for each in caplog.records if each.levelname == "ERROR"]
    assert line.startswith("operation 2 of ")
    assert "flask --app app deeds accept-rollback" in line


@ON_SQLITE
@pytest.mark.parametrize("is_noticed_before", [True, False])
def test_after_the_loss_is_accepted_and_a_restart_it_is_served_again(
    rolled_back, serve, marked, mark, is_noticed_before
):
    """A service that was not restarted leaves the mark alone that was accepted."""
    client, item = rolled_back
    request = [f"+5.{item}.a"], [f"+5.{item}.c"]
    if is_noticed_before:
        swap(client, *request)

    ran = invoke(marked, "accept-rollback", "--yes")
    refused = swap(client, *request)
    stop(client)

    assert (ran.exit_code, refusal(refused), mark.read().operation_id) == (
        0,
        ROLLED_BACK,
        1,
    )
    client = serve()
    assert swap(client, *request).status_code == 200
    assert client.get("/readyz").status_code == 200


@ON_SQLITE
def test_a_service_that_wrote_nothing_since_its_start_is_guarded_by_the_mark(
    serve, keep_copy, mark
):
    mint(client := serve(), "+5.a")
    stop(client)
    _, roll_back = keep_copy()
    mint(client := serve(), "+5.a")
    stop(client)
    client = serve()
    roll_back()

    assert refusal(client.post("/v1/mint", json={"outputs": ["+1.x"]})) == ROLLED_BACK
    assert mark.read().operation_id == 2


@ON_SQLITE
def test_what_another_process_raised_the_mark_past_is_shown_by_it_again(
    open_repository, keep_copy, ledger_url, mark, monkeypatch, open_engine
):
    """The loser had no second to write its mark before the survivor wrote on."""
    monkeypatch.setattr("storage.mark._WRITE_EVERY_S", 3600.0)
    loser = open_repository()
    add_item(loser, 0)
    engine = open_engine(ledger_url)
    monkeypatch.setattr("storage.mark._WRITE_EVERY_S", 0.01)
    survivor = open_repository()
    _, roll_back = keep_copy()
    lost = add_item(loser, 1)
    roll_back()
    add_item(survivor, 2)
    newest = add_item(survivor, 3)
    wait_until(lambda: mark.read().operation_id == newest)

    with pytest.raises(LedgerRolledBackError):
        add_item(loser, 4)
    loser.close()

    assert mark.read().operation_id == lost
    with pytest.raises(
        RollbackError, match=f"operation {lost} of .* ends at operation {newest}:"
    ):
        raise_mark(engine, mark)
    add_item(survivor, 5)
    survivor.close()
    with pytest.raises(LedgerRolledBackError):
        survivor.check_ready()
    assert mark.read().operation_id == lost


@pytest.mark.parametrize("ledger_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize("lost", [0, 1])
def test_of_operations_that_overlapped_none_is_lost_unseen(
    open_repository, repository, thread, ledger, lost
):
    """PostgreSQL's ids are not in the order of its commits.

    Which one is lost first, none tells.
    """
    open_repository().close()
    add_item(repository, 0)
    inner = []

    def commit_another_first(connection):
        if is_writer(connection) and not inner:
            inner.append(None)
            inner[0] = thread.submit(add_item, repository, 1).result(20)

    with hooked("commit", commit_another_first):
        outer = add_item(repository, 2)
    assert inner[0] > outer
    with ledger.engine.execution_options(**{WRITES: True}).begin() as connection:
        # As where another operation got its id.
        lose = operations.update().where(operations.c.id == [outer, inner[0]][lost])
        connection.execute(lose.values(created_at_ms=0))

    with pytest.raises(LedgerRolledBackError):
        add_item(repository, 3)
