"""What `deeds doctor` says of the server."""

import secrets
import socket
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
    ("limit", "size", "said"),
    [
        (9, "8", "wrong an instance takes 8, commands 2, and there are 9 for them"),
        (9, "4", "ok an instance takes 4 of 9: enough for 1"),
        (9, "1", "wrong DEEDS_POOL_SIZE is 1, and each of 2 processes"),
    ],
)
@pytest.mark.parametrize("kind", ["ROLE", "DATABASE"])
def test_what_instances_take_is_compared_with_each_limit(
    environ, admin, kind, limit, size, said
):
    name = f"deeds_test_{secrets.token_hex(6)}"
    admin.execute(f"CREATE ROLE {name} LOGIN")
    admin.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}")
    admin.execute(f"GRANT SELECT ON operations_id_seq TO {name}")
    limited = name if kind == "ROLE" else database_of(environ["DATABASE_URL"])
    # `admin` is of another role, and has one connection to the database.
    more = kind == "DATABASE"
    admin.execute(f'ALTER {kind} "{limited}" CONNECTION LIMIT {limit + more}')
    changed = changed_url(environ["DATABASE_URL"], user=name)

    lines = examined(environ | {"DATABASE_URL": changed, "DEEDS_POOL_SIZE": size})

    admin.execute(f"DROP OWNED BY {name}")
    admin.execute(f"DROP ROLE {name}")
    assert lines["connections"].startswith(said)
    assert lines["ledger"].startswith("ok ")


def test_a_server_without_a_free_connection_says_so(environ, admin):
    name = f"deeds_test_{secrets.token_hex(6)}"
    admin.execute(f"CREATE ROLE {name} LOGIN CONNECTION LIMIT 0")

    lines = examined(environ_of(changed_url(environ["DATABASE_URL"], user=name)))

    admin.execute(f"DROP ROLE {name}")
    assert "too many connections for role" in lines["ledger"]
    assert lines["connections"].startswith("wrong the server has none left (")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('ALTER DATABASE "{}" SET default_transaction_read_only = on', "as a standby"),
        ("ALTER SEQUENCE operations_id_seq CACHE 5", "caches 5 ids of operations"),
    ],
)
def test_a_server_that_is_not_for_a_ledger_is_wrong(environ, admin, change, said):
    admin.execute(change.format(database_of(environ["DATABASE_URL"])))

    assert said in examined(environ)["server"]


def test_a_database_without_tables_has_one_remedy(postgres_url):
    lines = examined(environ_of(postgres_url))

    assert "run: python -m app migrate" in lines["ledger"]
    assert lines["connections"].startswith("ok ")
    assert "\n" not in lines["connections"]


@pytest.mark.parametrize(("shift_s", "order"), [(-100, "behind"), (100, "ahead of")])
def test_a_clock_that_is_not_the_servers_is_wrong(environ, monkeypatch, shift_s, order):
    monkeypatch.setattr(
        "parts.postgresql.examination.time", lambda: time.time() + shift_s
    )

    assert f"100 s {order} the database" in examined(environ)["clock"]


@pytest.mark.slow
def test_a_server_that_hangs_keeps_nobody_waiting():
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"postgresql://deeds@127.0.0.1:{server.getsockname()[1]}/deeds"
        before_s = time.monotonic()
        lines = examined(environ_of(url))
        seconds = time.monotonic() - before_s

    assert lines["ledger"].startswith("wrong ")
    assert lines["server"].startswith("unknown it cannot be asked")
    # Two look-ups of the ledger, and one of the server.
    assert seconds < 12
