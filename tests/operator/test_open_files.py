"""A start that is refused, and a command that has ended, leave no file of it open.

From Python 3.13 on each connection left behind would be a ResourceWarning.
"""

import os

import psutil
import pytest
from click.testing import CliRunner

from app import make_command, prepare
from tests.support.api import StartError, create_app, read_settings, served
from tests.support.commanding import output_of
from tests.support.databases import on_sqlite
from tests.support.migrating import NEXT, set_version

pytestmark = on_sqlite


def add_newer_tables(settings):
    set_version(settings["DATABASE_URL"], NEXT, NEXT)


def mint_under_a_pepper(settings):
    with served(settings | {"DEEDS_PEPPER": "p" * 32}) as api:
        api.mint("+5.a")


def open_app():
    create_app(read_settings(os.environ))


def open_files(directory):
    paths = [each.path for each in psutil.Process().open_files()]
    return [path for path in paths if path.startswith(str(directory))]


@pytest.mark.parametrize(
    ("start", "spoil", "reason"),
    [
        (open_app, add_newer_tables, "run newer code"),
        (prepare, add_newer_tables, "run newer code"),
        (open_app, mint_under_a_pepper, "name it in DEEDS_PEPPERS_OLD"),
    ],
)
def test_a_refused_start_leaves_no_file_open(
    settings, monkeypatch, tmp_path, start, spoil, reason
):
    spoil(settings)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)

    # Its traceback keeps what was not closed.
    with pytest.raises(StartError, match=reason) as refused:
        start()

    assert open_files(tmp_path) == []
    assert refused.tb is not None


@pytest.mark.parametrize(
    ("words", "exit_code"),
    [
        ("audit", 0),
        ("stats", 0),
        ("policies", 0),
        ("backup another", 0),
        ("restore copy", 0),
        ("restore missing", 1),
        ("migrate", 0),
    ],
)
def test_a_command_that_has_ended_leaves_no_file_open(
    settings, monkeypatch, tmp_path, words, exit_code
):
    monkeypatch.chdir(tmp_path)
    output_of(settings, "backup", "copy")
    # With its group a command keeps what it does not close.
    command = make_command(read_settings(settings))
    ran = CliRunner().invoke(command, words.split())

    assert (ran.exit_code, open_files(tmp_path)) == (exit_code, [])
