"""Refuses clients that present too many secrets that are none, before anything is hashed for them.

What fails is what the service says it does not know: `unknown_input`, `unknown_item`, the state
`unknown`, and an Idempotency-Key sent again with other secrets. Each secret of a request counts.
A spent secret does not: whoever names it knew it.
"""

import logging
import math
from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from threading import Lock
from time import monotonic

from flask import Response, request

from deeds.blueprints.client_address import client_of
from deeds.blueprints.failure_counts import FailureCounts
from deeds.errors import DeedError, TooManyFailuresError

View = Callable[[], Response]

# Refused clients that are remembered, about 200 bytes each: 5 MB.
CLIENTS_MAX = 25_000

_log = logging.getLogger("deeds")


class FailureLimit:
    """The limit of failed secrets. A good request costs one look into a dictionary."""

    def __init__(self, counts: FailureCounts | None, trusted_proxies: int) -> None:
        """Take where failures are counted, or None for no limit, and the proxies before us."""
        self._counts = counts
        self._trusted_proxies = trusted_proxies
        self._lock = Lock()
        # When each client that is over its limit may come again, on the monotonic clock.
        self._refused_until_s: OrderedDict[str, float] = OrderedDict()

    def guard(self, view: View) -> View:
        """Return the view with clients refused that are over the limit, and its errors counted."""
        if self._counts is None:
            return view

        @wraps(view)
        def guarded() -> Response:
            self._refuse()
            try:
                return view()
            except DeedError as error:
                self.count(error.failed_secrets_count)
                raise

        return guarded

    def count(self, failed_secrets_count: int) -> None:
        """Count failed secrets of the current request."""
        if self._counts is None or not failed_secrets_count:
            return
        client = client_of(request, self._trusted_proxies)
        wait_s = self._counts.add(client, failed_secrets_count)
        if wait_s:
            self._remember(client, monotonic() + wait_s)
            _log.warning(
                "too many failed secrets from %s: refused for %.0f s",
                client,
                wait_s,
                extra={"event": "client_refused"},
            )
            if not self._trusted_proxies and "X-Forwarded-For" in request.headers:
                _log.warning(
                    "is that a proxy? Then DEEDS_TRUSTED_PROXIES has to say so",
                    extra={"event": "proxy_unknown"},
                )

    def _refuse(self) -> None:
        if not self._refused_until_s:
            return
        client = client_of(request, self._trusted_proxies)
        wait_s = self._refused_until_s.get(client, 0.0) - monotonic()
        if wait_s > 0:
            raise TooManyFailuresError(retry_after_s=math.ceil(wait_s))

    def _remember(self, client: str, until_s: float) -> None:
        with self._lock:
            self._refused_until_s.pop(client, None)
            self._refused_until_s[client] = until_s
            if len(self._refused_until_s) > CLIENTS_MAX:
                self._refused_until_s.popitem(last=False)
