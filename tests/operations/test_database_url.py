"""DATABASE_URL of an SQLite file: valid URLs, and the errors for all others."""

import json
import os
from pathlib import Path

import pytest

from storage.sqlite import sqlite_path
from tests.support.api import Api, environ_of, stop_line
from tests.support.commanding import run_python

PASSWORD = "mark-7c1f9e"
PROCESSES_COUNT = 6

# Processes that start at the same moment, each to serve one request.
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
        DATABASE_URL=f"sqlite:///{tmp_path}/deeds.db",
        DEEDS_ARGON2="m=8,t=1,p=1",
        DEEDS_LOG_LEVEL="error",
    )

    assert ran.stderr == ""
    item_ids = set(json.loads(ran.stdout))
    assert len(item_ids - {None}) == PROCESSES_COUNT


def test_only_their_owner_may_read_the_default_ledger_and_its_files(
    tmp_path, open_app, monkeypatch
):
    directory = tmp_path / "new"
    monkeypatch.setattr("storage.sqlite.DEFAULT_LEDGER", directory / "deeds.db")
    before = os.umask(0o022)

    app = open_app(environ_of(f"sqlite:///{directory}/deeds.db"))
    # SQLite creates its other files at the first use.
    Api.of_app(app).mint("+5.a")

    os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in directory.iterdir()}
    assert directory.stat().st_mode & 0o777 == 0o700
    assert set(modes) >= {"deeds.db", "deeds.db-wal", "deeds.db-shm"}
    assert set(modes.values()) == {0o600}


@pytest.mark.parametrize(
    "name", ["garbage", "directory", "garbage/below", "without-its", "dangling"]
)
def test_a_path_that_holds_no_database_stops_in_one_line(tmp_path, open_app, name):
    (tmp_path / "garbage").write_bytes(os.urandom(8192))
    (tmp_path / "directory").mkdir()
    (tmp_path / "without-its-lock").mkdir()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere" / "deeds.db")

    line = stop_line(open_app, environ_of(f"sqlite:///{tmp_path / name}"))

    assert line.startswith("DATABASE_URL: ")


def test_a_directory_that_is_not_there_is_not_created(tmp_path, open_app, monkeypatch):
    """A disk that is not mounted, and a URL with three slashes instead of four."""
    monkeypatch.chdir(tmp_path)

    absolute = stop_line(open_app, environ_of(f"sqlite:///{tmp_path}/data/deeds.db"))
    relative = stop_line(open_app, environ_of("sqlite:///data/deeds.db"))

    missing = (
        "DATABASE_URL: the database cannot be opened: there is no directory"
        f" {tmp_path}/data; is its disk mounted?"
    )
    assert absolute == missing
    hint = " An absolute path has four slashes: sqlite:////path"
    assert relative == f"{missing}{hint}"
    assert list(tmp_path.iterdir()) == []


def test_a_default_that_cannot_be_created_asks_for_the_url(open_app, monkeypatch):
    path = Path("/proc/deeds/instance/deeds.db")
    monkeypatch.setattr("storage.sqlite.DEFAULT_LEDGER", path)

    assert stop_line(open_app, environ_of(f"sqlite:///{path}")) == (
        "DATABASE_URL is not set, and /proc/deeds cannot be created: No such file or"
        " directory"
    )


VALID = [
    ("sqlite:////data/50%25 of it.db", "/data/50%25 of it.db"),
    ("sqlite+pysqlite:///deeds.db", "deeds.db"),
]

INVALID = {
    "memory": "sqlite:///:memory:",
    "memory by URI": "sqlite:///file::memory:?uri=true",
    "no path": "sqlite:///",
    "two slashes": f"sqlite://{PASSWORD}.db",
    "no URL": PASSWORD,
    "mysql": f"mysql://deeds:{PASSWORD}@localhost/deeds",
    "option of the driver": f"sqlite:////data/{PASSWORD}.db?check_same_thread=true",
}


@pytest.mark.parametrize(("url", "path"), VALID)
def test_a_url_names_a_file(url, path):
    assert sqlite_path(url) == Path(path)


@pytest.mark.parametrize("url", INVALID.values(), ids=INVALID)
def test_an_invalid_url_is_refused_and_not_quoted(url, open_app):
    line = stop_line(open_app, environ_of(url))

    assert line.startswith("DATABASE_URL ")
    assert PASSWORD not in line
