"""Standard streams of commands and of a start. Must not import gunicorn.

Its import reads WEB_CONCURRENCY, which `gunicorn.conf.py` checks before.
"""

import atexit
import os
import sys

import click


def keep_exit_code() -> None:
    """Let this process end with its exit code where a stream is full or closed.

    Python keeps what a standard stream did not take, tries to write it once more when
    it ends, and exits with 120.
    """
    atexit.register(_drop_unwritten)


def print_line(text: str) -> None:
    """Write a line to standard output, and end the command where that fails."""
    try:
        click.echo(text)
    except BrokenPipeError:
        # Of `| head`, which reads no more.
        raise click.exceptions.Exit(1) from None
    except OSError as error:
        raise click.ClickException(f"standard output: {error.strerror}") from None


def _drop_unwritten() -> None:
    for stream in filter(None, (sys.__stdout__, sys.__stderr__)):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
