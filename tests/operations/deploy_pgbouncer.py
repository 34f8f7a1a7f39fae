"""The service behind Debian's pgbouncer in transaction mode: `make operations`.

Needs pgbouncer.
"""

import sys
from contextlib import ExitStack, closing

import pytest

from app import now_ms
from deeds.errors import NoFreeConnectionError
from parts.postgresql.connections import connect
from parts.postgresql.database import PostgresqlDatabase
from parts.postgresql.url import parse_url
from tests.faults.load import Load
from tests.faults.mortal_service import MortalService
from tests.support.api import environ_of
from tests.support.commanding import printed_by
from tests.support.databases import connected
from tests.support.doctoring import examined
from tests.support.pgbouncer import behind, running_pgbouncer, transactions_count
from tests.support.serving import clean_environment

# What the requests do, and what races may not break; test_docs.py sees that each file
# exists.
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

# Fewer than the connections of the services, so that they share them.
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
    pooler, fresh_postgres_url, tmp_path
):
    """Two services of two processes share a few sessions.

    A 5xx would be an unanswered request.
    """
    url = fresh_postgres_url()
    with ExitStack() as stack:
        services = [MortalService(tmp_path, behind(url, pooler)) for _ in range(2)]
        for service in services:
            stack.callback(service.close)
            service.start()
        load = Load([service.find_port for service in services], seed=1)
        with load.running():
            load.wait_for_answers(ANSWERS_COUNT)
        counts = load.assert_nothing_lost(url)

    assert counts["unanswered"] == 0
    assert counts["acknowledged"] >= ANSWERS_COUNT


def test_a_pooler_that_takes_no_more_clients_has_no_free_connection(
    postgres, postgres_url
):
    with running_pgbouncer(postgres.admin_url, clients_count=1) as pooler:
        pooled = behind(postgres_url, pooler)
        database = PostgresqlDatabase(pooled, now_ms)
        with connected(pooled), pytest.raises(NoFreeConnectionError) as refused:
            database.table_names()

    assert "no more connections allowed" in refused.value.reason


def test_nothing_is_kept_in_a_session_unless_the_url_says_so(pooler, postgres_url):
    pooled = behind(postgres_url, pooler)
    thresholds, limits = [], []

    for url in (pooled, f"{pooled}&prepare_threshold=7"):
        with closing(connect(parse_url(url))) as connection:
            thresholds.append(connection.prepare_threshold)
            [(limit,)] = connection.execute("SHOW statement_timeout")
            limits.append(limit)

    assert thresholds == [None, 7]
    assert limits == ["0", "0"]


def test_the_doctor_does_not_take_the_servers_connections_for_the_poolers(
    pooler, fresh_postgres_url
):
    lines = examined(environ_of(behind(fresh_postgres_url(), pooler)))

    assert lines["ledger"].startswith("ok ")
    assert lines["connections"] == "unknown a pooler stands between; see its limits"
