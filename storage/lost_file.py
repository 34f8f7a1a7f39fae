"""Notices that the file of an SQLite ledger has gone or is empty, before a new one is made there.

Must be asked before SQLite opens the file: it deletes the log of an empty one, and with it whatever
was committed last.
"""

from pathlib import Path

from sqlalchemy import URL

from deeds.domain.errors import StartError
from storage.mark_file import NO_OPERATION, MarkDamagedError, MarkFile


def check_not_lost(url: URL, mark: MarkFile | None) -> None:
    """Make sure that where there is no ledger there was none before.

    Raises:
        StartError: a mark or a log shows that there was one, or the mark cannot be read.
    """
    path = Path(url.database or "")
    # First what only a ledger leaves: one that is being made meanwhile has its file before these.
    traces = _traces(path, mark)
    if traces and not has_content(path):
        found = "empty" if path.exists() else "gone"
        named = " and ".join(map(str, traces))
        raise StartError(
            f"DATABASE_URL: {path} is {found}, but it held a ledger, as {named} shows; put it back "
            "with the files beside it, or run: flask --app app deeds restore FILE (to begin a new "
            f"ledger, in which nobody owns anything, remove {named})"
        )


def has_content(path: Path) -> bool:
    """Tell whether there is more than an empty file."""
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False
    except OSError:
        # Whoever opens it is told what is wrong.
        return True


def _traces(path: Path, mark: MarkFile | None) -> list[Path]:
    """Return the files that show that there was a ledger."""
    log = Path(f"{path}-wal")
    traces = [mark.path] if mark is not None and _tells_of_operations(mark) else []
    return [*traces, log] if log.exists() and has_content(log) else traces


def _tells_of_operations(mark: MarkFile) -> bool:
    try:
        return (mark.read() or NO_OPERATION) != NO_OPERATION
    except MarkDamagedError:
        return True
    except OSError as error:
        raise StartError(f"cannot use the mark file {mark.path}: {error.strerror}") from None
