"""Starts on new, damaged, locked and absent databases: it serves, or says why in one line."""

import json
import os
import secrets
import socket
import sqlite3

import pytest
from sqlalchemy import make_url

import storage.engine
from deeds.domain.errors import StartError
from deeds.settings import Settings
from storage.engine import make_engine, parse_database_url
from storage.schema import migrate, open_schema
from tests.support.commanding import invoke
from tests.support.starting import run_python

PASSWORD = "mark-7c1f9e"
PROCESSES_COUNT = 6

# Processes that start and serve one request at the same moment.
START_AND_MINT = f"""
import json, multiprocessing
import app

processes = multiprocessing.get_context("fork")
start = processes.Barrier({PROCESSES_COUNT})

def mint(_number):
    start.wait()
    answer = app.create_app().test_client().post("/v1/mint", json={{"outputs": ["+5.a"]}})
    return answer.status_code, answer.get_json().get("itemId")

with processes.Pool({PROCESSES_COUNT}) as pool:
    print(json.dumps(pool.map(mint, range({PROCESSES_COUNT}), 1)))
"""


@pytest.fixture
def sqlite_path(tmp_path):
    """The path of an SQLite file and its directory, neither there, under the usual umask."""
    before = os.umask(0o022)
    yield tmp_path / "new" / "deeds.db"
    os.umask(before)


@pytest.fixture
def database_url(emptied_postgres_url):
    return emptied_postgres_url


def test_processes_that_start_at_once_on_a_new_file_all_serve(sqlite_path):
    ran = run_python(
        START_AND_MINT,
        DATABASE_URL=f"sqlite:///{sqlite_path}",
        DEEDS_ARGON2="m=8,t=1,p=1",
        DEEDS_LOG_LEVEL="error",
    )

    assert ran.stderr == ""
    statuses, item_ids = zip(*json.loads(ran.stdout), strict=True)
    assert statuses == (200,) * PROCESSES_COUNT
    assert len(set(item_ids)) == PROCESSES_COUNT


def test_a_file_its_directory_and_what_is_beside_it_are_for_their_owner_alone(
    sqlite_path, open_app
):
    open_app(Settings(f"sqlite:///{sqlite_path}"))

    directory = sqlite_path.parent
    modes = {path.name: path.stat().st_mode & 0o777 for path in directory.iterdir()}
    assert directory.stat().st_mode & 0o777 == 0o700
    assert set(modes) >= {"deeds.db", "deeds.db-wal", "deeds.db-shm"}
    assert set(modes.values()) == {0o600}


def stop_line(open_one, url):
    """Return the line that the start of a service, or a migration, stops with."""
    engine = make_engine(parse_database_url(url))
    with pytest.raises(StartError) as stopped:
        open_one(engine)
    engine.dispose()
    line = str(stopped.value).removeprefix("deeds cannot start: ")
    assert "\n" not in line
    return line


def test_an_empty_postgresql_is_refused_and_migrated_once(postgres_url):
    refused = stop_line(open_schema, postgres_url)
    ran = [invoke(Settings(postgres_url), "migrate") for _ in range(2)]

    assert refused == (
        "the database is at revision none and the code at 0001; run: flask --app app deeds migrate"
    )
    assert [(each.exit_code, each.output) for each in ran] == [
        (0, "upgraded the database from revision none to 0001\n"),
        (0, "the database is already at revision 0001\n"),
    ]


@pytest.mark.parametrize("open_one", [open_schema, migrate])
def test_a_server_or_database_that_is_absent_stops_in_one_line_without_the_password(
    open_one, postgres
):
    absent = make_url(postgres.admin_url).set(database="no_such_database", password=PASSWORD)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # Bound but not listening: no other process can take it.
        away = f"postgresql://deeds:{PASSWORD}@127.0.0.1:{unused.getsockname()[1]}/deeds"
        lines = [
            stop_line(open_one, url) for url in (away, absent.render_as_string(hide_password=False))
        ]

    for cause, line in zip(["refused", '"no_such_database" does not exist'], lines, strict=True):
        assert line.startswith("DATABASE_URL: the database cannot be opened: ")
        assert cause in line
        assert PASSWORD not in line


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_postgresql_that_cannot_hold_all_text_is_refused(postgres, other, encoding):
    """Metadata may be any Unicode text: some mints would be answered 500 there."""
    name = f"narrow_{secrets.token_hex(6)}"
    url = make_url(postgres.admin_url).set(database=name)

    other.execute(f"CREATE DATABASE {name} ENCODING {encoding} TEMPLATE template0 LOCALE 'C'")
    line = stop_line(migrate, url.render_as_string(hide_password=False))
    other.execute(f"DROP DATABASE {name} WITH (FORCE)")

    assert line == f"DATABASE_URL: the database's encoding is {encoding}; it must be UTF8"


def test_a_read_only_postgresql_stops_the_start_with_its_cause(
    database_url, other, open_app, caplog
):
    alter = f'ALTER DATABASE "{other.info.dbname}"'
    other.execute(f"{alter} SET default_transaction_read_only = on")

    with pytest.raises(StartError, match="DATABASE_URL: the database does not answer"):
        open_app(Settings(database_url))

    other.execute(f"{alter} RESET ALL")
    assert "cannot execute INSERT in a read-only transaction" in caplog.text


def damaged(path):
    path.write_bytes(os.urandom(8192))


def a_directory(path):
    path.mkdir()


def below_a_file(path):
    path.parent.rmdir()
    path.parent.write_text("not a directory")


def without_its_lock_file(path):
    (path.parent / f"{path.name}-lock").mkdir()


def dangling(path):
    path.symlink_to(path.parent / "nowhere" / "deeds.db")


@pytest.mark.parametrize(
    "make", [damaged, a_directory, below_a_file, without_its_lock_file, dangling]
)
def test_a_path_that_holds_no_database_stops_in_one_line(sqlite_path, make):
    sqlite_path.parent.mkdir()
    make(sqlite_path)

    assert stop_line(open_schema, f"sqlite:///{sqlite_path}").startswith("DATABASE_URL: ")


def test_a_locked_file_stops_the_start_in_one_line(sqlite_url, open_app, monkeypatch):
    monkeypatch.setattr(storage.engine, "BUSY_TIMEOUT_S", 0.05)
    other = sqlite3.connect(parse_database_url(sqlite_url).database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(StartError, match="deeds cannot start: DATABASE_URL"):
        open_app(Settings(sqlite_url))
    other.close()
