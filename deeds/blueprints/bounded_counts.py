"""Counts of a process, for the library `limits`, in bounded memory.

`limits` has a storage of its own for this, but that keeps a count for every address until its time
is over, however many there are, and walks through all of them each time one grows.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from limits.storage import Storage

# A count takes about 350 bytes with its key: 18 MB. A client that failed has two.
COUNTS_MAX = 50_000

SCHEME = "deeds-memory"


class BoundedCounts(Storage):
    """Counts that end by themselves; when there are too many, those that grew longest ago go."""

    STORAGE_SCHEME = [SCHEME]  # noqa: RUF012 - so `limits` declares it.

    def __init__(
        self,
        _uri: str | None = None,
        *,
        wrap_exceptions: bool = False,
        counts_max: int = COUNTS_MAX,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take how many counts there may be, and what tells how time goes by, in seconds.

        Not the time of day: a clock that is set back must not make a count last longer.
        """
        super().__init__(wrap_exceptions=wrap_exceptions)
        self._counts_max = counts_max
        self._clock = clock
        self._lock = Lock()
        # Count and end of each key, those that grew last at the end.
        self._counts: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def __len__(self) -> int:
        """Return how many counts are kept."""
        return len(self._counts)

    @property
    def base_exceptions(self) -> type[Exception]:
        """Return what a failing storage raises: this one does not fail."""
        return ValueError

    def incr(self, key: str, expiry: float, amount: int = 1) -> int:
        """Add to a count, which ends `expiry` seconds after it began; return what it is then.

        A negative amount takes from it; a count of nothing is not kept.
        """
        with self._lock:
            now = self._clock()
            count, end = self._counts.pop(key, (0, now))
            count, end = (count + amount, end) if now < end else (amount, now + expiry)
            if count > 0:
                self._counts[key] = count, end
            if len(self._counts) > self._counts_max:
                self._counts.popitem(last=False)
        return count

    def get(self, key: str) -> int:
        """Return a count."""
        count, end = self._counts.get(key, (0, 0.0))
        return count if self._clock() < end else 0

    def get_expiry(self, key: str) -> float:
        """Return when a count ends, as a time of day: `limits` asks for that."""
        now = self._clock()
        return time.time() + self._counts.get(key, (0, now))[1] - now

    def check(self) -> bool:
        """Tell whether the storage works."""
        return True

    def clear(self, key: str) -> None:
        """Forget a count."""
        with self._lock:
            self._counts.pop(key, None)

    def reset(self) -> int | None:
        """Forget all counts; return how many there were."""
        with self._lock:
            count = len(self._counts)
            self._counts.clear()
        return count
