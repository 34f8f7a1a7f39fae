"""What `deeds doctor` says of the checkpoint file."""

import shutil
from pathlib import Path

import pytest

from app import create_app, now_ms
from tests.support.api import Api, environ_of, read_settings, served
from tests.support.databases import sqlite_path
from tests.support.doctoring import examined

ADVICE = "run: python -m app accept-rollback"


def examine(environ):
    return examined(environ)["checkpoint"]


def mint_an_hour_ago(environ):
    app = create_app(read_settings(environ), clock=lambda: now_ms() - 3_600_000)
    Api.of_app(app).mint("+5.a")
    app.extensions["deeds"].close()


@pytest.fixture
def file(tmp_path):
    return tmp_path / "elsewhere" / "checkpoint"


@pytest.fixture
def environ(sqlite_url, file):
    """The settings of a ledger with one operation that is an hour old."""
    file.parent.mkdir()
    environ = environ_of(sqlite_url, DEEDS_CHECKPOINT_FILE=str(file))
    mint_an_hour_ago(environ)
    return environ


def older_copy(environ, file):
    path = Path(sqlite_path(environ["DATABASE_URL"]))
    copy = shutil.copy(path, path.with_name("older"))
    with served(environ) as api:
        api.mint("+5.a")
    shutil.copy(copy, path)


def no_ledger(environ, file):
    Path(sqlite_path(environ["DATABASE_URL"])).unlink()


def empty_directory(environ, file):
    """A disk that is mounted beside it, say."""
    shutil.rmtree(file.parent)
    file.parent.mkdir()


def test_a_file_that_has_come_as_far_as_the_ledger_is_ok(environ, file):
    assert examine(environ) == f"ok {file}, operation 1 of 1"


@pytest.mark.parametrize(
    ("break_it", "finding"),
    [
        (older_copy, ADVICE),
        (no_ledger, ADVICE),
        (
            empty_directory,
            "is not there, and the ledger went on since, to 1; is it set",
        ),
        (lambda _, file: file.write_bytes(b"?"), "it is damaged"),
        (lambda _, file: shutil.rmtree(file.parent), "mount its disk, or make it for"),
    ],
)
def test_a_file_that_would_not_help_is_wrong(environ, file, break_it, finding):
    break_it(environ, file)

    line = examine(environ)

    assert line.startswith("wrong ")
    assert finding in line


def test_a_file_may_lag_a_moment_behind(environ, file):
    before = file.read_bytes()
    with served(environ) as api:
        api.mint("+5.a")
    file.write_bytes(before)

    assert examine(environ) == f"ok {file}, operation 1 of 2"


@pytest.mark.parametrize(("place", "state"), [("a", "wrong"), ("b", "ok")])
def test_a_file_on_the_disk_of_the_ledger_is_wrong_if_that_may_be_missing(
    environ, file, tmp_path, monkeypatch, place, state
):
    mounts = {"a": tmp_path, "b": file.parent}
    table = tmp_path / "mountinfo"
    table.write_text(
        "1 0 8:1 / / rw - ext4 /dev/r rw\n"
        f"2 1 8:2 / {tmp_path} rw - ext4 /dev/a rw\n"
        f"3 2 8:2 / {mounts[place]} rw - ext4 /dev/{place} rw\n"
    )
    monkeypatch.setattr("storage.files.MOUNTS", table)

    assert examine(environ).split()[0] == state


def test_a_ledger_that_cannot_be_read_leaves_it_unknown(environ, file):
    Path(sqlite_path(environ["DATABASE_URL"])).write_bytes(b"x" * 9_000)

    assert examine(environ) == f"unknown {file}, operation 1; the ledger cannot be read"


def test_a_ledger_on_postgresql_has_a_file_for_each_machine(
    emptied_postgres_url, tmp_path
):
    unset = environ_of(emptied_postgres_url)
    first, second = (
        unset | {"DEEDS_CHECKPOINT_FILE": str(tmp_path / name)} for name in "ab"
    )
    for environ in (first, second):
        mint_an_hour_ago(environ)

    of_first = examine(first)
    (tmp_path / "a").unlink()

    assert of_first.startswith(f"ok {tmp_path / 'a'}, operation ")
    assert examine(first).startswith("wrong ")
    assert examine(unset).startswith("unknown ")
