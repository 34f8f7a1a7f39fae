"""Databases whose operation ids the ledger could not rely on: no service starts."""

import pytest

from tests.support.commanding import stop_line


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


@pytest.mark.parametrize(
    "version",
    [
        "CockroachDB CCL v25.4.5 (x86_64-pc-linux-gnu, built 2026/01/05 16:00:00)",
        "PostgreSQL 15.2-YB-2025.2.2.2-b0 on x86_64-pc-linux-gnu, 64-bit",
        "PostgreSQL 12.12 (Greenplum Database 7.1.0 build commit:e7c2b1f) on x86_64",
    ],
    ids=["CockroachDB", "YugabyteDB", "Greenplum"],
)
def test_a_start_is_refused_on_a_database_that_is_not_postgresql(
    other, open_api, version
):
    other.execute(
        "CREATE FUNCTION public.version() RETURNS text LANGUAGE sql"
        f" AS $$ SELECT '{version}' $$"
    )
    # A service then finds this function before PostgreSQL's own.
    other.execute(
        f'ALTER DATABASE "{other.info.dbname}" SET search_path = public, pg_catalog'
    )

    line = stop_line(open_api)

    assert line == (
        f"DATABASE_URL: the ledger needs PostgreSQL itself, and this is {version}"
    )
