"""Standard streams, each of which may be closed, full or limited to ASCII."""

import errno
import io
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import click

from deeds_client.errors import InvalidInputError
from deeds_client.service import Deeds


def service() -> Deeds:
    """Return the service of the running command."""
    deeds: Deeds = click.get_current_context().find_root().obj
    return deeds


def is_terminal(stream: Any) -> bool:
    """Return whether a standard stream is open and a terminal."""
    return stream is not None and stream.isatty()


def write(text: str) -> None:
    """Write to standard output and flush it. Raise OSError on failure."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, "It is closed")
    _put(text, sys.stdout)


def say(text: str) -> None:
    """Write to standard error; ignore failures."""
    if sys.stderr is not None:
        with suppress(OSError):
            _put(text, sys.stderr)


def _put(text: str, stream: TextIO) -> None:
    """Write a line; replace characters that the stream cannot encode."""
    line = text.encode(stream.encoding, "replace").decode(stream.encoding)
    print(line, file=stream, flush=True)


def read_text(prompt: str) -> str:
    """Return all of standard input. Print the prompt if it is a terminal."""
    if is_terminal(sys.stdin):
        say(prompt)
    return _input().read().decode(errors="replace")


def read_passphrase(*, is_new: bool = False) -> str:
    """Prompt for a passphrase; without a terminal, read a line of standard input.

    A new passphrase is asked for twice.
    """
    if is_terminal(sys.stdin):
        text = "Passphrase"
        if is_new:
            text = "New passphrase (four random words or more, never just digits)"
        answer = click.prompt(
            text, hide_input=True, confirmation_prompt=is_new, err=True
        )
        return str(answer)
    passphrase = _input().readline().decode().rstrip("\r\n")
    if not passphrase:
        raise InvalidInputError("Standard input must begin with the passphrase.")
    return passphrase


def read_token(file: Path | None) -> str:
    """Return the first token of a file; without a file, prompt for one."""
    if not file:
        return str(click.prompt("Mint token", hide_input=True, err=True))
    text = file.read_text(encoding="utf-8", errors="replace")
    words = text.replace(",", " ").split()
    return words[0] if words else ""


def confirm(question: str) -> bool:
    """Ask a question, and return whether it is answered with yes.

    Raise InvalidInputError without a terminal.
    """
    if not is_terminal(sys.stdin):
        raise InvalidInputError(f"{question} Say --yes to complete without asking.")
    return click.confirm(question, err=True)


def _input() -> BinaryIO:
    return sys.stdin.buffer if sys.stdin else io.BytesIO()
