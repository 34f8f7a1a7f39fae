"""Torments a service under load, in rounds; after each, nothing may be lost or doubled."""

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence

from tests.faults.load import Load, assert_nothing_lost, ledger_view

# Does its worst to the service, once or several times; returns what it counted, kills at least.
Torment = Callable[[Load, random.Random], Counter[str]]


def soak(
    find_ports: Sequence[Callable[[], int]],
    database_url: str,
    torment: Torment,
    *,
    seed: int,
    seconds: float,
) -> Counter[str]:
    """Return the counts of all rounds; at least one is run, however short the time.

    `find_ports` are as for `Load`; the services are started, or starting. A round leaves them up.
    """
    rng = random.Random(seed)
    deadline = time.monotonic() + seconds
    counts: Counter[str] = Counter()
    while not counts or time.monotonic() < deadline:
        with ledger_view(database_url) as ledger:
            operations_before = len(ledger.operations())
        load = Load(find_ports, rng.getrandbits(32))
        with load.running():
            counts += torment(load, rng)
        counts += assert_nothing_lost(
            load, find_ports[0], database_url, operations_before=operations_before
        )
    assert counts["acknowledged"] > counts["kills"]
    return counts
