"""DEEDS_POOL_SIZE limits connections to PostgreSQL, which may have none left."""

import json
import secrets
from contextlib import ExitStack, contextmanager

import pytest

from tests.support.api import UNAVAILABLE, Api, environ_of, good, refusal, stop_line
from tests.support.commanding import invoke, output_of
from tests.support.databases import changed_url, connected
from tests.support.ledger_view import CUT_OFF, LedgerView
from tests.support.serving import start_gunicorn
from tests.support.watched import database_causes, events

CAUSE = "too many connections for role"


@pytest.fixture
def role(postgres):
    """The name of a role without privileges."""
    name = f"deeds_test_{secrets.token_hex(6)}"
    with connected(postgres.admin_url) as admin:
        admin.execute(f"CREATE ROLE {name} LOGIN")
        yield name
        admin.execute(f"DROP ROLE {name}")


@pytest.fixture
def admin_url(role, fresh_postgres_url):
    """The administrator's URL of a ledger that the role may use."""
    url = fresh_postgres_url()
    with connected(url) as admin:
        for objects in ("SCHEMA", "ALL TABLES IN SCHEMA", "ALL SEQUENCES IN SCHEMA"):
            admin.execute(f"GRANT ALL ON {objects} public TO {role}")
    return url


@pytest.fixture
def database_url(role, admin_url):
    """The role's URL of the ledger."""
    return changed_url(admin_url, user=role)


@pytest.fixture
def full(role, admin_url):
    """A context in which the role has no connection and gets none."""

    @contextmanager
    def fill():
        with connected(admin_url) as admin:
            admin.execute(f"ALTER ROLE {role} CONNECTION LIMIT 0")
            admin.execute(CUT_OFF)
            try:
                yield
            finally:
                admin.execute(f"ALTER ROLE {role} CONNECTION LIMIT -1")

    return fill


def test_a_service_that_gets_no_connection_says_why_and_serves_once_it_gets_one(
    open_app, database_url, admin_url, full, caplog, capfd
):
    api = Api.of_app(open_app(environ_of(database_url)))
    item = api.mint("+5.a")

    with full():
        refused = [api.swap(f"+5.{item}.a", f"+5.{item}.b"), api.get("/readyz")]
    swapped = api.swap(f"+5.{item}.a", f"+5.{item}.b")

    assert {refusal(each) for each in refused} == {UNAVAILABLE}
    assert any(CAUSE in message for *_, message in database_causes(caplog))
    assert "defect" not in {each["event"] for each in events(capfd.readouterr().err)}
    good(swapped)
    LedgerView(admin_url).assert_sound()


def test_a_start_without_a_free_connection_fails_at_once_in_one_line(
    database_url, full, open_app
):
    with full():
        line = stop_line(open_app, environ_of(database_url))

    assert line.startswith("DATABASE_URL: ")
    assert CAUSE in line


def test_fewer_connections_than_processes_stop_the_start_and_no_command(
    database_url, open_app
):
    settings = {"WEB_CONCURRENCY": "3", "DEEDS_POOL_SIZE": "2"}
    environ = environ_of(database_url, **settings)

    line = stop_line(open_app, environ)

    assert line == (
        "DEEDS_POOL_SIZE is 2, and each of 3 processes needs a connection; raise it, or"
        " lower WEB_CONCURRENCY"
    )
    assert "the tables need no upgrade\n" in output_of(environ, "migrate")


@pytest.mark.parametrize(
    ("workers", "reason"),
    [
        ("--workers 3", "DEEDS_POOL_SIZE is 2, and each of 3 processes needs"),
        ("--workers 2 --preload", "--preload and 2 workers: set WEB_CONCURRENCY"),
    ],
)
def test_workers_among_the_arguments_of_gunicorn_count_too(
    fresh_postgres_url, tmp_path, workers, reason
):
    url = fresh_postgres_url()
    settings = {
        "WEB_CONCURRENCY": "1",
        "DEEDS_POOL_SIZE": "2",
        "GUNICORN_CMD_ARGS": f"--bind 127.0.0.1:0 {workers}",
    }
    with start_gunicorn(tmp_path / "log", environ_of(url, **settings)) as master:
        assert master.wait(timeout=30) == 1

    *_, line = map(json.loads, (tmp_path / "log").read_text().splitlines())
    assert line["message"].startswith(f"deeds: {reason}")


def test_migrate_waits_for_a_free_connection_and_says_so_once(
    database_url, full, monkeypatch
):
    waits_s = []

    def wait_thrice(seconds):
        waits_s.append(seconds)
        if len(waits_s) == 3:
            filling.close()

    monkeypatch.setattr("parts.operator.commands.sleep", wait_thrice)

    with ExitStack() as filling:
        filling.enter_context(full())
        ran = invoke(environ_of(database_url), "migrate")

    [line] = ran.stderr.splitlines()
    assert CAUSE in line
    assert line.endswith("; waiting up to 60 s for a free connection")
    assert waits_s == [1.0] * 3
    assert ran.exit_code == 0


def test_migrate_ends_in_one_line_where_no_connection_becomes_free(
    database_url, full, monkeypatch
):
    monkeypatch.setattr("parts.operator.commands.MIGRATE_WAIT_S", 0.0)

    with full():
        ran = invoke(environ_of(database_url), "migrate")

    # Click's runner prints the message of a SystemExit to stdout.
    [line] = ran.stdout.splitlines()
    assert ran.exit_code == 1
    assert CAUSE in line
    assert line.endswith("; waited 0 s for a free connection")
