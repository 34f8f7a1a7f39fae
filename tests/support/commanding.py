"""Runs commands as an operator does.

In this process, which is faster, or in one of their own.
"""

import subprocess
import sys

from click.testing import CliRunner

from deeds.cli import deeds_commands
from storage.engine import make_engine, parse_database_url
from tests.support.serving import REPOSITORY, clean_environment


def invoke(settings, *arguments, said=""):
    """Run `flask --app app deeds …` in this process.

    The operator then types what is `said`.
    """
    engine = make_engine(parse_database_url(settings.database_url))
    try:
        return CliRunner().invoke(
            deeds_commands(engine, settings), arguments, input=said
        )
    finally:
        engine.dispose()


def run_deeds(*arguments, cwd=REPOSITORY, **settings):
    """Run `flask --app app deeds …` in a process of its own."""
    return run_python(
        "-m", "flask", "--app", "app", "deeds", *arguments, cwd=cwd, **settings
    )


def run_python(*arguments, cwd=REPOSITORY, **settings):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=clean_environment(settings),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
