"""Files beside a ledger: access as root, locks, and flushing to disk.

The owner of a directory can put anything into it at any moment, even links to files of
other users. A command that runs as root therefore takes the owner's rights before it
opens anything there. A service cannot do that, because all its threads share the rights
of the process. So root must not run it with files in another user's directory.
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

# Effective user and group, and supplementary groups.
_Rights = tuple[int, int, list[int]]

# The mount table of this process, on Linux only. A space in a path is written as \040.
MOUNTS = Path("/proc/self/mountinfo")
_ESCAPE = re.compile(r"\\([0-7]{3})")

# Interval between attempts to lock. A commit takes several times as long.
_LOCK_POLL_S = 0.0005


@contextmanager
def as_owner(directory: Path) -> Iterator[None]:
    """Run the block with the rights of a directory's owner instead of root's.

    New files then belong to the owner. If a directory or link on the path belongs to
    another user than root, the first such user counts as the owner, because that user
    could redirect root to any place.

    Changes nothing for other users than root, in root's own directories, or outside the
    main thread: all threads of a process share its rights, and commands have only the
    main thread. Blocks may be nested. Raises StartError if the owner cannot reach the
    directory.
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
    """Raise StartError if this is root, and another user owns the directory."""
    if os.geteuid() != 0:
        return
    place, status = _owned(directory)
    if status.st_uid != 0:
        raise StartError(
            f"{place} belongs to user {status.st_uid}, who could lead root to other"
            " files: run the service as that user"
        )


def open_file(path: Path, flags: int) -> int:
    """Open a file beside a ledger, or create it with mode 600; return a descriptor.

    Raises OSError for a symbolic link.
    """
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def make_directory(path: Path) -> None:
    """Create a directory and its missing parents, with mode 700."""
    if path.is_dir():
        return
    make_directory(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)


def reason_unwritable(path: Path) -> str:
    """Return why this user may not write to a file or directory, else "".

    In containers, a new volume often belongs to root, and the service runs as another
    user. Returns "" for a read-only file system too: the error of a write names it.
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
    """Return the mount point of a directory's disk, and its type, such as "ext4".

    Both are empty if they are unknown.
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
    """Flush a file, or the entries of a directory, to disk."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


@contextmanager
def locked(file: int, deadline_s: float) -> Iterator[None]:
    """Lock an open file within the block.

    Waits for another process until `monotonic()` reaches `deadline_s`, and then raises
    BlockingIOError. Closing the file or ending the process also releases the lock.
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
    """Return whether a file exists and is not empty."""
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False
    except OSError:
        # Opening the file will report the error.
        return True


def _rights() -> _Rights:
    return os.geteuid(), os.getegid(), os.getgroups()


def _rights_of_owner(directory: Path) -> _Rights:
    _, status = _owned(directory)
    try:
        user = pwd.getpwuid(status.st_uid)
    except KeyError:
        # A user who is unknown here, such as one of a container's host.
        return status.st_uid, status.st_gid, []
    groups = os.getgrouplist(user.pw_name, user.pw_gid)
    return user.pw_uid, user.pw_gid, groups


def _take(rights: _Rights) -> None:
    """Take these rights, and no others; raise StartError if root is not permitted."""
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
    """Return the first directory or link on a path that is not owned by root.

    Its status comes second. If root owns all of them, returns the last that exists.
    """
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
    """Return the directory, or its nearest parent that exists."""
    directory = directory.absolute()
    while not directory.exists():
        directory = directory.parent
    return directory
