"""What `deeds doctor` says of the server."""

import secrets
import time

import pytest

from tests.support.api import environ_of, served
from tests.support.databases import changed_url, connected, database_of
from tests.support.doctoring import examined

TWO = {"WEB_CONCURRENCY": "2"}


@pytest.fixture
def environ(own_url):
    return environ_of(own_url, **TWO)


@pytest.fixture
def admin(own_url):
    with connected(own_url) as connection:
        yield connection


def test_a_server_is_asked_for_its_connections_and_its_clock(environ, admin):
    with served(environ) as api:
        api.mint("+5.a")

    lines = examined(environ)

    [(fsync,)] = admin.execute("SHOW fsync")
    assert lines["server"].split()[0] == ("ok" if fsync == "on" else "wrong")
    assert ", operation 1 of " in lines["ledger"]
    # Its own, and the newest operation's.
    assert [line.split()[0] for line in lines["clock"].splitlines()] == ["ok", "ok"]
    assert lines["connections"].startswith("ok an instance takes 8 of ")
    assert lines["disk"].startswith("unknown ")


@pytest.mark.parametrize(
    ("kind", "limit", "size", "finding"),
    [
        (
            "ROLE",
            9,
            "8",
            "wrong an instance takes 8, commands 2, and there are 9 for them",
        ),
        # `admin` is of another role, and has one connection to the database.
        ("DATABASE", 10, "4", "ok an instance takes 4 of 9: enough for 1"),
        ("ROLE", 9, "1", "wrong DEEDS_POOL_SIZE is 1, and each of 2 processes"),
        ("ROLE", 0, "8", "wrong the server has none left ("),
    ],
)
def test_what_instances_take_is_compared_with_each_limit(
    environ, admin, kind, limit, size, finding
):
    name = f"deeds_test_{secrets.token_hex(6)}"
    admin.execute(f"CREATE ROLE {name} LOGIN")
    limited = name if kind == "ROLE" else database_of(environ["DATABASE_URL"])
    admin.execute(f'ALTER {kind} "{limited}" CONNECTION LIMIT {limit}')
    changed = changed_url(environ["DATABASE_URL"], user=name)

    lines = examined(environ | {"DATABASE_URL": changed, "DEEDS_POOL_SIZE": size})

    admin.execute(f"DROP ROLE {name}")
    assert lines["connections"].startswith(finding)


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ('ALTER DATABASE "{}" SET default_transaction_read_only = on', "as a standby"),
        ("ALTER SEQUENCE operations_id_seq CACHE 5", "caches 5 ids of operations"),
    ],
)
def test_a_server_that_is_not_for_a_ledger_is_wrong(environ, admin, change, finding):
    admin.execute(change.format(database_of(environ["DATABASE_URL"])))

    assert finding in examined(environ)["server"]


def test_a_database_without_tables_has_one_remedy(postgres_url):
    lines = examined(environ_of(postgres_url))

    assert "run: python -m app migrate" in lines["ledger"]
    assert lines["connections"].startswith("ok ")


@pytest.mark.parametrize(("shift_s", "order"), [(-100, "behind"), (100, "ahead of")])
def test_a_clock_that_is_not_the_servers_is_wrong(environ, monkeypatch, shift_s, order):
    monkeypatch.setattr(
        "parts.postgresql.examination.time", lambda: time.time() + shift_s
    )

    assert f"100 s {order} the database" in examined(environ)["clock"]
