"""A start that is refused, and a command that has ended, leave no file of it open.

From Python 3.13 on each connection left behind would be a ResourceWarning.
"""

import psutil
import pytest
from click.testing import CliRunner

from app import create_app, prepare
from deeds.cli import deeds_commands
from deeds.domain.errors import StartError
from deeds.settings import read_settings
from storage.checkpoint import Checkpoint
from storage.engine import make_engine, parse_database_url


@pytest.fixture
def database_url(sqlite_url):
    return sqlite_url


@pytest.fixture
def engine(database_url):
    """The engine of the commands; with it they keep what they do not close."""
    return make_engine(parse_database_url(database_url))


def open_files(directory):
    paths = [each.path for each in psutil.Process().open_files()]
    return [path for path in paths if path.startswith(str(directory))]


@pytest.mark.parametrize("start", [create_app, prepare])
def test_a_refused_start_leaves_no_file_open(
    guarded, checkpoint, monkeypatch, tmp_path, start
):
    monkeypatch.setenv("DATABASE_URL", guarded["DATABASE_URL"])
    monkeypatch.setenv("DEEDS_CHECKPOINT_FILE", guarded["DEEDS_CHECKPOINT_FILE"])
    checkpoint.set(Checkpoint(99, 1))

    # Its traceback keeps what was not closed.
    stops = (StartError, SystemExit)
    with pytest.raises(stops, match="operation 99 of") as refused:
        start()

    assert open_files(tmp_path) == []
    assert refused.tb is not None


@pytest.mark.parametrize(
    "words",
    [
        "audit",
        "stats",
        "policies",
        "backup copy",
        "restore missing",
        "migrate",
        "accept-rollback",
    ],
)
def test_a_command_that_has_ended_leaves_no_file_open(
    engine, guarded, checkpoint, monkeypatch, tmp_path, words
):
    monkeypatch.chdir(tmp_path)
    # To accept what is missing, it asks and gets no answer.
    checkpoint.set(Checkpoint(99, 1))

    CliRunner().invoke(deeds_commands(engine, read_settings(guarded)), words.split())

    assert open_files(tmp_path) == []
