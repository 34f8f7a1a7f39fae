"""Files beside a ledger: whose rights root has there, locks, and their way to the disk.

The owner of a directory can put anything into it at any moment, links to files of
others too. So a command of root's takes on the owner's rights before it opens anything
there. A service has threads, which all have the same rights: root does not run one with
files in another user's directory.
"""

import fcntl
import os
import pwd
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import current_thread, main_thread
from time import monotonic, sleep

from deeds.errors import StartError

# User, group and further groups.
_Rights = tuple[int, int, list[int]]

# What is mounted where, as this process sees it; Linux alone has it. A blank in a path
# is written as \\040.
MOUNTS = Path("/proc/self/mountinfo")
_ESCAPE = re.compile(r"\\([0-7]{3})")

# A commit takes a few times this long.
_LOCK_POLL_S = 0.0005


@contextmanager
def as_owner(directory: Path) -> Iterator[None]:
    """Have the rights of the owner of a directory, and no others, within the block.

    Root alone can: for others, and in a directory of root's, nothing changes. What is
    created belongs to the owner. Where a directory or a link above it is not root's,
    its owner counts, who could lead root anywhere. Blocks may be nested. All threads of
    a process have its rights: commands have one, and in another than the main one
    nothing changes. Raises StartError where the owner cannot reach the directory.
    """
    if os.getuid() != 0 or current_thread() is not main_thread():
        yield
        return
    before = _rights()
    try:
        os.seteuid(0)
        owner = _rights_of_owner(directory)
        directory = _nearest(directory)
        _take(before if owner[0] == before[0] else owner)
        if not os.access(directory, os.X_OK, effective_ids=True):
            raise StartError(
                f"{directory} cannot be reached by its owner, user {owner[0]}, whose"
                " rights root takes there"
            )
        yield
    finally:
        _take(before)


def refuse_root(directory: Path) -> None:
    """Raise StartError where this is root and the directory another user's."""
    if os.geteuid() != 0:
        return
    place, status = _owned(directory)
    if status.st_uid != 0:
        raise StartError(
            f"{place} belongs to user {status.st_uid}, who could lead root to other"
            " files: run the service as that user"
        )


def open_file(path: Path, flags: int) -> int:
    """Open a file beside a ledger, or create it for its owner alone.

    Returns its descriptor. A link is an OSError.
    """
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def make_directory(path: Path) -> None:
    """Create a directory and those above it, for their owner alone."""
    if path.is_dir():
        return
    make_directory(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)


def reason_unwritable(path: Path) -> str:
    """Return why this user may not write a file, or files in a directory, or no text.

    A new volume often belongs to root, while the image runs as another user. Of a file
    system that is read-only the error says enough.
    """
    user = os.geteuid()
    try:
        status = path.stat()
        if os.statvfs(path).f_flag & os.ST_RDONLY:
            return ""
    except PermissionError:
        return f"user {user} may not enter the directories above {path}"
    except OSError:
        return ""
    is_directory = stat.S_ISDIR(status.st_mode)
    needed = os.W_OK | os.X_OK if is_directory else os.W_OK
    if os.access(path, needed, effective_ids=True):
        return ""
    owner = status.st_uid
    remedy = f"run this as user {owner}"
    if owner in (0, user):
        mode = 700 if is_directory else 600
        remedy = f"run as root: chown {user} {path}; chmod {mode} {path}"
    return f"user {user} may not write {path}, which belongs to user {owner}; {remedy}"


def mount_of(directory: Path) -> tuple[str, str]:
    """Return where the disk of a directory is mounted, and its type, such as "ext4".

    Both are empty where the system does not tell.
    """
    types: dict[str, str] = {}
    with suppress(OSError):
        for line in MOUNTS.read_text("utf-8", "surrogateescape").splitlines():
            mount, _, file_system = line.partition(" - ")
            place = _ESCAPE.sub(lambda code: chr(int(code[1], 8)), mount.split()[4])
            # A later mount hides an earlier one.
            types[place] = file_system.split()[0]
    real = directory.resolve()
    for place in map(str, (real, *real.parents)):
        if place in types:
            return place, types[place]
    return "", ""


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


def _rights() -> _Rights:
    return os.geteuid(), os.getegid(), os.getgroups()


def _rights_of_owner(directory: Path) -> _Rights:
    _, status = _owned(directory)
    try:
        user = pwd.getpwuid(status.st_uid)
    except KeyError:
        # Of a container's host, say.
        return status.st_uid, status.st_gid, []
    groups = os.getgrouplist(user.pw_name, user.pw_gid)
    return user.pw_uid, user.pw_gid, groups


def _take(rights: _Rights) -> None:
    """Have these rights and no others; raise StartError where root may not."""
    if _rights() == rights:
        return
    uid, gid, groups = rights
    try:
        os.seteuid(0)
        os.setgroups(groups)
        os.setegid(gid)
        os.seteuid(uid)
    except PermissionError:
        raise StartError(f"root may not take the rights of user {uid} here") from None


def _owned(directory: Path) -> tuple[Path, os.stat_result]:
    """Return the first that is not root's on the way to a directory, or the last."""
    places = []
    for path in (directory.absolute(), directory.resolve()):
        places += [*reversed(path.parents), path]
    for place in places:
        with suppress(FileNotFoundError):
            last = place, place.lstat()
            if last[1].st_uid != 0:
                break
    return last


def _nearest(directory: Path) -> Path:
    """Return the directory, or the nearest one above it that is there."""
    directory = directory.absolute()
    while not directory.exists():
        directory = directory.parent
    return directory
