"""Files beside a ledger: who owns them, locks on them, and their way to the disk.

Files that root creates there are given to the owner of the directory, whose service
opens them, as SQLite does with its own. This is done by descriptor and follows no link:
the owner of the directory can put anything there, and must not get another file of
root's that way.
"""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

# A commit takes a few times this long.
_LOCK_POLL_S = 0.0005


def open_for_owner(path: Path, flags: int, directory: Path | None = None) -> int:
    """Open a file beside a ledger, or create it, and return its descriptor.

    A file of root's is given to the owner of its directory, or of the one named. A link
    is an OSError.
    """
    file = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    owner, status = (directory or path.parent).stat(), os.fstat(file)
    is_roots = os.geteuid() == 0 and status.st_uid == 0
    # With a second name it may be any file of root's that was linked here. A directory
    # has none.
    is_alone = status.st_nlink == 1 or stat.S_ISDIR(status.st_mode)
    if is_roots and is_alone and owner.st_uid != 0:
        # Root in a container may not be allowed to.
        with suppress(PermissionError):
            os.fchown(file, owner.st_uid, owner.st_gid)
    return file


def make_directory(path: Path) -> None:
    """Create a directory and those above it, for their owner alone."""
    if path.is_dir():
        return
    make_directory(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)
    os.close(open_for_owner(path, os.O_RDONLY | os.O_DIRECTORY))


def refusal(directory: Path) -> str:
    """Return why this user may create no file in a directory, or no text if it may.

    A new volume often belongs to root, while the image runs as another user.
    """
    user = os.geteuid()
    try:
        owner = directory.stat().st_uid
    except PermissionError:
        return f"user {user} may not enter the directories above {directory}"
    except OSError:
        return ""
    if os.access(directory, os.W_OK | os.X_OK):
        return ""
    remedy = f"run this as user {owner}"
    if owner in (0, user):
        remedy = f"run as root: chown {user} {directory}; chmod 700 {directory}"
    return (
        f"user {user} may not write in {directory}, which belongs to user {owner};"
        f" {remedy}"
    )


def flush(path: Path) -> None:
    """Make sure that a file, or the names in a directory, are on disk."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


@contextmanager
def locked(file: int, deadline_s: float) -> Iterator[None]:
    """Lock an open file within the block.

    Raises BlockingIOError at the deadline of `monotonic()`. The lock is the
    descriptor's, not the process's, and ends with either of them.
    """
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if monotonic() > deadline_s:
                raise
        sleep(_LOCK_POLL_S)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def has_content(path: Path) -> bool:
    """Return whether a file is there and not empty."""
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False
    except OSError:
        # What opens it reports what is wrong.
        return True
