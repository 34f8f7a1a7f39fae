"""Limits of each client: on wrong secrets, and on requests to a route.

Wrong is what the service does not know: an unknown input, item or output, an ordinary new secret
that was used before, an Idempotency-Key of another request. A spent secret was known to its sender.
"""

import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from threading import Lock
from typing import Any

from flask import request
from limits import parse
from limits.errors import ConfigurationError, StorageError
from limits.storage import RedisStorage

from deeds.blueprints.requests import client_of
from deeds.domain.errors import DeedError, StartError, TooManyFailuresError, TooManyRequestsError
from deeds.domain.hashing import current_client
from deeds.domain.idempotency import is_random_key
from deeds.domain.model import NewOutput, RawOutput
from deeds.domain.raw_output import is_strong_secret
from deeds.settings import FAILURES, RateLimits

# A client below its limit is served a request of more secrets than that. The longer window makes up
# for it: in so many units, no more than so many times the limit.
LONG_WINDOW_UNITS = 60

# A count takes about 350 bytes with its key: 18 MB. A client that failed has two.
COUNTS_MAX = 50_000

# A Redis in the same network answers within a millisecond. One that does not answer holds no
# request up for longer, and is not asked again during the pause.
REDIS_OPTIONS: dict[str, Any] = {"socket_timeout": 0.25, "socket_connect_timeout": 0.25}
REDIS_PAUSE_S = 5.0

_log = logging.getLogger("deeds")


class BoundedCounts:
    """The counts of this process. When there are too many, those that grew longest ago go.

    The memory storage of `limits` has no bound, and goes by the time of day: a clock that is set
    back would make a count last longer.
    """

    def __init__(
        self, counts_max: int = COUNTS_MAX, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._counts_max = counts_max
        self._clock = clock
        self._lock = Lock()
        # Count and end of each key, those that grew last at the end.
        self._counts: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Add to a count, which ends `expiry` seconds after it began, and return it."""
        with self._lock:
            count, end = self._counts.pop(key, (0, 0.0))
            if end <= self._clock():
                count, end = 0, self._clock() + expiry
            self._counts[key] = count + amount, end
            if len(self._counts) > self._counts_max:
                self._counts.popitem(last=False)
        return count + amount

    def get(self, key: str) -> int:
        """Return a count."""
        count, end = self._counts.get(key, (0, 0.0))
        return count if self._clock() < end else 0

    def get_expiry(self, key: str) -> float:
        """Return when a count ends, as a time of day, like RedisStorage."""
        return time.time() + self._counts.get(key, (0, 0.0))[1] - self._clock()


Counts = BoundedCounts | RedisStorage


class ClientLimits:
    """The limits of every client, counted in `redis` or in this process. Any thread may use it."""

    def __init__(self, limits: RateLimits, redis: RedisStorage | None = None) -> None:
        self._windows = {name: [parse(limit)] for name, limit in limits.routes.items()}
        if limits.failures:
            short = parse(limits.failures)
            long = type(short)(LONG_WINDOW_UNITS * short.amount, LONG_WINDOW_UNITS)
            self._windows[FAILURES] = [short, long]
        self._redis = redis
        self._redis_from_s = 0.0
        self._own = BoundedCounts()
        self._lock = Lock()
        # Guesses of each client that requests of this process hold.
        self._held: Counter[str] = Counter()

    def count_request(self) -> None:
        """Count the current request if its endpoint, without its blueprint, has a limit.

        Raises:
            TooManyRequestsError: its client is over the limit.
        """
        name = (request.endpoint or "").rpartition(".")[2]
        # A browser sends OPTIONS before a request of a page: it counts as part of that.
        if name in self._windows and request.method != "OPTIONS":
            over_s = self._count(name, client_of(request), 1)
            if over_s:
                raise TooManyRequestsError(retry_after_s=ceil(over_s))

    @contextmanager
    def judging(self, guesses_count: int) -> Iterator[str]:
        """Serve the current request, yield its client, and count what an error says was wrong.

        While it is served its guesses count as wrong, so that a burst gets no further than the same
        requests one after the other. A request without guesses is always served: nobody who shares
        the address can lock out the owner of strong secrets.

        Raises:
            TooManyFailuresError: it holds guesses and its client is over the limit, perhaps only
                while its other requests are served.
        """
        client = client_of(request)
        current_client.set(client)
        with self._lock:
            held_count = self._held[client]
            self._held[client] += guesses_count
        try:
            # Asked after they are held: another request counts its wrong ones before it lets go.
            over_s = self._count(FAILURES, client, 0, held_count + 1) if guesses_count else 0
            if over_s:
                raise TooManyFailuresError(retry_after_s=ceil(over_s))
            yield client
        except DeedError as error:
            self.count_failures(client, error.failed_secrets_count)
            raise
        finally:
            with self._lock:
                self._held[client] -= guesses_count
                if not self._held[client]:
                    del self._held[client]

    def count_failures(self, client: str, count: int) -> None:
        """Count wrong secrets of a client."""
        if count and (over_s := self._count(FAILURES, client, count, 1)):
            _log.warning(
                "too many wrong secrets from %s: refused for %.0f s"
                " (if that is a proxy, DEEDS_TRUSTED_PROXIES must say so)",
                client,
                over_s,
                extra={"event": "client_refused"},
            )

    def _count(self, name: str, client: str, amount: int, more: int = 0) -> float:
        """Add to the counts of a client; return for how many seconds `more` are over a limit."""
        if self._redis is not None and time.monotonic() >= self._redis_from_s:
            try:
                return self._over_s(self._redis, (name, client), amount, more)
            except StorageError:
                self._redis_from_s = time.monotonic() + REDIS_PAUSE_S
                _log.warning(
                    "DEEDS_RATE_LIMITS_STORAGE does not answer: each process counts alone",
                    extra={"event": "counts_apart"},
                )
        return self._over_s(self._own, (name, client), amount, more)

    def _over_s(self, counts: Counts, whose: tuple[str, str], amount: int, more: int) -> float:
        waits_s = [0.0]
        for window in self._windows.get(whose[0], ()):
            key = window.key_for("deeds", *whose)
            count = counts.incr(key, window.get_expiry(), amount) if amount else counts.get(key)
            if count + min(more, 1) > window.amount:
                # At least a second, because Retry-After tells whole ones.
                waits_s.append(max(1.0, counts.get_expiry(key) - time.time()))
            elif count + more > window.amount:
                # Only for as long as other requests are served.
                waits_s.append(1.0)
        return max(waits_s)


def count_guesses(
    looked_up: Sequence[RawOutput] = (),
    new: Sequence[RawOutput | NewOutput] = (),
    idempotency_key: str | None = None,
) -> int:
    """Return how many of a request's secrets and key may be guesses at those of others.

    Strong secrets and random keys are not. All new secrets count once, because an answer tells of
    one at most.
    """
    is_new_guess = not all(is_strong_secret(output.secret) for output in new)
    is_key_guess = idempotency_key is not None and not is_random_key(idempotency_key)
    return sum(not is_strong_secret(raw.secret) for raw in looked_up) + is_new_guess + is_key_guess


def open_redis(url: str | None) -> RedisStorage | None:
    """Return the Redis that processes count in together, without asking it anything.

    Raises:
        StartError: its client library is missing or the URL is invalid. The URL may hold a
            password, so it is not repeated.
    """
    if url is None:
        return None
    try:
        return RedisStorage(url, wrap_exceptions=True, **REDIS_OPTIONS)
    except ConfigurationError:
        raise StartError("DEEDS_RATE_LIMITS_STORAGE: install requirements/redis.txt") from None
    except Exception:  # noqa: BLE001 - whatever the libraries make of an invalid URL
        raise StartError("DEEDS_RATE_LIMITS_STORAGE is not the URL of a Redis") from None
