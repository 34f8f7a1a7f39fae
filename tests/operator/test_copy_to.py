"""`deeds copy-to`: a ledger moves from SQLite to PostgreSQL, and one of them serves."""

from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from storage import sqlite_writer
from tests.support.api import (
    UNAVAILABLE,
    Api,
    StartError,
    environ_of,
    fresh,
    good,
    refusal,
    replayed,
    served,
    stop_line,
)
from tests.support.commanding import (
    error_of,
    invoke,
    output_of,
    run_deeds,
    run_python,
)
from tests.support.databases import changed_url, connected, held_open, sqlite_path
from tests.support.hooks import break_off, hooked
from tests.support.ledger_view import LedgerView
from tests.support.marker import MARK
from tests.support.waiting import wait_until

TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
VERSIONS = "SELECT part, version FROM schema_version ORDER BY part"

LOCK_TABLES = f"SELECT pg_advisory_lock({0x6465656473})"
UNLOCK_TABLES = "SELECT pg_advisory_unlock_all()"
WAITS = """
    SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database
    WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted
"""

IN_USE = "it is in use: stop the service first\n"

# The commits of a copy.
COPIED, MARKED, RELEASED = 1, 2, 3

# Copies, and dies before the commit of this number.
DIE = """
import os, signal, sys
from tests.support.commanding import invoke
from tests.support.hooks import add_hook

commits = []

def die(*_):
    commits.append("another")
    if len(commits) == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)

add_hook("before commit", die)
settings = {"DATABASE_URL": os.environ["DATABASE_URL"]}
print(invoke(settings, "copy-to", sys.argv[2]).output)
"""


@pytest.fixture
def old(sqlite_url):
    """A look into an old ledger of two operations."""
    view = LedgerView(sqlite_url)
    with served(environ_of(sqlite_url)) as api:
        view.item = api.mint("+5.a", "+3.b", key="mint", metadata={"name": "Ünït \0"})
        good(api.swap(f"+5.{view.item}.a", f"+5.{view.item}.c", key="swap"))
    return view


@pytest.fixture(scope="module")
def empty_url(postgres):
    """The URL of a database in which no test leaves anything."""
    url = postgres.create_database()
    yield url
    postgres.drop_database(url)


def copy(old, url):
    """Run `copy-to`, which has to succeed, and return what it prints."""
    ran = invoke(environ_of(old.url), "copy-to", url)
    assert ran.exit_code == 0, ran.output
    return ran.stdout


def copy_until(commit, old, url):
    """Run `copy-to` until the connection breaks before the commit of this number."""
    commits = []

    def count(connection, *values):
        commits.append(connection)
        if len(commits) == commit:
            break_off(connection, *values)

    with hooked("before commit", count):
        error_of(environ_of(old.url), "copy-to", url)


def drop_tables(url):
    view = LedgerView(url)
    for [table] in view.read(TABLES):
        view.execute(f"DROP TABLE {table} CASCADE")


def name_of(url):
    """Return how a command names a database of PostgreSQL."""
    options = conninfo_to_dict(url)
    return f"{options['host']}/{options['dbname']}"


def are_served(*urls):
    """Return of each database whether a service starts on it."""
    are = []
    for url in urls:
        try:
            with served(environ_of(url)) as api:
                assert api.get("/readyz").status_code == 200
            are.append(True)
        except StartError:
            are.append(False)
    return are


def test_a_service_goes_on_in_postgresql(old, postgres_url):
    item, new = old.item, LedgerView(postgres_url)
    with served(environ_of(old.url, DEEDS_ARGON2="m=16,t=1,p=1")) as api:
        other = api.mint("+9.a")
        offer = f"+5.{item}.c", fresh(9, other), "offer"
        offer_id = good(api.offer(*offer))["offerId"]
    with_password = changed_url(postgres_url, user=f"postgres:{MARK}")

    ran = invoke(environ_of(old.url), "copy-to", with_password)

    assert ran.exit_code == 0, ran.stderr
    assert sorted(ran.stderr.splitlines()) == [
        "rows copied into hash_policies: 2",
        "rows copied into items: 2",
        "rows copied into offer_inputs: 1",
        "rows copied into offer_outputs: 1",
        "rows copied into offers: 1",
        "rows copied into operations: 4",
        "rows copied into outputs: 4",
    ]
    # With the counts of an audit.
    assert f"\n{name_of(postgres_url)}:\nitems " in ran.stdout
    assert ran.stdout.endswith(
        f"The ledger is now {name_of(postgres_url)}: let DATABASE_URL be this URL.\n"
        f"No service starts on {sqlite_path(old.url)} any more.\n"
    )
    assert MARK not in ran.stdout + str(old.read(VERSIONS))
    assert new.rows() == old.rows()
    with served(environ_of(postgres_url, DEEDS_ARGON2="m=24,t=1,p=1")) as api:
        replayed(api.swap(f"+5.{item}.a", f"+5.{item}.c", "swap"))
        assert replayed(api.offer(*offer))["offerId"] == offer_id
        good(api.complete(offer_id, f"+9.{other}.a", fresh(5, item)))
        api.mint("+7.a")
    policies = new.read("SELECT memory_cost_kib FROM hash_policies ORDER BY id")
    assert policies == [(8,), (16,), (24,)]
    output_of(environ_of(postgres_url), "audit")


@pytest.mark.slow
@pytest.mark.parametrize("number", [COPIED, MARKED, RELEASED])
def test_a_copy_that_is_killed_is_finished_by_the_next_and_both_are_never_served(
    old, postgres_url, number
):
    ran = run_python("-c", DIE, str(number), postgres_url, DATABASE_URL=old.url)

    is_marked = number == RELEASED
    assert ran.returncode == -9, ran.stdout + ran.stderr
    assert are_served(old.url, postgres_url) == [not is_marked, False]
    if not is_marked:
        # The ledger goes on in the meantime.
        with served(environ_of(old.url)) as api:
            api.mint("+2.a")

    copy(old, postgres_url)
    assert are_served(old.url, postgres_url) == [False, True]
    assert LedgerView(postgres_url).rows() == old.rows()
    # Once more it only says so.
    assert copy(old, postgres_url).startswith("The ledger is now ")


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("sqlite:///new", "URL must name a PostgreSQL database"),
        (f"postgresql://u:{MARK}@/a@b", "URL is not the URL of a PostgreSQL database"),
        (f"postgresql://u:{MARK}@127.0.0.1:1/a", "the database cannot be opened: "),
    ],
)
def test_a_target_that_is_none_is_refused(sqlite_url, url, says):
    error = error_of(environ_of(sqlite_url), "copy-to", url)

    assert error.startswith(f"Error: {says}")
    assert (error.count("\n"), MARK in error) == (1, False)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("UPDATE items SET total = 9", "the live outputs of an item sum to its total"),
        (
            "INSERT INTO schema_version VALUES ('other', 1, 1)",
            "the tables of other have another version than this code",
        ),
        (
            "UPDATE operations SET created_at_ms = created_at_ms + 1",
            "was committed but is not in the ledger",
        ),
    ],
    ids=["a violation", "another part", "an older copy"],
)
def test_a_ledger_that_would_not_be_whole_is_not_copied(old, empty_url, change, says):
    old.execute(change)
    versions = old.read(VERSIONS)

    assert says in error_of(environ_of(old.url), "copy-to", empty_url)

    assert old.read(VERSIONS) == versions
    assert LedgerView(empty_url).read(TABLES) == []


@pytest.mark.parametrize(
    ("is_old", "change", "says"),
    [
        (False, "UPDATE operations SET created_at_ms = 1", "has other rows"),
        (
            True,
            "INSERT INTO operations (kind, created_at_ms) VALUES ('offer', 1)",
            "was written meanwhile: run copy-to again",
        ),
    ],
    ids=["other rows", "an operation more"],
)
def test_a_copy_that_is_not_the_ledger_is_not_served(
    old, postgres_url, is_old, change, says
):
    view = old if is_old else LedgerView(postgres_url)
    changed = []

    def change_once(_connection, sql, _values):
        # The audit of the copy begins with it.
        if "READ ONLY; SET LOCAL" in sql and not changed:
            changed.append(True)
            view.execute(change)

    with hooked("before begin", change_once):
        error = error_of(environ_of(old.url), "copy-to", postgres_url)

    assert says in error
    assert are_served(old.url, postgres_url) == [True, False]


def test_a_database_with_tables_is_left_alone(old, emptied_postgres_url):
    error = error_of(environ_of(old.url), "copy-to", emptied_postgres_url)

    assert error == (
        f"Error: {name_of(emptied_postgres_url)} has tables already, such as"
        " hash_policies; name an empty database\n"
    )
    assert are_served(old.url) == [True]


@pytest.mark.slow
def test_a_process_that_served_the_target_before_does_not_serve_the_copy(
    old, fresh_postgres_url, open_app
):
    url = fresh_postgres_url()
    app = open_app(environ_of(url))
    api = Api.of_app(app)
    # It remembers no operation that the copy lacks.
    assert api.get("/readyz").status_code == 200
    drop_tables(url)

    refused = error_of(environ_of(old.url), "copy-to", url)
    # As after 15 s in which nobody asks for anything.
    app.extensions["deeds"].close()
    copy_until(MARKED, old, url)

    assert refused == (
        "Error: the database has other sessions (1); stop what uses it\n"
    )
    assert refusal(api.get(f"/v1/item/{old.item}")) == UNAVAILABLE


def test_a_file_that_is_open_is_not_copied(old, empty_url):
    with held_open(sqlite_path(old.url)):
        error = error_of(environ_of(old.url), "copy-to", empty_url)

    assert error == f"Error: {sqlite_path(old.url)}: {IN_USE}"
    assert LedgerView(empty_url).read(TABLES) == []


@pytest.mark.slow
def test_what_opens_the_file_during_the_copy_keeps_it_from_being_marked(
    old, postgres_url, open_app, thread, monkeypatch
):
    monkeypatch.setattr(sqlite_writer, "BUSY_TIMEOUT_S", 0.1)
    settings = environ_of(old.url)
    # It has no connection until it is asked.
    app = open_app(settings)
    api = Api.of_app(app)
    swap = f"+5.{old.item}.c", f"+5.{old.item}.d"
    with connected(postgres_url) as other:
        other.execute(LOCK_TABLES)
        copying = thread.submit(
            run_deeds, "copy-to", postgres_url, DATABASE_URL=old.url
        )
        wait_until(lambda: other.execute(WAITS).fetchone() == (1,))
        started = stop_line(open_app, settings)
        swapped = api.swap(*swap)
        read = api.get(f"/v1/item/{old.item}")
        other.execute(UNLOCK_TABLES)
    ran = copying.result()

    assert started == "DATABASE_URL: another process keeps the database locked"
    assert refusal(swapped) == UNAVAILABLE
    assert good(read)["total"] == 8
    assert (ran.returncode, ran.stderr.endswith(IN_USE)) == (1, True)
    good(api.swap(*swap))
    app.extensions["deeds"].close()
    copy(old, postgres_url)
    assert LedgerView(postgres_url).rows() == old.rows()


def test_a_process_that_was_not_stopped_neither_reads_nor_writes_the_old_ledger(
    old, postgres_url, open_app
):
    api = Api.of_app(open_app(environ_of(old.url)))

    with old.unchanged():
        copy(old, postgres_url)
        answers = [
            api.get("/readyz"),
            api.send_check(f"+5.{old.item}.c"),
            api.send_mint("+1.a"),
        ]

    assert [refusal(each) for each in answers] == [UNAVAILABLE] * 3
    assert {each.json()["detail"] for each in answers} == {"the ledger was moved"}


def test_commands_count_a_ledger_that_was_moved_and_change_nothing(
    old, postgres_url, tmp_path
):
    settings, backup = environ_of(old.url), tmp_path / "backup"
    output_of(settings, "backup", backup)
    copy(old, postgres_url)
    versions = old.read(VERSIONS)

    with old.unchanged():
        output_of(settings, "audit")
        output_of(settings, "stats")
        errors = [
            invoke(settings, *command).output
            for command in (
                ("backup", tmp_path / "other"),
                ("restore", backup),
                ("migrate",),
            )
        ]

    for error in errors:
        assert f"moved to {name_of(postgres_url)}" in error
    assert old.read(VERSIONS) == versions
    assert not (tmp_path / "other").exists()


@pytest.mark.slow
def test_an_unfinished_copy_is_of_one_ledger_and_goes_to_one_place(
    old, postgres, postgres_url, tmp_path
):
    other = LedgerView(f"sqlite:///{tmp_path}/other.sqlite3")
    with served(environ_of(other.url)) as api:
        api.mint("+5.a")
    elsewhere = postgres.create_database()
    copy_until(RELEASED, old, postgres_url)

    of_other = error_of(environ_of(other.url), "copy-to", postgres_url)
    to_other = error_of(environ_of(old.url), "copy-to", elsewhere)

    assert "has tables already" in of_other
    assert to_other == (
        f"Error: this ledger was moved to {name_of(postgres_url)}, and that copy is not"
        f" in {name_of(elsewhere)}; if it is lost for good, run: python -m app"
        " accept-rollback\n"
    )
    # Nor is the place of one copy that of another.
    copy_until(MARKED, other, elsewhere)
    assert error_of(environ_of(old.url), "copy-to", elsewhere) == to_other
    postgres.drop_database(elsewhere)


@pytest.mark.slow
def test_an_operator_who_accepts_that_a_copy_is_lost_serves_the_old_ledger(
    old, postgres_url
):
    settings = environ_of(old.url)
    copy(old, postgres_url)
    drop_tables(postgres_url)

    accepted = output_of(settings, "accept-rollback", "--yes")

    assert f"was moved to {name_of(postgres_url)}" in accepted
    assert are_served(old.url) == [True]
    copy(old, postgres_url)
    assert are_served(old.url, postgres_url) == [False, True]


@pytest.mark.slow
def test_an_operator_who_accepts_that_the_old_file_is_lost_serves_its_copy(
    old, postgres_url
):
    copy_until(MARKED, old, postgres_url)
    words = environ_of(postgres_url), "accept-rollback", "--yes"
    path = Path(sqlite_path(old.url))

    refused = error_of(*words)
    path.rename(f"{path}-lost")
    accepted = output_of(*words)

    said = f"Error: {path} is still there, and may be served: run copy-to again\n"
    assert refused == said
    assert f"incoming from {path}" in accepted
    assert are_served(postgres_url) == [True]
