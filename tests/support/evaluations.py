"""Counts the Argon2id evaluations of the service, which still makes every one of them."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from deeds.domain.hashing import STRONG_COST


class Evaluations:
    """Stands before argon2-cffi's function and counts its calls by the KiB of memory asked for."""

    def __init__(self, evaluate: Callable[..., bytes]) -> None:
        """Take the function that evaluates."""
        self._evaluate = evaluate
        self.counts: Counter[int] = Counter()
        # Called before each evaluation.
        self.before: Callable[[], None] = lambda: None

    def __call__(self, *args: Any, **kwargs: Any) -> bytes:
        """Count and evaluate."""
        self.counts[kwargs["memory_cost"]] += 1
        self.before()
        return self._evaluate(*args, **kwargs)

    def take(self) -> int:
        """Return how many ordinary secrets were evaluated since the last time."""
        count = sum(n for kib, n in self.counts.items() if kib != STRONG_COST.memory_cost_kib)
        self.counts.clear()
        return count
