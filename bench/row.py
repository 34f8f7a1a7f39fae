"""A row of the table: what was found in each round, and the target."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from bench.measurement import Measurement


@dataclass(frozen=True, slots=True)
class Row:
    """One figure, usually a ratio to the reference that was measured in the same round."""

    name: str
    unit: str
    target: float
    # Whether the target is a lower bound; else it is an upper one.
    at_least: bool
    values: tuple[float, ...]
    refused_count: int = 0
    note: str = ""

    @property
    def median(self) -> float:
        """Return the figure that counts."""
        return median(self.values)

    @property
    def passed(self) -> bool:
        """Tell whether the target was reached. With anything refused it was not."""
        if self.refused_count:
            return False
        return self.median >= self.target if self.at_least else self.median <= self.target

    @property
    def target_text(self) -> str:
        """Return the target as the table shows it."""
        sign = "≥" if self.at_least else "≤"
        return f"{sign} {self.target:g} {self.unit}".rstrip()

    def as_json(self) -> dict[str, Any]:
        """Return all of it, with what follows from it."""
        return asdict(self) | {"median": self.median, "passed": self.passed}


def refused_count(*groups: Iterable[Measurement]) -> int:
    """Return how many requests of the measurements were refused or lost."""
    return sum(each.refused_count for group in groups for each in group)


def ratios(upper: Iterable[float], lower: Iterable[float]) -> tuple[float, ...]:
    """Return upper ÷ lower of each round."""
    return tuple(a / b for a, b in zip(upper, lower, strict=True))


def middle(values: Iterable[float]) -> float:
    """Return the median."""
    return median(list(values))
