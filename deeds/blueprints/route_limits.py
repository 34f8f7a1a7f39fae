"""Limits on how often one client may ask, where an operator has set any (Flask-Limiter)."""

import math
import time
from typing import Any, cast

from flask import Flask, Response, request
from flask_limiter import Limiter, RateLimitExceeded

from deeds.blueprints.bounded_counts import SCHEME
from deeds.blueprints.client_address import client_of
from deeds.blueprints.problem_table import PROBLEMS
from deeds.blueprints.problems import problem_answer
from deeds.blueprints.shared_counts import STORAGE_OPTIONS
from deeds.rate_limits import RateLimit

# The endpoints of each name; those of one name count together.
_ENDPOINTS = {
    "mint": ("v1.mint",),
    "swap": ("v1.swap",),
    "check": ("v1.check",),
    "item": ("v1.item", "item_page.read_item_page"),
    "qr": ("qr.make_qr",),
}


def register_route_limits(
    app: Flask, limits: dict[str, RateLimit], *, storage_url: str | None, trusted_proxies: int
) -> None:
    """Limit the routes, each by the name of its endpoint, to so many requests of a client.

    Without limits nothing is registered: Flask-Limiter then costs no request anything.
    """
    if not limits:
        return
    limiter = Limiter(
        lambda: client_of(request, trusted_proxies),
        app=app,
        key_prefix="deeds",
        strategy="fixed-window",
        storage_uri=storage_url or f"{SCHEME}://",
        storage_options=STORAGE_OPTIONS if storage_url else {},
        # Where the storage does not answer each process counts alone.
        in_memory_fallback_enabled=storage_url is not None,
        headers_enabled=False,
    )
    for name, limit in limits.items():
        # A browser asks with OPTIONS before each request of a page; that is no request of its own.
        limited = limiter.shared_limit(
            str(limit), scope=name, exempt_when=lambda: request.method == "OPTIONS"
        )
        for endpoint in _ENDPOINTS[name]:
            app.view_functions[endpoint] = cast(Any, limited(app.view_functions[endpoint]))

    def answer(_error: RateLimitExceeded) -> Response:
        breached = limiter.current_limit
        wait_s = breached.window.reset_time - time.time() if breached else 0.0
        problem = PROBLEMS["too_many_requests"]
        headers = {"Retry-After": str(max(1, math.ceil(wait_s)))}
        return problem_answer(problem, problem.meaning, headers=headers)

    app.register_error_handler(RateLimitExceeded, answer)
