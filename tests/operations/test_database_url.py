"""DATABASE_URL.

What is taken, and what is said of an address or a database that cannot be used.
"""

import json
import os
import secrets
import socket
import sqlite3
from unittest.mock import ANY

import pytest
from sqlalchemy import make_url

import storage.engine
from deeds.domain.errors import StartError
from storage.engine import make_engine, parse_database_url
from storage.schema import HEAD_REVISION, migrate, open_schema
from tests.support.api import Api, environ_of, stop_line
from tests.support.commanding import output_of, run_python
from tests.support.databases import on_postgresql
from tests.support.strong_secrets import make_strong_secret

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
    client = app.create_app().test_client()
    answer = client.post("/v1/mint", json={{"outputs": ["+5.a"]}})
    return answer.get_json().get("itemId")

with processes.Pool({PROCESSES_COUNT}) as pool:
    print(json.dumps(pool.map(mint, range({PROCESSES_COUNT}), 1)))
"""


@pytest.mark.slow
def test_processes_that_start_at_once_on_a_new_file_all_serve(tmp_path):
    ran = run_python(
        "-c",
        START_AND_MINT,
        DATABASE_URL=f"sqlite:///{tmp_path}/new/deeds.db",
        DEEDS_ARGON2="m=8,t=1,p=1",
        DEEDS_LOG_LEVEL="error",
    )

    assert ran.stderr == ""
    item_ids = set(json.loads(ran.stdout))
    assert len(item_ids - {None}) == PROCESSES_COUNT


def test_a_file_and_what_is_beside_it_are_for_their_owner_alone(tmp_path, open_app):
    directory = tmp_path / "new"
    before = os.umask(0o022)

    app = open_app(environ_of(f"sqlite:///{directory}/deeds.db"))
    # A service that nobody has used has no file open.
    Api.of_app(app).mint("+5.a")

    os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in directory.iterdir()}
    assert directory.stat().st_mode & 0o777 == 0o700
    assert set(modes) >= {"deeds.db", "deeds.db-wal", "deeds.db-shm"}
    assert set(modes.values()) == {0o600}


def test_an_empty_postgresql_is_refused_and_migrated_once(postgres_url, open_engine):
    line = stop_line(open_schema, open_engine(postgres_url))
    first, second = (output_of(environ_of(postgres_url), "migrate") for _ in range(2))

    assert line.startswith("the database is at revision none and the code at ")
    assert first == f"upgraded the database from revision none to {HEAD_REVISION}\n"
    assert second == f"the database is already at revision {HEAD_REVISION}\n"


def assert_says_why(line, cause):
    assert line.startswith("DATABASE_URL: the database cannot be opened: ")
    assert cause in line
    assert PASSWORD not in line


@pytest.mark.parametrize("open_one", [open_schema, migrate])
def test_an_absent_server_stops_the_start_in_one_line(open_one, open_engine):
    # Bound but not listening: no other process can take it.
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        url = f"postgresql://deeds:{PASSWORD}@127.0.0.1:{port}/deeds"
        line = stop_line(open_one, open_engine(url))

    assert_says_why(line, "refused")


@pytest.mark.parametrize("open_one", [open_schema, migrate])
def test_an_absent_database_stops_the_start_in_one_line(
    open_one, open_engine, postgres
):
    url = make_url(postgres.admin_url).set(database="no_such", password=PASSWORD)

    engine = open_engine(url.render_as_string(hide_password=False))
    line = stop_line(open_one, engine)

    assert_says_why(line, '"no_such" does not exist')


@on_postgresql
@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_postgresql_that_cannot_hold_all_text_is_refused(
    postgres, open_engine, other, encoding
):
    """Metadata may be any Unicode text: some mints would be answered 500 there."""
    name = f"narrow_{secrets.token_hex(6)}"
    url = make_url(postgres.admin_url).set(database=name)
    other.execute(
        f"CREATE DATABASE {name} ENCODING {encoding} TEMPLATE template0 LOCALE 'C'"
    )

    engine = open_engine(url.render_as_string(hide_password=False))
    line = stop_line(migrate, engine)

    other.execute(f"DROP DATABASE {name} WITH (FORCE)")
    assert line == (
        f"DATABASE_URL: the database's encoding is {encoding}; it must be UTF8"
    )


@on_postgresql
def test_a_read_only_postgresql_stops_the_start_with_its_cause(
    settings, set_default, open_app, caplog
):
    set_default("default_transaction_read_only", "on")

    with pytest.raises(StartError, match="DATABASE_URL: the database does not answer"):
        open_app(settings)

    assert "cannot execute INSERT in a read-only transaction" in caplog.text


@pytest.mark.parametrize(
    "name", ["garbage", "directory", "garbage/below", "without-its", "dangling"]
)
def test_a_path_that_holds_no_database_stops_in_one_line(tmp_path, open_engine, name):
    (tmp_path / "garbage").write_bytes(os.urandom(8192))
    (tmp_path / "directory").mkdir()
    (tmp_path / "without-its-lock").mkdir()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere" / "deeds.db")

    line = stop_line(open_schema, open_engine(f"sqlite:///{tmp_path / name}"))

    assert line.startswith("DATABASE_URL: ")


def test_a_locked_file_stops_the_start(sqlite_url, tmp_path, open_app, monkeypatch):
    monkeypatch.setattr(storage.engine, "BUSY_TIMEOUT_S", 0.05)
    other = sqlite3.connect(tmp_path / "deeds.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(StartError, match="deeds: DATABASE_URL"):
        open_app(environ_of(sqlite_url))

    other.close()


# As they are written, and as SQLAlchemy takes them.
TAKEN = [
    ("sqlite:////data/deeds.db", "sqlite+pysqlite:////data/deeds.db"),
    ("sqlite:///deeds.db", "sqlite+pysqlite:///deeds.db"),
    ("sqlite+pysqlite:///deeds.db", "sqlite+pysqlite:///deeds.db"),
    ("postgresql://u@h/deeds", "postgresql+psycopg://u@h/deeds"),
    ("postgres://u@h/deeds", "postgresql+psycopg://u@h/deeds"),
    ("postgresql+psycopg2://u@h/deeds", "postgresql+psycopg://u@h/deeds"),
    ("postgresql:///deeds?host=/pg", "postgresql+psycopg:///deeds?host=%2Fpg"),
    (
        "postgresql://u@/deeds?host=h1:5432&host=h2:5432",
        "postgresql+psycopg://u@/deeds?host=h1%3A5432&host=h2%3A5432",
    ),
    # Where there is no password nothing of one can be shown.
    ("postgresql://u@x:p@h/deeds", "postgresql+psycopg://u%40x:***@h/deeds"),
    ("postgresql://u@h/d@b", "postgresql+psycopg://u@h/d%40b"),
]

REFUSED = {
    "memory": "sqlite:///:memory:",
    "memory by URI": "sqlite:///file::memory:?uri=true",
    "no URL": PASSWORD,
    "mysql": f"mysql://deeds:{PASSWORD}@localhost/deeds",
    "scheme in upper case": f"POSTGRESQL://deeds:{PASSWORD}@localhost/deeds",
    "port in words": f"postgresql://deeds:{PASSWORD}@localhost:port/deeds",
    "host forgotten": f"postgresql://deeds:{PASSWORD}/deeds",
    "option of the driver": f"sqlite:////data/{PASSWORD}.db?check_same_thread=true",
    "plugin": f"postgresql://deeds:{PASSWORD}@localhost/deeds?plugin=nosuch",
    "an @ in the password": f"postgresql://deeds:half@{PASSWORD}@localhost/deeds",
    "an @ and a slash": f"postgresql://deeds:half@{PASSWORD}/x@localhost/deeds",
    "an @ and a line break": f"postgresql://deeds:half@{PASSWORD}\nx@localhost/deeds",
    "an @ and a socket": f"postgres://deeds:half@{PASSWORD}@/deeds?host=/run/pg",
    "an @ and several hosts": f"postgresql://deeds:half@{PASSWORD}@h1:1,h2:2/deeds",
    "one of several ports in words": (
        f"postgresql://deeds:{PASSWORD}@h1:1,h2:port/deeds"
    ),
    "IPv6 without brackets": f"postgresql://deeds:{PASSWORD}@::1,::2/deeds",
    "IPv6 with half of them": f"postgresql://deeds:{PASSWORD}@[::1,h2/deeds",
    "fewer ports than hosts": f"postgresql://u:{PASSWORD}@/deeds?host=h1,h2&port=5",
    "port option in words": f"postgresql://u:{PASSWORD}@h/deeds?port=five",
    "several hosts and options": f"postgresql://deeds:{PASSWORD}@h1,h2/deeds?port=5432",
    "threshold in words": "postgresql://u@h/deeds?prepare_threshold=often",
    "two thresholds": "postgresql://u@h/deeds?prepare_threshold=1&prepare_threshold=2",
}

SEVERAL_HOSTS = {
    "ports": ("h1:5432,h2:5433", "h1,h2", "5432,5433"),
    "one port": ("h1,h2:5433", "h1,h2", ",5433"),
    "IPv6": ("[::1]:5432,[fe80::2],h3:1", "::1,fe80::2,h3", "5432,,1"),
    "sockets": ("%2Frun%2Fa,%2Frun%2Fb:5433", "/run/a,/run/b", ",5433"),
}


@pytest.mark.parametrize(("text", "taken"), TAKEN)
def test_a_url_is_taken_as_it_is_written_elsewhere(text, taken):
    assert str(parse_database_url(text)) == taken


@pytest.mark.parametrize("text", ["sqlite:///deeds.db", "postgresql://u@h/deeds"])
def test_an_engine_keeps_bound_values_out_of_its_errors(text):
    assert make_engine(parse_database_url(text)).hide_parameters


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_used_is_refused_without_the_password(text):
    with pytest.raises(StartError) as refused:
        make_engine(parse_database_url(text)).dispose()

    assert str(refused.value).startswith("deeds: DATABASE_URL ")
    assert PASSWORD not in str(refused.value)


@pytest.mark.parametrize(
    ("hosts", "names", "ports"), SEVERAL_HOSTS.values(), ids=SEVERAL_HOSTS
)
def test_several_hosts_are_taken_as_libpq_writes_them(hosts, names, ports):
    url = parse_database_url(
        f"postgresql://deeds:a%40%2C%2F@{hosts}/deeds?target_session_attrs=read-write"
    )

    assert make_engine(url).dialect.create_connect_args(url)[1] == {
        "context": ANY,
        "user": "deeds",
        "password": "a@,/",
        "host": names,
        "port": ports,
        "dbname": "deeds",
        "target_session_attrs": "read-write",
    }


@on_postgresql
def test_the_url_cannot_change_how_text_is_sent(database_url, open_api):
    """libpq takes an encoding from the URL that could not say every name."""
    url = make_url(database_url).update_query_dict({"client_encoding": "latin1"})
    api = open_api(DATABASE_URL=url.render_as_string(hide_password=False))

    assert api.mint(f"+5.{make_strong_secret()}", metadata={"name": "\U0001f3e1"})
