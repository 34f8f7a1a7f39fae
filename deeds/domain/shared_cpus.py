"""Lets the processes that hash on one machine use as many threads together as there are CPUs.

More threads than CPUs push each other's blocks out of the caches: on 2 CPUs two processes of two
hashing threads did 10 % fewer evaluations than one of two. Which process has work changes from
moment to moment, so the CPUs are not divided once and for all.

Nobody ever waits here: a process may always run one thread, so one that stands still costs the
others speed and nothing else.
"""

import fcntl
import os
import tempfile
from pathlib import Path
from typing import Self

# Processes that run their one thread while all CPUs are claimed by others.
CROWD_MAX = 64

# What a thread has that runs without a claim.
UNCLAIMED = -1


class SharedCpus:
    """Claims of this process on `count` CPUs. Not for several threads at once: hold a lock.

    A claim is a POSIX record lock on a byte of a file that all the processes open: bytes below
    `count` stand for CPUs, those above for threads that run beside them. The kernel ends the claims
    of a process that dies. Nothing is written to the file.
    """

    def __init__(self, path: Path, count: int) -> None:
        """Open the file at `path`, creating it if needed, and take how many CPUs there are.

        Raises:
            OSError: it cannot be opened, or it is somebody else's.
        """
        self._count = count
        self._held: set[int] = set()
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._file = os.open(path, flags, 0o600)
        if os.fstat(self._file).st_uid != os.geteuid():
            self.close()
            raise PermissionError(f"{path} belongs to another user")

    @classmethod
    def of_this_user(cls, count: int) -> Self | None:
        """Return the CPUs shared by all services of this user, or None where no file can be."""
        try:
            return cls(Path(tempfile.gettempdir()) / f"deeds-cpus-{os.geteuid()}", count)
        except OSError:
            return None

    def claim(self, *, needed: bool) -> int | None:
        """Return a claim for one more thread, or None if the CPUs are for others now.

        Where it is `needed`, because no thread of this process runs, there always is one.
        """
        if needed:
            claim = self._first_free(range(self._count + CROWD_MAX))
            return UNCLAIMED if claim is None else claim
        return None if self._is_crowded() else self._first_free(range(self._count))

    def release(self, claim: int) -> None:
        """End a claim."""
        if claim != UNCLAIMED:
            self._held.remove(claim)
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, claim)

    def close(self) -> None:
        """Close the file, which ends all claims."""
        os.close(self._file)

    def _first_free(self, claims: range) -> int | None:
        for claim in claims:
            if claim not in self._held and self._lock(claim, 1):
                self._held.add(claim)
                return claim
        return None

    def _is_crowded(self) -> bool:
        """Tell whether a process runs its one thread without a CPU of its own: it comes first."""
        if any(claim >= self._count for claim in self._held):
            return True
        if not self._lock(self._count, CROWD_MAX):
            return True
        fcntl.lockf(self._file, fcntl.LOCK_UN, CROWD_MAX, self._count)
        return False

    def _lock(self, start: int, length: int) -> bool:
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, length, start)
        except (BlockingIOError, PermissionError):  # POSIX allows either for "held".
            return False
        return True
