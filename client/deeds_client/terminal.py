"""Standard streams, each of which may be closed, full or ASCII, and new files."""

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkstemp
from typing import Any, BinaryIO, TextIO

import click

from deeds_client.errors import InvalidInputError


def is_terminal(stream: Any) -> bool:
    """Return whether a standard stream is open, and a person sits before it."""
    return stream is not None and stream.isatty()


def write(text: str) -> None:
    """Write to standard output at once. Raise OSError where that fails."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, "It is closed")
    _put(text, sys.stdout)


def say(text: str) -> None:
    """Tell a person on standard error, if that is possible."""
    if sys.stderr is not None:
        with suppress(OSError):
            _put(text, sys.stderr)


def _put(text: str, stream: TextIO) -> None:
    """Write a line; what the encoding of a stream does not have is replaced."""
    shown = text.encode(stream.encoding, "replace").decode(stream.encoding)
    print(shown, file=stream, flush=True)


def read_text(prompt: str) -> str:
    """Return all of standard input, asked for at a terminal."""
    if is_terminal(sys.stdin):
        say(prompt)
    return _input().read().decode(errors="replace")


def read_passphrase(*, is_new: bool = False) -> str:
    """Return the first line of standard input, or what is typed unseen."""
    if is_terminal(sys.stdin):
        typed = click.prompt(
            "Passphrase", hide_input=True, confirmation_prompt=is_new, err=True
        )
        return str(typed)
    passphrase = _input().readline().decode().rstrip("\r\n")
    if not passphrase:
        raise InvalidInputError("The passphrase is the first line of standard input.")
    return passphrase


def read_token(file: Path | None) -> str:
    """Return the first token of a file, or what is typed unseen."""
    if not file:
        return str(click.prompt("Mint token", hide_input=True, err=True))
    text = file.read_text(encoding="utf-8", errors="replace")
    words = text.replace(",", " ").split()
    return words[0] if words else ""


def confirm(question: str) -> bool:
    """Return whether a person says yes. Raise InvalidInputError without a terminal."""
    if not is_terminal(sys.stdin):
        raise InvalidInputError(f"{question} Say --yes to complete without asking.")
    return click.confirm(question, err=True)


def _input() -> BinaryIO:
    return sys.stdin.buffer if sys.stdin else io.BytesIO()


@contextmanager
def new_file(file: Path) -> Iterator[TextIO]:
    """Give a file of mode 0600 to write to. At the end it is there, whole and on disk.

    Raise InvalidInputError where it is there already, or cannot be written.
    """
    is_there = f"{file} is there already."
    if file.exists():
        raise InvalidInputError(is_there)
    part = None
    try:
        # Another process may write the same file: each has a part of its own.
        handle, part = mkstemp(".part", f"{file.name}.", file.parent)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as opened:
            yield opened
            opened.flush()
            os.fsync(handle)
        _name(Path(part), file)
    except FileExistsError:
        raise InvalidInputError(is_there) from None
    except OSError as error:
        said = f"{file} cannot be written: {error.strerror}."
        raise InvalidInputError(said) from None
    finally:
        if part:
            Path(part).unlink(missing_ok=True)


def _name(part: Path, file: Path) -> None:
    """Give a part the name of the file. Raise FileExistsError if that is taken."""
    try:
        file.hardlink_to(part)
    except FileExistsError:
        raise
    except OSError:
        # FAT has no links. A kill between these two leaves an empty file.
        file.touch(exist_ok=False)
        part.replace(file)
