"""The clock of the service, which tests move forward."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Lock

from deeds.errors import InvalidRequestError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def milliseconds_of(moment: datetime) -> int:
    """Return an aware datetime in milliseconds since 1970-01-01 UTC."""
    return (moment - _EPOCH) // _MILLISECOND


# The latest time of the clock. An offer made at that time expires up to a month later,
# which datetime can still represent: its last year is 9999.
LATEST_MS = milliseconds_of(datetime(9999, 1, 1, tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class Move:
    """How far to move the clock, or to which time: one of the two is None."""

    advance_s: int | None
    at_ms: int | None


class Clock:
    """A clock that runs on from wherever it was moved. Thread-safe."""

    def __init__(self) -> None:
        self._offset_ms = 0
        self._lock = Lock()

    def now_ms(self) -> int:
        """Return the time in milliseconds since 1970-01-01 UTC."""
        return time.time_ns() // 1_000_000 + self._offset_ms

    def move(self, move: Move) -> None:
        """Move the clock forward.

        Raises InvalidRequestError for a time before now or after LATEST_MS.
        """
        with self._lock:
            now_ms = self.now_ms()
            if move.at_ms is None:
                at_ms = now_ms + (move.advance_s or 0) * 1000
            else:
                at_ms = move.at_ms
            if at_ms < now_ms:
                raise InvalidRequestError("at: the clock only goes forward")
            if at_ms > LATEST_MS:
                raise InvalidRequestError("the clock ends with the year 9998")
            self._offset_ms += at_ms - now_ms

    def now_text(self) -> str:
        """Return the time in ISO 8601 format, with milliseconds."""
        now = _EPOCH + self.now_ms() * _MILLISECOND
        return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
