"""Limits of each client: on wrong secrets, and on requests to a route.

Wrong is what the service does not know: an unknown input, item or output, an ordinary
new secret that was used before, an Idempotency-Key of another request. A spent secret
was known to its sender.
"""

import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from threading import Lock

from deeds.errors import (
    DeedError,
    StartError,
    TooManyFailuresError,
    TooManyRequestsError,
)
from deeds.model import NewOutput, RawOutput
from deeds.raw_output import is_random_key, is_strong_secret
from deeds.settings import FAILURES, RateLimit

# A debt takes about 350 bytes with its client: 18 MB.
DEBTS_MAX = 50_000

_log = logging.getLogger("deeds")


class ClientLimits:
    """The limits of every client in this process. Any thread may use it.

    Each limit is a leaky bucket: what a client does is a debt, which is forgiven with
    time. A client that owes nothing may do as much at once as in a whole period.
    """

    def __init__(self, limits: Iterable[RateLimit]) -> None:
        """Create the limits; what has none is not limited."""
        self._limits = {limit.name: limit for limit in limits}
        self._lock = Lock()
        # Debt of each name and client, and when it was that; those that grew last are
        # at the end. The oldest are forgotten.
        self._debts: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()
        # Guesses of each client in requests that are being served.
        self._held: Counter[str] = Counter()

    def count(self, name: str, client: str) -> None:
        """Count a request of a client; raise TooManyRequestsError."""
        limit = self._limits.get(name)
        if limit is None:
            return
        with self._lock:
            wait_s = self._wait_s(client, limit)
            if not wait_s:
                self._add(client, limit, 1)
        if wait_s:
            raise TooManyRequestsError(retry_after_s=wait_s)

    @contextmanager
    def judging(self, client: str, guesses: int) -> Iterator[None]:
        """Serve a request with so many possible guesses; count the wrong ones.

        Until a request ends, its guesses count as wrong, so that parallel requests
        cannot exceed the limit. A request without guesses is always served: nobody who
        shares the address can lock out the owner of strong secrets. Others raise
        TooManyFailuresError while the client owes too much.
        """
        limit = self._limits.get(FAILURES)
        if not guesses or limit is None:
            yield
            return
        with self._lock:
            wait_s = self._wait_s(client, limit)
            debt = self._debt(client, limit) + self._held[client]
            if not wait_s and debt + 1 > limit.count:
                # Only for as long as other requests are served.
                wait_s = 1
            if not wait_s:
                self._held[client] += guesses
        if wait_s:
            raise TooManyFailuresError(retry_after_s=wait_s)
        try:
            yield
        except DeedError as error:
            self.count_failures(client, error.wrong_secrets)
            raise
        finally:
            with self._lock:
                self._held[client] -= guesses
                if not self._held[client]:
                    del self._held[client]

    def count_failures(self, client: str, count: int) -> None:
        """Count wrong secrets of a client."""
        limit = self._limits.get(FAILURES)
        if not count or limit is None:
            return
        with self._lock:
            before_s = self._wait_s(client, limit)
            self._add(client, limit, count)
            wait_s = self._wait_s(client, limit)
        if wait_s and not before_s:
            _log.warning(
                "too many wrong secrets from %s: refused for %d s"
                " (if that is a proxy, DEEDS_TRUSTED_PROXIES must say so)",
                client,
                wait_s,
                extra={"event": "client_refused"},
            )

    def _wait_s(self, client: str, limit: RateLimit) -> int:
        """Return for how many seconds a client may do nothing more; 0 if it may."""
        excess = self._debt(client, limit) + 1 - limit.count
        return max(0, ceil(excess * limit.period_s / limit.count))

    def _debt(self, client: str, limit: RateLimit) -> float:
        debt, at_s = self._debts.get((limit.name, client), (0.0, 0.0))
        forgiven = (time.monotonic() - at_s) * limit.count / limit.period_s
        return max(0.0, debt - forgiven)

    def _add(self, client: str, limit: RateLimit, amount: int) -> None:
        debt = self._debt(client, limit) + amount
        self._debts[limit.name, client] = debt, time.monotonic()
        self._debts.move_to_end((limit.name, client))
        if len(self._debts) > DEBTS_MAX:
            self._debts.popitem(last=False)


def check_names(limits: Iterable[RateLimit], names: Sequence[str]) -> None:
    """Raise StartError for a limit that has none of the names."""
    if not {limit.name for limit in limits} <= set(names):
        raise StartError(
            "DEEDS_RATE_LIMITS names a limit that there is not: there are"
            f" {', '.join(names)}"
        )


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
    guesses = sum(not is_strong_secret(raw.secret) for raw in looked_up)
    return guesses + is_new_guess + is_key_guess
