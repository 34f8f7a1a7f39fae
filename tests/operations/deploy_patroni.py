"""The service on a PostgreSQL of three nodes under Patroni: `make operations`.

The cluster is that of docs/high-availability.md. One service names its three hosts, the
other goes through HAProxy. Needs etcd and haproxy.
"""

import time
from itertools import pairwise

import pytest

from tests.operations.patroni import database_url, running_haproxy, running_patroni
from tests.support.commanding import output_of
from tests.support.journal import Sender
from tests.support.load import Load, line_of
from tests.support.waiting import wait_until

ANSWERS_COUNT = 200
FREEZE_S = 5

# Patroni's ttl, the promotion of a standby on a busy machine, and the wait of a request
# that was sent to the old leader just before.
PAUSE_SECONDS_MAX = 20 + 10 + 10

# The deadline of a COMMIT, and 2 s for a busy machine.
ANSWER_SECONDS_MAX = 15 + 2

# Clients wait longer than the longest permitted pause.
HABITS = {"commits_late": True, "patience_s": 2 * PAUSE_SECONDS_MAX}

# Time for all clients to send a request, and time for them to repeat it.
COMMITS_WAIT_S = 2
REPLAYS_S = 5

ROLLED_BACK = '"event":"ledger_rolled_back"'

# If an operation is lost and sent again, its time differs.
OPERATIONS = "SELECT id, created_at_ms FROM operations"


class TimedSender(Sender):
    """Records when writes were acknowledged, and the time of the slowest answer."""

    def __init__(self, find_port):
        super().__init__(find_port)
        self.acknowledged_at = []
        self.slowest_s = 0.0

    def send(self, path, body, key=None):
        sent_at = time.monotonic()
        try:
            answer = super().send(path, body, key)
        finally:
            self.slowest_s = max(self.slowest_s, time.monotonic() - sent_at)
        if key is not None:
            self.acknowledged_at.append(time.monotonic())
        return answer


class TimedLoad(Load):
    """Clients that are spread over both services."""

    def __init__(self, services, seed, **habits):
        find_ports = [service.find_port for service in services]
        super().__init__(find_ports, seed, make_sender=TimedSender, **habits)

    def pauses(self, since):
        """Return the longest time without an acknowledged write of each service."""
        services_count = len(self.find_ports)
        pauses = []
        for number in range(services_count):
            times = [since, time.monotonic()]
            for client in self.clients[number::services_count]:
                times += client.sender.acknowledged_at
            known = sorted(each for each in times if each >= since)
            pauses.append(max(after - before for before, after in pairwise(known)))
        return pauses

    def slowest_s(self):
        return max(client.sender.slowest_s for client in self.clients)


@pytest.fixture(scope="module")
def cluster():
    with running_patroni() as cluster:
        yield cluster


@pytest.fixture
def url(cluster):
    """The URL of an empty ledger that names all hosts."""
    cluster.wait_until_settled()
    url = cluster.create_database()
    output_of({"DATABASE_URL": url}, "migrate")
    return url


@pytest.fixture
def haproxy(cluster):
    """The address of an HAProxy in front of the cluster."""
    with running_haproxy(cluster) as address:
        yield address


@pytest.fixture
def services(url, haproxy, make_service):
    """A service that names all hosts, and one behind HAProxy."""
    return [make_service(url), make_service(database_url(haproxy))]


def switch_over(cluster):
    cluster.switch_over()


def kill_standby(cluster):
    """Kill the synchronous standby and its Patroni; restart it once it is replaced."""
    standby = cluster.node_of("sync_standby")
    standby.kill()
    cluster.node_of("sync_standby", other_than=standby)
    standby.start()


def kill_leader(cluster):
    """Kill the leader and its Patroni; restart them once another node leads."""
    leader = cluster.node_of("leader")
    leader.kill()
    cluster.node_of("leader", other_than=leader)
    leader.start()


def freeze_leader(cluster):
    """Freeze the leader and its Patroni until some time after another node leads."""
    leader = cluster.node_of("leader")
    leader.freeze()
    cluster.node_of("leader", other_than=leader)
    time.sleep(FREEZE_S)
    leader.thaw()


def assert_well_served(load, services):
    assert load.slowest_s() < ANSWER_SECONDS_MAX
    for service in services:
        assert ROLLED_BACK not in service.log.read_text()


def test_no_event_loses_a_unit_or_stops_the_service(
    cluster, url, services, seed, report
):
    load = TimedLoad(services, seed, **HABITS)
    pauses = {}

    with load.running():
        for event in (switch_over, kill_standby, kill_leader, freeze_leader):
            load.wait_for_answers(ANSWERS_COUNT)
            since = time.monotonic()
            event(cluster)
            cluster.wait_until_settled()
            load.wait_for_answers(ANSWERS_COUNT)
            pauses[event.__name__] = load.pauses(since)

    counts = load.assert_nothing_lost(url)
    texts = {
        event: [f"{pause:.1f} s" for pause in both] for event, both in pauses.items()
    }
    report(f"{texts}, slowest {load.slowest_s():.1f} s, {line_of(counts)}")
    assert max(map(max, pauses.values())) < PAUSE_SECONDS_MAX
    assert_well_served(load, services)


def test_a_replay_is_answered_only_once_a_standby_has_the_operation(
    cluster, url, services, seed, report
):
    """A leader that has recovered from a crash shows commits that no standby has."""
    # A check would see them too.
    load = TimedLoad(services, seed, looks_up=False, **HABITS)
    leader = cluster.node_of("leader")
    followers = [node for node in cluster.nodes.values() if node is not leader]

    with load.running():
        load.wait_for_answers(ANSWERS_COUNT)
        # Otherwise it would record that no standby may take over.
        leader.freeze_patroni()
        for node in followers:
            node.kill()
        time.sleep(COMMITS_WAIT_S)
        leader.crash_postgres()
        wait_until(leader.is_serving)
        time.sleep(REPLAYS_S)
        shown = leader.execute(OPERATIONS, database="deeds")
        leader.kill()
        for node in followers:
            node.start()
        successor = cluster.node_of("leader", other_than=leader)
        load.wait_for_answers(ANSWERS_COUNT)
    leader.start()

    counts = load.assert_nothing_lost(url)
    lost = set(shown) - set(successor.execute(OPERATIONS, database="deeds"))
    report(f"shown and lost {len(lost)}, {line_of(counts)}")
    assert lost
    assert_well_served(load, services)
