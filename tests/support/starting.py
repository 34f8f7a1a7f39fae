"""Starts the application in a process of its own, to see what it says when it cannot."""

import os
import subprocess
import sys

from tests.support.serving import REPOSITORY

CREATE_APP = "import app; app.create_app()"


def environment(**settings: str) -> dict[str, str]:
    """Return our environment without any setting of the service, plus `settings`."""
    ours = ("DEEDS_", "DATABASE_URL")
    return {name: text for name, text in os.environ.items() if not name.startswith(ours)} | settings


def run_python(code: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run Python code in the directory of the sources and return what it said."""
    return _run(sys.executable, "-c", code, **settings)


def run_migrate(**settings: str) -> subprocess.CompletedProcess[str]:
    """Run `flask --app app deeds migrate` as an operator does."""
    return run_deeds("migrate", **settings)


def run_deeds(*arguments: str, said: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
    """Run `flask --app app deeds …` as an operator does who then types what is `said`."""
    command = [sys.executable, "-m", "flask", "--app", "app", "deeds", *arguments]
    return _run(*command, said=said, **settings)


def stopped_start(**settings: str) -> str:
    """Return the one line that a start stops with, without the words that begin it."""
    return _stop_line(run_python(CREATE_APP, **settings))


def stopped_migrate(**settings: str) -> str:
    """Return the one line that a migration stops with, without the words that begin it."""
    return _stop_line(run_migrate(**settings))


def _stop_line(ran: subprocess.CompletedProcess[str]) -> str:
    lines = ran.stderr.splitlines()
    assert (ran.returncode, ran.stdout, len(lines)) == (1, "", 1), ran.stderr
    start = "deeds cannot start: "
    assert lines[0].startswith(start), lines[0]
    return lines[0].removeprefix(start)


def _run(*command: str, said: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=REPOSITORY,
        env=environment(**settings),
        input=said,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
