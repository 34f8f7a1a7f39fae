"""Limits for each client: on wrong secrets, and on requests to a route.

These count as wrong: an unknown input, item or output, the Idempotency-Key of another
request, and a new secret that was used before, unless it is strong (raw_output.py). A
spent input does not count, because its sender knew the secret. Parts may count more.
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

# Debts kept in memory. Each takes about 350 bytes, including the client's name: 18 MB.
DEBTS_MAX = 50_000

_log = logging.getLogger("deeds")


class ClientLimits:
    """The limits of all clients, in this process. Thread-safe.

    Each limit is a leaky bucket: each request or wrong secret adds to a client's debt,
    which decreases with time. A client without debt may use a period's whole count at
    once.
    """

    def __init__(self, limits: Iterable[RateLimit]) -> None:
        """Create the limits; names without one are unlimited."""
        self._limits = {limit.name: limit for limit in limits}
        self._lock = Lock()
        # Debt for each limit name and client, with the time of its last increase. In
        # the order of these times; the oldest entries are dropped.
        self._debts: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()
        # Guesses of each client in requests not yet finished.
        self._held: Counter[str] = Counter()

    def count(self, name: str, client: str) -> None:
        """Count a request; raise TooManyRequestsError if it exceeds the limit."""
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
    def limit_guesses(self, client: str, guesses: int) -> Iterator[None]:
        """Limit and count the wrong secrets of the request that the block serves.

        `guesses` is the number of secrets in the request that may be guesses. Until the
        block ends, all of them count as wrong, so parallel requests cannot exceed the
        limit. Afterwards only the `wrong_secrets` of a DeedError raised in the block
        count.

        Raises TooManyFailuresError if the client is over the limit. A request without
        guesses is always served, so that other clients at an address cannot lock out
        owners of strong secrets.
        """
        limit = self._limits.get(FAILURES)
        if not guesses or limit is None:
            yield
            return
        with self._lock:
            wait_s = self._wait_s(client, limit)
            debt = self._debt(client, limit) + self._held[client]
            if not wait_s and debt + 1 > limit.count:
                # The client is over the limit only until its other requests end.
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
        """Return the seconds until a client is below the limit, 0 if it is now."""
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
    """Raise StartError for a limit whose name is not in `names`."""
    if not {limit.name for limit in limits} <= set(names):
        raise StartError(
            f"DEEDS_RATE_LIMITS names an unknown limit: there are {', '.join(names)}"
        )


def count_guesses(
    looked_up: Sequence[RawOutput] = (),
    new: Sequence[RawOutput | NewOutput] = (),
    idempotency_key: str | None = None,
) -> int:
    """Return how many secrets of a request may be guesses, its key included.

    Strong secrets and random keys never are. All new secrets together count once,
    because a response reveals at most one of them.
    """
    is_new_guess = not all(is_strong_secret(output.secret) for output in new)
    is_key_guess = idempotency_key is not None and not is_random_key(idempotency_key)
    guesses = sum(not is_strong_secret(raw.secret) for raw in looked_up)
    return guesses + is_new_guess + is_key_guess
