"""The settings: read once from the environment, checked, and passed on. Must import no library.

`PORT` belongs to the server and is read in gunicorn.conf.py.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from deeds.domain.errors import StartError
from deeds.domain.hashing import ORDINARY_COST
from deeds.domain.model import ARRAY_LENGTH_MAX, BODY_BYTES_MAX, Argon2Cost
from deeds.log_style import LogStyle, read_log_style
from deeds.metrics_place import MetricsPlace, read_metrics_place
from deeds.rate_limits import RateLimits, parse_rate_limits
from deeds.server.cpus import PROCESSES_COUNT_MAX, default_processes_count

_COST = re.compile(r"m=([0-9]{1,7}),t=([0-9]{1,4}),p=([0-9]{1,3})")

# RFC 9106 3.1: at least 8 KiB of memory a lane. 4 GiB is more than any login should cost.
_MEMORY_KIB_PER_LANE_MIN = 8
_MEMORY_KIB_MAX = 4_194_304

# Parts peppers in a list, so that no pepper may hold it.
_PEPPER_SEPARATOR = re.compile(r"[,\s]")

# A shorter pepper could be guessed from its fingerprint.
PEPPER_LENGTH_MIN = 32

# A replay looks up inputs and outputs in one statement, and SQLite binds 32,766 values in one.
_ARRAY_LENGTH_LIMIT = 16_000
_BODY_BYTES_LIMIT = 1_073_741_824

# A request that passed more proxies than this went in a circle.
_TRUSTED_PROXIES_LIMIT = 16

_SHARED_COUNTS = re.compile(r"(?:rediss?|redis\+unix)://\S+")


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that an operator can set."""

    database_url: str = field(repr=False)
    ordinary_cost: Argon2Cost = ORDINARY_COST
    pepper: bytes | None = field(default=None, repr=False)
    peppers_old: tuple[bytes, ...] = field(default=(), repr=False)
    array_length_max: int = ARRAY_LENGTH_MAX
    body_bytes_max: int = BODY_BYTES_MAX
    processes_count: int = field(default_factory=default_processes_count)
    mark_file: str | None = None
    trusted_proxies: int = 0
    rate_limits: RateLimits = field(default_factory=RateLimits)
    rate_limits_storage: str | None = field(default=None, repr=False)
    log: LogStyle = field(default_factory=LogStyle)
    metrics: MetricsPlace = field(default_factory=MetricsPlace)


def read_settings(environ: Mapping[str, str], default_database_url: str) -> Settings:
    """Return the settings that the environment holds; an empty variable counts as not set.

    Raises:
        StartError: a value is odd. The message names the variable.
    """
    return Settings(
        database_url=environ.get("DATABASE_URL") or default_database_url,
        ordinary_cost=_read_cost(environ),
        pepper=_read_pepper(environ),
        peppers_old=_read_peppers_old(environ),
        array_length_max=_read_count(
            environ, "DEEDS_MAX_ARRAY", ARRAY_LENGTH_MAX, _ARRAY_LENGTH_LIMIT
        ),
        body_bytes_max=_read_count(
            environ, "DEEDS_MAX_BODY_BYTES", BODY_BYTES_MAX, _BODY_BYTES_LIMIT
        ),
        processes_count=_read_count(
            environ, "WEB_CONCURRENCY", default_processes_count(), PROCESSES_COUNT_MAX
        ),
        mark_file=environ.get("DEEDS_MARK_FILE") or None,
        trusted_proxies=_read_count(
            environ, "DEEDS_TRUSTED_PROXIES", 0, _TRUSTED_PROXIES_LIMIT, smallest=0
        ),
        rate_limits=_read_rate_limits(environ),
        rate_limits_storage=_read_rate_limits_storage(environ),
        log=read_log_style(environ),
        metrics=read_metrics_place(environ),
    )


def _read_count(
    environ: Mapping[str, str], name: str, default: int, largest: int, *, smallest: int = 1
) -> int:
    text = environ.get(name) or str(default)
    # The length first: int() of a very long text costs the square of it.
    if not text.isascii() or not text.isdigit() or len(text) > len(str(largest)):
        raise StartError(f"{name} must be a whole number from {smallest} to {largest}")
    if not smallest <= int(text) <= largest:
        raise StartError(f"{name} must be a whole number from {smallest} to {largest}")
    return int(text)


def _read_rate_limits(environ: Mapping[str, str]) -> RateLimits:
    text = environ.get("DEEDS_RATE_LIMITS")
    try:
        return parse_rate_limits(text) if text else RateLimits()
    except ValueError as error:
        raise StartError(f"DEEDS_RATE_LIMITS: {error}") from None


def _read_rate_limits_storage(environ: Mapping[str, str]) -> str | None:
    url = environ.get("DEEDS_RATE_LIMITS_STORAGE") or None
    if url is not None and not _SHARED_COUNTS.fullmatch(url):
        # It may hold a password, so it is not repeated.
        raise StartError("DEEDS_RATE_LIMITS_STORAGE must look like redis://host:6379/0")
    return url


def _read_cost(environ: Mapping[str, str]) -> Argon2Cost:
    text = environ.get("DEEDS_ARGON2") or str(ORDINARY_COST)
    match = _COST.fullmatch(text)
    if match is None:
        raise StartError(f"DEEDS_ARGON2 must look like {ORDINARY_COST}")
    cost = Argon2Cost(*(int(number) for number in match.groups()))
    if cost.time_cost < 1 or cost.parallelism < 1:
        raise StartError("DEEDS_ARGON2: t and p must be at least 1")
    if not _MEMORY_KIB_PER_LANE_MIN * cost.parallelism <= cost.memory_cost_kib <= _MEMORY_KIB_MAX:
        raise StartError(f"DEEDS_ARGON2: m must be from 8 times p to {_MEMORY_KIB_MAX}")
    return cost


def _read_pepper(environ: Mapping[str, str]) -> bytes | None:
    text = _read_text(environ, "DEEDS_PEPPER")
    return _check_pepper("DEEDS_PEPPER", text.strip()) if text is not None else None


def _read_peppers_old(environ: Mapping[str, str]) -> tuple[bytes, ...]:
    text = _read_text(environ, "DEEDS_PEPPERS_OLD") or ""
    peppers = _PEPPER_SEPARATOR.split(text)
    return tuple(_check_pepper("DEEDS_PEPPERS_OLD", each) for each in peppers if each)


def _read_text(environ: Mapping[str, str], name: str) -> str | None:
    """Return the value of `name`, or what the file holds that `name`_FILE names."""
    path = environ.get(f"{name}_FILE")
    if not path:
        return environ.get(name) or None
    if environ.get(name):
        raise StartError(f"{name} and {name}_FILE are both set; set one")
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise StartError(f"{name}_FILE names a file that cannot be read as text") from None


def _check_pepper(name: str, text: str) -> bytes:
    if len(text) < PEPPER_LENGTH_MIN or _PEPPER_SEPARATOR.search(text):
        raise StartError(
            f"{name} must have at least {PEPPER_LENGTH_MIN} characters, no comma and no space; "
            'make one with: python3 -c "import secrets; print(secrets.token_hex(32))"'
        )
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise StartError(f"{name} is not UTF-8 text") from None
