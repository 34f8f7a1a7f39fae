"""A standby of PostgreSQL takes over under load; it may lack the last operations."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest

from deeds.domain.errors import LedgerUnavailableError, StartError
from deeds.domain.raw_output import make_strong_secret
from deeds.settings import Settings
from storage.checkpoint import Checkpoint, CheckpointFile, raise_checkpoint
from storage.engine import make_engine, parse_database_url
from storage.repository import Repository
from tests.faults.load import CLIENTS_COUNT, Load, assert_nothing_lost, line_of
from tests.support.commanding import invoke
from tests.support.ledger_records import add_item
from tests.support.ledger_view import ledger_view
from tests.support.racing import client_of_port
from tests.support.stoppable_postgres import running_replicated_postgres
from tests.support.waiting import wait_until

WORKERS_COUNT = 2
DONE = (200, None)
ROLLED_BACK = (503, "ledger_rolled_back")
LOST_COUNT_MIN = 50
ANSWERS_COUNT = 150
# From the promotion to the next acknowledged swap.
SECONDS_MAX = 2.0
ERROR = '"event":"ledger_rolled_back"'


@pytest.fixture
def replicated():
    with running_replicated_postgres() as postgres:
        yield postgres


@pytest.fixture
def checkpoint_file(tmp_path):
    return CheckpointFile(tmp_path / "checkpoint")


@pytest.fixture
def service(replicated, checkpoint_file, make_service):
    url = f"{replicated.url}&target_session_attrs=read-write"
    path = str(checkpoint_file.path)
    return make_service(url, workers=WORKERS_COUNT, DEEDS_CHECKPOINT_FILE=path)


class Clients:
    """Clients that mint a unit and swap it, each time on a new connection."""

    def __init__(self, service):
        self._service = service
        self._stop = threading.Event()
        self.said = Counter()

    def ask(self, path, body=None):
        """Return status, code and body of the answer."""
        with client_of_port(self._service.find_port()) as send:
            status, read = send(path, body)
        return (status, read.get("code")), read

    @contextmanager
    def running(self):
        with ThreadPoolExecutor(CLIENTS_COUNT) as pool:
            running = [pool.submit(self._run) for _ in range(CLIENTS_COUNT)]
            try:
                yield
            finally:
                self._stop.set()
        for each in running:
            each.result()

    def _run(self):
        while not self._stop.is_set():
            body = {"outputs": [f"+1.{make_strong_secret()}"]}
            said, minted = self.ask("/v1/mint", body)
            self.said[said] += 1
            if said == DONE:
                new = f"+1.{minted['itemId']}.{make_strong_secret()}"
                body = {"inputs": minted["rawOutputs"], "outputs": [new]}
                self.said[self.ask("/v1/swap", body)[0]] += 1

    def wait_for(self, said, count):
        goal = self.said[said] + count
        wait_until(lambda: self.said[said] >= goal)


def operation_ids(url):
    with ledger_view(url) as ledger:
        ledger.assert_sound()
        return {row[0] for row in ledger.rows()["operations"]}


@pytest.fixture
def failed_over(replicated, service, tmp_path):
    """Clients of a service whose standby has taken over without the last operations."""
    replicated.start_standby()
    service.start()
    clients = Clients(service)
    with clients.running():
        clients.wait_for(DONE, ANSWERS_COUNT)
        replicated.stop_standby()
        clients.wait_for(DONE, LOST_COUNT_MIN)
        replicated.primary.kill()
        replicated.start_lonely_standby()
        clients.wait_for((503, "ledger_unavailable"), CLIENTS_COUNT)
        assert clients.said[ROLLED_BACK] == 0
        assert_lagging_standby_is_away(
            replicated.standby_url, CheckpointFile(tmp_path / "later")
        )
        acknowledged_count = clients.said[DONE]
        replicated.promote()
        wait_until(lambda: service.log_text().count(ERROR) == WORKERS_COUNT)
        clients.wait_for(ROLLED_BACK, 5 * CLIENTS_COUNT)
        assert clients.said[DONE] == acknowledged_count
    return clients


def assert_lagging_standby_is_away(url, checkpoint_file):
    """What it lacks it may still receive: nothing is called lost."""
    engine = make_engine(parse_database_url(url))
    checkpoint_file.set(Checkpoint(10**9, 1))
    with closing(Repository(engine)) as repository:
        with pytest.raises(LedgerUnavailableError):
            add_item(repository, 1)
        with pytest.raises(LedgerUnavailableError, match="read-only"):
            repository.check_ready()
        with pytest.raises(StartError, match="standby"):
            raise_checkpoint(engine, checkpoint_file)


def test_after_a_failover_that_lost_operations_nothing_is_written(
    replicated, service, checkpoint_file, failed_over, report
):
    left = operation_ids(replicated.standby_url)
    # What was lost last may not have reached the file yet, nor anything else.
    wait_until(lambda: checkpoint_file.read().operation_id not in left | {0})
    lost = {checkpoint_file.read().operation_id}
    ready = {failed_over.ask("/readyz")[0] for _ in range(5 * WORKERS_COUNT)}
    service.stop()

    assert ready == {ROLLED_BACK}
    assert service.log_text().count(ERROR) == WORKERS_COUNT
    assert operation_ids(replicated.standby_url) == left
    lost.add(checkpoint_file.read().operation_id)
    service.begin_start()
    assert service.process.wait(30) != 0
    assert f"operation {checkpoint_file.read().operation_id} of " in service.log_text()

    settings = Settings(service.database_url, checkpoint_file=str(checkpoint_file.path))
    assert invoke(settings, "accept-rollback", "--yes").exit_code == 0
    service.start()
    assert failed_over.ask("/readyz")[0] == DONE
    assert failed_over.ask("/v1/mint", {"outputs": ["+1.a"]})[0] == DONE
    assert service.stop() == 0

    replicated.primary.start()
    made = operation_ids(replicated.primary_url)
    assert lost <= made - left
    report(
        f"{failed_over.said[DONE]} acknowledged, {len(made)} operations made, "
        f"{len(made - left)} lost, {failed_over.said[ROLLED_BACK]} refused"
    )


def test_a_failover_to_a_synchronous_standby_loses_nothing(
    replicated, service, seed, report
):
    replicated.start_standby(is_synchronous=True)
    service.start()
    load = Load([service.find_port], seed)
    with load.running():
        load.wait_for_answers(ANSWERS_COUNT)
        replicated.primary.kill()
        replicated.promote()
        promoted_at = time.monotonic()
        load.wait_for_answers(1)
        seconds = time.monotonic() - promoted_at
        load.wait_for_answers(ANSWERS_COUNT)

    counts = assert_nothing_lost(load, service.find_port, replicated.standby_url)
    counts["kills"] = 1
    assert seconds < SECONDS_MAX
    assert ERROR not in service.log_text()
    report(f"served again after {seconds:.2f} s, {line_of(counts)}")
