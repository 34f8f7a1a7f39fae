"""An application that needs longer for an answer than a client may need to send a request."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from tests.support.impatient_worker import CLIENT_SECONDS_MAX

# The worker looks for what has had its time at least once a second.
LAST_SECONDS = CLIENT_SECONDS_MAX + 2.0


def lasting_app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer what has the query `last` after a while, all else at once; always with its body."""
    if environ["QUERY_STRING"] == "last":
        time.sleep(LAST_SECONDS)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [environ["wsgi.input"].read()]
