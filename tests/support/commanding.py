"""Runs commands and signals processes, as an operator does.

Commands run in this process, which is faster, or in a separate one.
"""

import os
import subprocess
import sys

from click.testing import CliRunner

from app import make_command
from tests.support.api import read_settings
from tests.support.serving import REPOSITORY, clean_environment
from tests.support.waiting import wait_until

DEEDS = ("-m", "app")

# The start of a command: root without this capability may write only what the modes of
# files permit.
AS_USER = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []


def invoke(environ, *arguments, stdin=""):
    """Run `python -m app …` with these variables in this process."""
    words = [str(argument) for argument in arguments]
    return CliRunner().invoke(make_command(read_settings(environ)), words, input=stdin)


def output_of(environ, *arguments):
    """Run a command that must succeed, and return its output."""
    ran = invoke(environ, *arguments)
    assert (ran.exit_code, ran.stderr) == (0, "")
    return ran.stdout


def error_of(environ, *arguments):
    """Run a command that must fail, and return its error output."""
    ran = invoke(environ, *arguments)
    assert ran.exit_code == 1
    assert isinstance(ran.exception, SystemExit)
    return ran.stderr


def run_deeds(*arguments, cwd=REPOSITORY, **settings):
    """Run `python -m app …` in a process of its own."""
    return run_python(*DEEDS, *arguments, cwd=cwd, **settings)


def run_python(*arguments, cwd=REPOSITORY, **settings):
    return run_program(
        sys.executable,
        *arguments,
        cwd=cwd,
        env=clean_environment(settings),
        timeout=120,
    )


def run_redirected(redirection, *arguments, **settings):
    """Run Python with a redirection of the shell, such as `2>&-`."""
    shell = ["sh", "-c", f'"$@" {redirection}', "sh", sys.executable]
    return run_program(*shell, *arguments, env=clean_environment(settings), timeout=120)


def run_program(*command, cwd=REPOSITORY, **options):
    """Run any program, and return the completed process."""
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=False, **options
    )


def printed_by(*command, **options):
    """Run a program that must succeed, and return its output."""
    ran = run_program(*command, **options)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def replace_workers(service, process, signal_number):
    """Signal a worker, or the master for all workers, and wait for the new workers."""
    before = set(service.workers)
    ended = before & {process} or before
    process.send_signal(signal_number)

    def are_replaced():
        now = set(service.workers)
        return len(now) == len(before) and not now & ended

    wait_until(are_replaced)
