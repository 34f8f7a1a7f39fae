"""Databases whose operation ids the ledger could not rely on: no service starts.

One that serves answers 503 while such a database is in the place of its own.
"""

import pytest

from tests.support.api import UNAVAILABLE, good, refusal, stop_line
from tests.support.ledger_view import CUT_OFF
from tests.support.waiting import wait_until

OTHER = "CockroachDB CCL v25.4.5 (x86_64-pc-linux-gnu, built 2026/01/05 16:00:00)"


@pytest.fixture
def database_url(fresh_postgres_url):
    """The URL of a PostgreSQL database of its own: these tests change it."""
    return fresh_postgres_url()


@pytest.fixture
def cached_ids(other):
    """A connection to the database, whose sessions cache ids of operations."""
    other.execute("ALTER SEQUENCE operations_id_seq CACHE 20")
    return other


def test_a_start_is_refused_where_sessions_cache_ids(cached_ids, open_api):
    assert stop_line(open_api) == (
        "DATABASE_URL: each session caches 20 ids of operations,"
        " which must ascend; run: ALTER SEQUENCE operations_id_seq CACHE 1"
    )


def test_the_advice_on_cached_ids_lets_the_service_start(cached_ids, open_api):
    _, _, advice = stop_line(open_api).partition("; run: ")

    cached_ids.execute(advice)

    assert open_api().get("/readyz").status_code == 200


@pytest.fixture
def become(other):
    """A function that lets new sessions see another product, or PostgreSQL again."""
    database = f'ALTER DATABASE "{other.info.dbname}"'

    def become_it(version):
        if version is None:
            other.execute(f"{database} RESET search_path")
            return
        other.execute(
            "CREATE FUNCTION public.version() RETURNS text LANGUAGE sql"
            f" AS $$ SELECT '{version}' $$"
        )
        # A service then finds this function before PostgreSQL's own.
        other.execute(f"{database} SET search_path = public, pg_catalog")

    return become_it


@pytest.mark.parametrize(
    "version",
    [
        OTHER,
        "PostgreSQL 15.2-YB-2025.2.2.2-b0 on x86_64-pc-linux-gnu, 64-bit",
        "PostgreSQL 12.12 (Greenplum Database 7.1.0 build commit:e7c2b1f) on x86_64",
    ],
    ids=["CockroachDB", "YugabyteDB", "Greenplum"],
)
def test_a_start_is_refused_on_a_database_that_is_not_postgresql(
    become, open_api, version
):
    become(version)

    line = stop_line(open_api)

    assert line == (
        f"DATABASE_URL: the ledger needs PostgreSQL itself, and this is {version}"
    )


def test_a_database_that_is_replaced_by_another_product_is_away_until_it_is_back(
    become, other, open_api, caplog, tmp_path
):
    """The thread that raises the checkpoint file outlives it too."""
    checkpoint = tmp_path / "checkpoint"
    api = open_api(DEEDS_CHECKPOINT_FILE=str(checkpoint))
    api.mint("+5.a")
    become(OTHER)
    other.execute(CUT_OFF)

    away = [
        api.send_mint("+5.a"),
        api.send_check(f"+5.deed_{0:026}.a"),
        api.get("/readyz"),
    ]
    become(None)

    assert [refusal(each) for each in away] == [UNAVAILABLE] * 3
    lines = [each for each in caplog.records if each.event == "database"]
    assert {each.getMessage() for each in lines} == {
        f"DATABASE_URL: the ledger needs PostgreSQL itself, and this is {OTHER}"
    }
    good(api.send_mint("+5.b"))
    wait_until(lambda: checkpoint.exists() and " 2 " in checkpoint.read_text())
