"""Waits for an offer to end."""

from collections.abc import Callable
from math import inf
from threading import Event
from time import monotonic

from deeds_client.errors import CallError, ProblemError
from deeds_client.records import ENDED, Operation, now

_WAIT_S = 2.0  # Before it is asked for again at first, and at most.
_WAIT_S_MAX = 15.0
_BACK_OFF = 1.25
_GRACE_S = 30.0  # For so long it is asked for behind its end: clocks differ.


def wait(
    finish: Callable[[Operation], Operation],
    operation: Operation,
    timeout_s: float | None,
    stop: Event | None,
) -> Operation:
    """Call `finish` until the operation has ended: see `Wallet.wait_paid`."""
    stop = stop or Event()
    gives_up_at = monotonic() + (inf if timeout_s is None else timeout_s)
    wait_s = _WAIT_S
    while True:
        lost, told_s = None, 0.0
        try:
            operation = finish(operation)
        except CallError as error:
            if isinstance(error, ProblemError) and error.is_final:
                raise
            lost, told_s = error, error.retry_after_s
        left_s = gives_up_at - monotonic()
        open_s = inf
        if operation.expires_at:
            open_s = (operation.expires_at - now()).total_seconds()
        is_over = operation.state in ENDED or open_s < -_GRACE_S
        if is_over or left_s <= 0 or stop.is_set():
            break
        # An end is noticed when it comes.
        until_end_s = max(open_s + 1, _WAIT_S)
        stop.wait(min(max(wait_s, told_s), left_s, until_end_s))
        wait_s = min(wait_s * _BACK_OFF, _WAIT_S_MAX)
    if lost:
        raise lost
    return operation
