"""Waits for something to become true, with a deadline."""

import time
from collections.abc import Callable

WAIT_SECONDS_MAX = 30.0
POLL_SECONDS = 0.02


def wait_until(
    condition: Callable[[], object], seconds_max: float = WAIT_SECONDS_MAX
) -> None:
    """Return once the condition holds; fail after `seconds_max`."""
    deadline = time.monotonic() + seconds_max
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not happen"
        time.sleep(POLL_SECONDS)
