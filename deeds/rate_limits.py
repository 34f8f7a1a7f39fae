"""How often one client may do what, as an operator writes it. Must import no library.

DEEDS_RATE_LIMITS = limit *( ";" limit )
limit             = name "=" ( count "/" unit | "off" )
"""

import re
from dataclasses import dataclass, field

# What can be limited: secrets that fail, and requests to a route.
FAILURES = "failures"
ROUTES = ("mint", "swap", "check", "item", "qr")
NAMES = (FAILURES, *ROUTES)

UNITS = ("second", "minute", "hour", "day")
COUNT_MAX = 1_000_000

FORM = "mint=10/minute;swap=600/minute;failures=100/minute"

_LIMIT = re.compile(r"([a-z]+)=(?:([0-9]{1,7})/([a-z]+)|off)")


@dataclass(frozen=True, slots=True)
class RateLimit:
    """So many in one unit of time."""

    count: int
    unit: str

    def __str__(self) -> str:
        """Return the form that DEEDS_RATE_LIMITS takes."""
        return f"{self.count}/{self.unit}"


# 100 guesses a minute are 53 million a year: a secret of 6 random characters of 62 would still
# stand for 500 years. A person who mistypes is never near it.
FAILURES_LIMIT = RateLimit(100, "minute")


@dataclass(frozen=True, slots=True)
class RateLimits:
    """The limits of one client address; a route that is not named has none."""

    failures: RateLimit | None = FAILURES_LIMIT
    routes: dict[str, RateLimit] = field(default_factory=dict)


def parse_rate_limits(text: str) -> RateLimits:
    """Return the limits that the text states; what it does not name stays as it is by default.

    Raises:
        ValueError: the text is odd; the message says how.
    """
    limits: dict[str, RateLimit | None] = {}
    for part in text.split(";"):
        name, limit = _parse(part.strip())
        if name in limits:
            raise ValueError(f"{name} is named twice")
        limits[name] = limit
    return RateLimits(
        failures=limits.pop(FAILURES, FAILURES_LIMIT),
        routes={name: limit for name, limit in limits.items() if limit is not None},
    )


def _parse(text: str) -> tuple[str, RateLimit | None]:
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise ValueError(f"must look like {FORM}")
    name, count, unit = match.groups()
    if name not in NAMES:
        raise ValueError(f"only {', '.join(NAMES)} can be limited")
    if count is None:
        return name, None
    if unit not in UNITS:
        raise ValueError(f"the unit is one of {', '.join(UNITS)}")
    if not 1 <= int(count) <= COUNT_MAX:
        raise ValueError(f"a count is from 1 to {COUNT_MAX}, or the limit is off")
    return name, RateLimit(int(count), unit)
