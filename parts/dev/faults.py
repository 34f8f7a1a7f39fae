"""Faults that tests inject into the handling of requests."""

from dataclasses import dataclass
from threading import Lock

from deeds.errors import DeedError, LedgerUnavailableError, TooManyRequestsError

LOST = "lost"
SLOW = "slow"
# Errors with which to respond instead of serving the request.
REFUSALS: dict[str, type[DeedError]] = {
    "503": LedgerUnavailableError,
    "429": TooManyRequestsError,
}
KINDS = (LOST, *REFUSALS, SLOW)

# Longer than clients commonly wait: httpx gives up after 5 s.
SLOW_S = 10


@dataclass(slots=True)
class Fault:
    """A fault for the next `left` requests to `path`, or to any path if None.

    The segment `{id}` of a path matches any segment.
    """

    left: int
    kind: str
    path: str | None
    delay_s: int

    def is_for(self, path: str) -> bool:
        """Return whether the fault is for requests to a path."""
        if self.path is None:
            return True
        pattern = self.path.split("/")
        segments = path.split("/")
        return len(pattern) == len(segments) and all(
            expected in ("{id}", segment)
            for expected, segment in zip(pattern, segments, strict=True)
        )


class Faults:
    """The faults that are left, oldest first. Thread-safe."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._lock = Lock()

    def put(self, fault: Fault) -> None:
        """Add a fault at the end."""
        with self._lock:
            self._faults.append(fault)

    def withdraw(self, kind: str, path: str | None) -> int:
        """Remove the faults of a kind and path; return the sum of their `left`."""
        left = 0
        with self._lock:
            for fault in self._faults.copy():
                if (fault.kind, fault.path) == (kind, path):
                    self._faults.remove(fault)
                    left += fault.left
        return left

    def take(self, path: str) -> Fault | None:
        """Return the first fault for a request to a path, or None; count it down."""
        with self._lock:
            for fault in self._faults:
                if fault.is_for(path):
                    fault.left -= 1
                    if not fault.left:
                        self._faults.remove(fault)
                    return fault
        return None
