"""Which cost of Argon2id takes a wanted time. Imports no library."""

import math
from collections.abc import Callable, Sequence

from deeds.domain.hashing import ORDINARY_COST
from deeds.domain.model import Argon2Cost
from deeds.hash_rate import HashRate

# OWASP Password Storage Cheat Sheet, Argon2id: its minimum, in settings that guard equally well.
OWASP_COSTS = (
    Argon2Cost(47_104, 1, 1),
    Argon2Cost(19_456, 2, 1),
    Argon2Cost(12_288, 3, 1),
    Argon2Cost(9_216, 4, 1),
    Argon2Cost(7_168, 5, 1),
)

# Another setting is preferred to the default from here on; below is noise.
_CLEARLY_FASTER = 1.05

# Memory is raised first, because it is what guessing hardware is short of; then passes. From 32 MiB
# on glibc takes the memory of each hash anew from the kernel, which made it several times slower
# where it was measured: for us, and for nobody who guesses.
_MEMORY_KIB_MAX = 31 * 1024
_MEMORY_KIB_STEP = 256

# What DEEDS_ARGON2 takes at most (deeds/settings.py).
_PASSES_MAX = 9_999

_TRIES_COUNT = 3
_CLOSE_ENOUGH = 0.04


def fastest_rate(rates: Sequence[HashRate]) -> HashRate:
    """Return the rate to build on: the best one, or the default cost's where none is better."""
    best = max(rates, key=lambda rate: rate.per_second)
    default = next((rate for rate in rates if rate.cost == ORDINARY_COST), best)
    return best if best.per_second > default.per_second * _CLEARLY_FASTER else default


def cost_for(
    wanted_ms: float, minimum: HashRate, measure_ms: Callable[[Argon2Cost], float]
) -> Argon2Cost:
    """Return the cost of which one hash takes about so long, and no less than the minimum.

    Args:
        wanted_ms: milliseconds of one hash on one core.
        minimum: a cost that is enough in any case, as measured on one core.
        measure_ms: tells how long one hash of a cost takes.
    """
    cost, measured_ms = minimum.cost, minimum.milliseconds
    for _ in range(_TRIES_COUNT):
        if abs(wanted_ms / measured_ms - 1) < _CLOSE_ENOUGH:
            break
        changed = _scaled(cost, wanted_ms / measured_ms, minimum.cost)
        if changed == cost:
            break
        cost, measured_ms = changed, measure_ms(changed)
    return cost


def _scaled(cost: Argon2Cost, factor: float, minimum: Argon2Cost) -> Argon2Cost:
    """Return a cost of `factor` times the work: KiB times passes."""
    least_kib = minimum.memory_cost_kib
    # One that is above already needs room up to its next pass.
    most_kib = _MEMORY_KIB_MAX if least_kib <= _MEMORY_KIB_MAX else 2 * least_kib
    work = cost.memory_cost_kib * cost.time_cost * factor
    passes = min(max(minimum.time_cost, math.ceil(work / most_kib)), _PASSES_MAX)
    memory_kib = round(work / passes / _MEMORY_KIB_STEP) * _MEMORY_KIB_STEP
    memory_kib = max(least_kib, min(memory_kib, most_kib))
    return Argon2Cost(memory_kib, passes, minimum.parallelism)
