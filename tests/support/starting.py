"""Starts the application in a process of its own, to see what it says when it cannot."""

import subprocess
import sys

from tests.support.serving import REPOSITORY, clean_environment


def run_python(code, **settings):
    return _run(sys.executable, "-c", code, **settings)


def run_migrate(**settings):
    return run_deeds("migrate", **settings)


def run_deeds(*arguments, said="", cwd=REPOSITORY, **settings):
    """Run `flask --app app deeds …` as an operator does who then types what is `said`."""
    command = [sys.executable, "-m", "flask", "--app", "app", "deeds", *arguments]
    return _run(*command, said=said, cwd=cwd, **settings)


def stopped_migrate(**settings):
    """Return the one line that a migration stops with, without the words that begin it."""
    ran = run_migrate(**settings)
    lines = ran.stderr.splitlines()
    assert (ran.returncode, ran.stdout, len(lines)) == (1, "", 1), ran.stderr
    start = "deeds cannot start: "
    assert lines[0].startswith(start), lines[0]
    return lines[0].removeprefix(start)


def _run(*command, said="", cwd=REPOSITORY, **settings):
    return subprocess.run(
        command,
        cwd=cwd,
        env=clean_environment(settings),
        input=said,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
