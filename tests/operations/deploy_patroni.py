"""The service on a PostgreSQL of three nodes under Patroni: `make operations`.

The cluster is that of docs/high-availability.md. One service names its three hosts, the
other goes through HAProxy. Needs etcd and haproxy.
"""

import time
from itertools import pairwise

import pytest

from tests.support.commanding import output_of
from tests.support.journal import Sender
from tests.support.load import Load, line_of
from tests.support.patroni import database_url, running_haproxy, running_patroni
from tests.support.waiting import wait_until

ANSWERS_COUNT = 200
FREEZE_S = 5

# Patroni's ttl; the promotion of a standby, where the machine may be busy; and the 10 s
# that a request waits which the old leader was sent just before.
PAUSE_SECONDS_MAX = 20 + 10 + 10

# The deadline of a COMMIT is 15 s; the machine may be busy.
ANSWER_SECONDS_MAX = 15 + 2

# A client of a service that is away for the longest pause still sees it come back.
HABITS = {"commits_late": True, "patience_s": 2 * PAUSE_SECONDS_MAX}

# Until all clients have sent something, and until all of that was sent again.
COMMITS_WAIT_S = 2
REPLAYS_S = 5

ROLLED_BACK = '"event":"ledger_rolled_back"'

# One that is lost and sent again is another row.
OPERATIONS = "SELECT id, created_at_ms FROM operations"


class TimedSender(Sender):
    """Notes when writes were acknowledged, and how long the slowest answer took."""

    def __init__(self, find_port):
        super().__init__(find_port)
        self.acknowledged_at = []
        self.slowest_s = 0.0

    def send(self, path, body, key=None):
        begun = time.monotonic()
        try:
            answer = super().send(path, body, key)
        finally:
            self.slowest_s = max(self.slowest_s, time.monotonic() - begun)
        if key is not None:
            self.acknowledged_at.append(time.monotonic())
        return answer


class TimedLoad(Load):
    """Clients of both services in turn."""

    def __init__(self, services, seed, **habits):
        find_ports = [service.find_port for service in services]
        super().__init__(find_ports, seed, make_sender=TimedSender, **habits)

    def pauses(self, since):
        """Return for each service how long no write was acknowledged."""
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
    """The URL of an empty ledger with all hosts."""
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
    """Kill the synchronous standby and its Patroni; later it comes back."""
    standby = cluster.node_of("sync_standby")
    standby.kill()
    cluster.node_of("sync_standby", other_than=standby)
    standby.start()


def kill_leader(cluster):
    """Kill the leader and its Patroni; it comes back once another one leads."""
    leader = cluster.node_of("leader")
    leader.kill()
    cluster.node_of("leader", other_than=leader)
    leader.start()


def freeze_leader(cluster):
    """Let the leader and its Patroni hang until some time after another one leads."""
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
    told = {event: [f"{each:.1f} s" for each in both] for event, both in pauses.items()}
    report(f"{told}, slowest {load.slowest_s():.1f} s, {line_of(counts)}")
    assert max(map(max, pauses.values())) < PAUSE_SECONDS_MAX
    assert_well_served(load, services)


def test_a_replay_is_answered_only_once_a_standby_has_the_operation(
    cluster, url, services, seed, report
):
    """A leader that crashed and recovered shows commits that no standby ever got."""
    # A look at such a leader shows them too.
    load = TimedLoad(services, seed, looks_up=False, **HABITS)
    leader = cluster.node_of("leader")
    followers = [node for node in cluster.nodes.values() if node is not leader]

    with load.running():
        load.wait_for_answers(ANSWERS_COUNT)
        # Or it would find that no standby may take over.
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
