"""The service behind Debian's pgbouncer in transaction mode: `make operations`.

Needs pgbouncer.
"""

import sys

import pytest

from tests.support.api import environ_of
from tests.support.commanding import printed_by
from tests.support.doctoring import examined
from tests.support.load import Load
from tests.support.pgbouncer import behind, running_pgbouncer, transactions_count
from tests.support.serving import clean_environment

# The endpoints and the races.
CONTRACT = (
    "tests/contract/test_check.py",
    "tests/contract/test_item.py",
    "tests/contract/test_mint.py",
    "tests/contract/test_swap.py",
    "tests/ledger/test_hash_policies.py",
    "tests/ledger/test_idempotency.py",
    "tests/ledger/test_races.py",
)
ANSWERS_COUNT = 1_500

# Fewer than the connections of the services, which must share them.
SESSIONS_COUNT = 4


@pytest.fixture(scope="module")
def pooler(postgres):
    with running_pgbouncer(postgres.admin_url, SESSIONS_COUNT) as running:
        yield running


def test_the_contract_holds_behind_pgbouncer(pooler, postgres):
    environment = {"TEST_DATABASE_URL": postgres.admin_url, "TEST_POOLER": pooler}
    command = [sys.executable, "-m", "pytest", "-qx", "-k", "postgresql", *CONTRACT]

    printed_by(*command, env=clean_environment(environment))

    assert transactions_count(pooler) > 1_000


def test_sixteen_clients_behind_pgbouncer_meet_no_error(
    pooler, fresh_postgres_url, make_service
):
    """Four processes share a few sessions. A 503 counts as unanswered."""
    url = fresh_postgres_url()
    services = [make_service(behind(url, pooler)) for _ in range(2)]
    load = Load([service.find_port for service in services], seed=1)

    with load.running():
        load.wait_for_answers(ANSWERS_COUNT)
    counts = load.assert_nothing_lost(url)

    assert counts["unanswered"] == 0
    assert counts["acknowledged"] >= ANSWERS_COUNT


def test_the_doctor_does_not_take_the_servers_connections_for_those_of_the_pooler(
    pooler, fresh_postgres_url
):
    lines = examined(environ_of(behind(fresh_postgres_url(), pooler)))

    assert lines["ledger"].startswith("ok ")
    assert lines["connections"] == "unknown a pooler stands between; see its limits"
