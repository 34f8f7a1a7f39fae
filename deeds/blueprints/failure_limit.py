"""Refuses guesses of clients that present too many secrets that are none, before any hashing.

What fails is what the service says it does not know: `unknown_input`, `unknown_item`, the state
`unknown`; what it gives away without units being shown: `used_secret` of an ordinary secret; and an
Idempotency-Key sent again with another request. Each secret of a request counts. A spent secret
does not: whoever names it knew it.

A request that holds no guess is always served, so that nobody is locked out of what strong secrets
own by others who share the address, or by a page that makes a browser ask.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from flask import request

from deeds.blueprints.client_address import client_of
from deeds.blueprints.failure_counts import FailureCounts, Held
from deeds.domain.errors import DeedError
from deeds.domain.hashing import current_client
from deeds.domain.idempotency import is_random_key
from deeds.domain.model import NewOutput, RawOutput
from deeds.domain.strong_secret import is_strong_secret

_log = logging.getLogger("deeds")


@dataclass(slots=True)
class Judgement:
    """How many secrets of a request turned out to be none."""

    failed_secrets_count: int = 0


class FailureLimit:
    """The limit of failed secrets. A request without guesses costs it nothing but an address."""

    def __init__(self, counts: FailureCounts | None, trusted_proxies: int) -> None:
        """Take where failures are counted, or None for no limit, and the proxies before us."""
        self._counts = counts
        self._trusted_proxies = trusted_proxies

    @contextmanager
    def judging(self, guesses_count: int) -> Iterator[Judgement]:
        """Let the current request be served, and count what fails meanwhile.

        `guesses_count` secrets of it count as failed until the block ends.

        Raises:
            TooManyFailuresError: it holds guesses, and its client is over the limit.
        """
        client = client_of(request, self._trusted_proxies)
        current_client.set(client)
        judgement = Judgement()
        held = self._counts.hold(client, guesses_count) if self._counts else Held(client, 0)
        try:
            yield judgement
        except DeedError as error:
            judgement.failed_secrets_count = error.failed_secrets_count
            raise
        finally:
            wait_s = (
                self._counts.release(held, judgement.failed_secrets_count) if self._counts else 0
            )
            if wait_s:
                self._log_refused(client, wait_s)

    def _log_refused(self, client: str, wait_s: float) -> None:
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


def count_guesses(
    looked_up: Sequence[RawOutput] = (),
    new: Sequence[RawOutput | NewOutput] = (),
    idempotency_key: str | None = None,
) -> int:
    """Return how many of a request's secrets and key may be guesses at those of others.

    Strong secrets and random keys are none. Of the secrets that are looked up each counts; of new
    ones all together count once, because an answer tells of one at most.
    """
    is_new_guess = not all(is_strong_secret(output.secret) for output in new)
    is_key_guess = idempotency_key is not None and not is_random_key(idempotency_key)
    return sum(not is_strong_secret(raw.secret) for raw in looked_up) + is_new_guess + is_key_guess
