"""Limits of each client: on wrong secrets, and on requests to a route.

Wrong is what the service does not know: an unknown input, item or output, an ordinary
new secret that was used before, an Idempotency-Key of another request. A spent secret
was known to its sender.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from threading import Lock
from typing import Any

from flask import request
from limits import parse
from limits.errors import StorageError
from limits.storage import RedisStorage

from deeds.blueprints.endpoints import ENDPOINTS, LIMIT_NAMES
from deeds.blueprints.requests import client_of
from deeds.domain.errors import (
    DeedError,
    StartError,
    TooManyFailuresError,
    TooManyRequestsError,
)
from deeds.domain.model import NewOutput, RawOutput
from deeds.domain.raw_output import is_random_key, is_strong_secret
from deeds.settings import FAILURES, RateLimits

# A client below its limit is served a request of more secrets than that. A second
# window makes up for it: in 60 minutes, 60 times the limit of a minute.
LONG_WINDOW_UNITS = 60

# A count takes about 350 bytes with its key: 18 MB. A client that failed has two.
COUNTS_MAX = 50_000

# A Redis in the same network answers within a millisecond. One that does not answer
# holds no request up for longer, and is not asked again during the pause.
REDIS_OPTIONS: dict[str, Any] = {"socket_timeout": 0.25, "socket_connect_timeout": 0.25}
REDIS_PAUSE_S = 5.0

_log = logging.getLogger("deeds")


class BoundedCounts:
    """The counts of this process.

    When there are too many, those that grew longest ago go.
    """

    # The memory storage of `limits` has no bound, and goes by a clock that may be set
    # back.

    def __init__(self) -> None:
        self._lock = Lock()
        # Count and end of each key, those that grew last at the end.
        self._counts: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def add(self, key: str, window_s: int, amount: int) -> tuple[int, float]:
        """Add to a count, which ends `window_s` after it began.

        Return it and the seconds left.
        """
        with self._lock:
            now_s = time.monotonic()
            count, end_s = self._counts.get(key, (0, 0.0))
            if end_s <= now_s:
                count, end_s = 0, now_s + window_s
            if amount:
                self._counts[key] = count + amount, end_s
                self._counts.move_to_end(key)
            if len(self._counts) > COUNTS_MAX:
                self._counts.popitem(last=False)
        return count + amount, end_s - now_s


class ClientLimits:
    """The limits of every client, counted in a Redis or in this process.

    Any thread may use it.
    """

    def __init__(self, limits: RateLimits, redis_url: str | None = None) -> None:
        """Create the limits.

        Raises StartError where a name is not that of a limit, or the URL cannot be
        used.
        """
        if not limits.routes.keys() <= set(LIMIT_NAMES):
            raise StartError(
                "DEEDS_RATE_LIMITS names a limit that there is not: there are"
                f" {FAILURES}, {', '.join(LIMIT_NAMES)}"
            )
        self._windows = {
            name: [parse(limit)] for name, limit in limits.routes.items() if limit
        }
        if limits.failures:
            short = parse(limits.failures)
            long = type(short)(LONG_WINDOW_UNITS * short.amount, LONG_WINDOW_UNITS)
            self._windows[FAILURES] = [short, long]
        self._redis: RedisStorage | None = None
        self._redis_from_s = 0.0
        self._own = BoundedCounts()
        self._lock = Lock()
        # Client and guesses of each request that is being served.
        self._held: list[tuple[str, int]] = []
        if redis_url is not None:
            try:
                self._redis = RedisStorage(
                    redis_url, wrap_exceptions=True, **REDIS_OPTIONS
                )
            except Exception:  # noqa: BLE001
                # The libraries raise errors of any kind. From None: the URL may hold a
                # password.
                raise StartError(
                    "DEEDS_RATE_LIMITS_STORAGE is not the URL of a Redis"
                ) from None

    def count_request(self) -> None:
        """Count the current request where its route has a limit.

        Raise TooManyRequestsError.
        """
        endpoint = ENDPOINTS.get(request.url_rule.rule) if request.url_rule else None
        # A browser sends OPTIONS before a request of a page: it counts as part of that.
        if endpoint and request.method != "OPTIONS":
            self.count(endpoint.limit)

    def count(self, name: str, amount: int = 1) -> None:
        """Count the current request as `amount` requests under the limit of this name.

        Raise TooManyRequestsError.
        """
        if name in self._windows and (
            wait_s := self._count(name, client_of(request), amount)
        ):
            raise TooManyRequestsError(retry_after_s=wait_s)

    @contextmanager
    def judging(self, client: str, guesses_count: int) -> Iterator[None]:
        """Serve the current request, and count the wrong secrets of its error.

        While it is served its guesses count as wrong, so that a burst gets no further
        than the same requests one after the other. A request without guesses is always
        served: nobody who shares the address can lock out the owner of strong secrets.
        Others raise TooManyFailuresError while the client is over the limit.
        """
        held = (client, guesses_count)
        with self._lock:
            more = 1 + sum(count for name, count in self._held if name == client)
            self._held.append(held)
        try:
            # Asked after they are held: another request counts its wrong ones before it
            # lets go.
            if guesses_count and (wait_s := self._count(FAILURES, client, 0, more)):
                raise TooManyFailuresError(retry_after_s=wait_s)
            yield
        except DeedError as error:
            self.count_failures(client, error.failed_secrets_count)
            raise
        finally:
            with self._lock:
                self._held.remove(held)

    def count_failures(self, client: str, count: int) -> None:
        """Count wrong secrets of the request that is being judged."""
        if count and (wait_s := self._count(FAILURES, client, count, 1)):
            _log.warning(
                "too many wrong secrets from %s: refused for %d s"
                " (if that is a proxy, DEEDS_TRUSTED_PROXIES must say so)",
                client,
                wait_s,
                extra={"event": "client_refused"},
            )

    def _count(self, name: str, client: str, amount: int, more: int = 0) -> int:
        """Add to the counts of a client.

        Return for how many seconds `more` are over a limit.
        """
        waits_s = [0]
        for window in self._windows.get(name, ()):
            key = window.key_for("deeds", name, client)
            count, left_s = self._add(key, window.get_expiry(), amount)
            if count + min(more, 1) > window.amount:
                waits_s.append(max(1, ceil(left_s)))
            elif count + more > window.amount:
                # Only for as long as other requests are served.
                waits_s.append(1)
        return max(waits_s)

    def _add(self, key: str, window_s: int, amount: int) -> tuple[int, float]:
        if self._redis is not None and time.monotonic() >= self._redis_from_s:
            try:
                count = (
                    self._redis.incr(key, window_s, amount)
                    if amount
                    else self._redis.get(key)
                )
                return count, self._redis.get_expiry(key) - time.time()
            except StorageError:
                self._redis_from_s = time.monotonic() + REDIS_PAUSE_S
                _log.warning(
                    "DEEDS_RATE_LIMITS_STORAGE does not answer:"
                    " each process counts alone",
                    extra={"event": "counts_apart"},
                )
        return self._own.add(key, window_s, amount)


def count_guesses(
    looked_up: Sequence[RawOutput] = (),
    new: Sequence[RawOutput | NewOutput] = (),
    idempotency_key: str | None = None,
) -> int:
    """Return how many of a request's secrets and key may be guesses at those of others.

    Strong secrets and random keys are not. All new secrets count once, because an
    answer tells of one at most.
    """
    is_new_guess = not all(is_strong_secret(output.secret) for output in new)
    is_key_guess = idempotency_key is not None and not is_random_key(idempotency_key)
    return (
        sum(not is_strong_secret(raw.secret) for raw in looked_up)
        + is_new_guess
        + is_key_guess
    )
