"""The settings: read once from the environment, checked, and passed on."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from deeds.domain.errors import StartError
from deeds.domain.hashing import ORDINARY_COST
from deeds.domain.model import ARRAY_LENGTH_MAX, BODY_BYTES_MAX, Argon2Cost

_PORT_DEFAULT = 8000
_PORT_MAX = 65_535
_PROCESSES_COUNT_LIMIT = 1024

# A replay looks up inputs and outputs in one statement, and SQLite binds 32,766 values in one.
_ARRAY_LENGTH_LIMIT = 16_000
_BODY_BYTES_LIMIT = 1_073_741_824

# A request that passed more proxies than this went in a circle.
_TRUSTED_PROXIES_LIMIT = 16

_COST = re.compile(r"m=([0-9]{1,7}),t=([0-9]{1,4}),p=([0-9]{1,3})")

# RFC 9106 3.1: at least 8 KiB of memory for each of the p lanes. 4 GiB is more than any login
# should cost.
_MEMORY_KIB_PER_LANE_MIN = 8
_MEMORY_KIB_MAX = 4_194_304

# Separates peppers in a list, so that no pepper may hold it.
_PEPPER_SEPARATOR = re.compile(r"[,\s]")

# A shorter pepper could be guessed from its fingerprint.
PEPPER_LENGTH_MIN = 32

# What can be limited: failed secrets, and requests to a route.
FAILURES = "failures"
ROUTES = ("mint", "swap", "check", "item", "qr")
_RATE_LIMIT = re.compile(
    rf"({'|'.join([FAILURES, *ROUTES])})="
    r"(?:((?:1000000|[1-9][0-9]{0,5})/(?:second|minute|hour|day))|off)"
)
_SHARED_COUNTS = re.compile(r"(?:rediss?|redis\+unix)://\S+")

_LOG_FORMS = ("auto", "json", "console")
_LOG_LEVELS = ("debug", "info", "warning", "error")

_ADDRESS = re.compile(r"(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+):([0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class RateLimits:
    """The limits of one client address, as `10/minute`; a route that is not named has none."""

    # 100 guesses a minute are 53 million a year: a secret of 6 random characters of 62 would still
    # stand for 500 years. A person who mistypes is never near it.
    failures: str | None = "100/minute"
    routes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LogStyle:
    """How lines of the log look, and from which level on they are written.

    `auto` is `console` on a terminal and `json` everywhere else.
    """

    form: str = "auto"
    level: str = "info"


@dataclass(frozen=True, slots=True)
class MetricsPlace:
    """Where metrics are served: nowhere, at /metrics beside everything else, or on an `address`.

    Nowhere unless asked for: they tell how much a mint is used and how often in vain, and a proxy
    that passes everything on would show that to everybody.
    """

    is_on: bool = False
    address: str | None = None

    @property
    def port(self) -> int | None:
        """Return the port of the address, or None where there is no address."""
        return None if self.address is None else int(self.address.rpartition(":")[2])


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """What gunicorn has to know before it loads the application."""

    address: str
    processes_count: int
    log: LogStyle
    metrics: MetricsPlace


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that the application has to know."""

    database_url: str = field(repr=False)
    ordinary_cost: Argon2Cost = ORDINARY_COST
    pepper: bytes | None = field(default=None, repr=False)
    peppers_old: tuple[bytes, ...] = field(default=(), repr=False)
    array_length_max: int = ARRAY_LENGTH_MAX
    body_bytes_max: int = BODY_BYTES_MAX
    # 0: as many as the CPUs ask for.
    processes_count: int = 0
    mark_file: str | None = None
    trusted_proxies: int = 0
    rate_limits: RateLimits = field(default_factory=RateLimits)
    rate_limits_storage: str | None = field(default=None, repr=False)
    log: LogStyle = field(default_factory=LogStyle)
    metrics: MetricsPlace = field(default_factory=MetricsPlace)


def read_settings(environ: Mapping[str, str], default_database_url: str) -> Settings:
    """Return the settings of the application; an empty variable counts as not set.

    Raises:
        StartError: a value is invalid. The message names the variable.
    """
    limits = environ.get("DEEDS_RATE_LIMITS")
    return Settings(
        database_url=environ.get("DATABASE_URL") or default_database_url,
        ordinary_cost=_read_cost(environ),
        pepper=_read_pepper(environ),
        peppers_old=_read_peppers_old(environ),
        array_length_max=_read_count(
            environ, "DEEDS_MAX_ARRAY", ARRAY_LENGTH_MAX, 1, _ARRAY_LENGTH_LIMIT
        ),
        body_bytes_max=_read_count(
            environ, "DEEDS_MAX_BODY_BYTES", BODY_BYTES_MAX, 1, _BODY_BYTES_LIMIT
        ),
        processes_count=_read_count(environ, "WEB_CONCURRENCY", 0, 1, _PROCESSES_COUNT_LIMIT),
        mark_file=environ.get("DEEDS_MARK_FILE") or None,
        trusted_proxies=_read_count(environ, "DEEDS_TRUSTED_PROXIES", 0, 0, _TRUSTED_PROXIES_LIMIT),
        rate_limits=parse_rate_limits(limits) if limits else RateLimits(),
        rate_limits_storage=_read_rate_limits_storage(environ),
        log=read_log_style(environ),
        metrics=_read_metrics_place(environ),
    )


def read_server_settings(environ: Mapping[str, str]) -> ServerSettings:
    """Return the settings of the server.

    Raises:
        StartError: a value is invalid. The message names the variable.
    """
    port = _read_count(environ, "PORT", _PORT_DEFAULT, 0, _PORT_MAX)
    # A platform that sets PORT routes to the machine's address. Without PORT this is somebody's
    # own machine, and nothing but that machine should reach it.
    host = "0.0.0.0" if environ.get("PORT") else "127.0.0.1"  # noqa: S104
    metrics = _read_metrics_place(environ)
    if metrics.port == port:
        raise StartError("DEEDS_METRICS must not have the port of the service")
    return ServerSettings(
        address=f"{host}:{port}",
        processes_count=_read_count(environ, "WEB_CONCURRENCY", 0, 1, _PROCESSES_COUNT_LIMIT),
        log=read_log_style(environ),
        metrics=metrics,
    )


def read_log_style(environ: Mapping[str, str]) -> LogStyle:
    """Return how to log; the log needs to know before anything else does."""
    return LogStyle(
        form=_read_word(environ, "DEEDS_LOG", _LOG_FORMS, LogStyle().form),
        level=_read_word(environ, "DEEDS_LOG_LEVEL", _LOG_LEVELS, LogStyle().level),
    )


def parse_rate_limits(text: str) -> RateLimits:
    """Return the limits that the text states; what it does not name keeps its default.

    Raises:
        StartError: the text is invalid.
    """
    limits: dict[str, str | None] = {}
    for part in text.split(";"):
        match = _RATE_LIMIT.fullmatch(part.strip())
        if match is None or match[1] in limits:
            raise StartError(
                "DEEDS_RATE_LIMITS must look like mint=10/minute;failures=off, where each of "
                f"{FAILURES}, {', '.join(ROUTES)} may have a limit of 1 to 1000000 in a second, "
                "minute, hour or day"
            )
        limits[match[1]] = match[2]
    return RateLimits(
        failures=limits.pop(FAILURES, RateLimits().failures),
        routes={name: limit for name, limit in limits.items() if limit is not None},
    )


def _read_rate_limits_storage(environ: Mapping[str, str]) -> str | None:
    url = environ.get("DEEDS_RATE_LIMITS_STORAGE") or None
    if url is not None and not _SHARED_COUNTS.fullmatch(url):
        # It may hold a password, so it is not repeated.
        raise StartError("DEEDS_RATE_LIMITS_STORAGE must look like redis://host:6379/0")
    return url


def _read_metrics_place(environ: Mapping[str, str]) -> MetricsPlace:
    text = environ.get("DEEDS_METRICS") or "off"
    if text in {"off", "on"}:
        return MetricsPlace(is_on=text == "on")
    match = _ADDRESS.fullmatch(text)
    if match is None or not 1 <= int(match[1]) <= _PORT_MAX:
        raise StartError("DEEDS_METRICS must be off, on, or an address such as 127.0.0.1:9464")
    return MetricsPlace(is_on=True, address=text)


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


def _read_word(environ: Mapping[str, str], name: str, words: tuple[str, ...], default: str) -> str:
    word = environ.get(name) or default
    if word not in words:
        raise StartError(f"{name} must be one of {', '.join(words)}")
    return word


def _read_count(
    environ: Mapping[str, str], name: str, default: int, smallest: int, largest: int
) -> int:
    text = environ.get(name)
    if not text:
        return default
    # The length first: int() of a very long text costs the square of it.
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(largest))
    if not is_number or not smallest <= int(text) <= largest:
        raise StartError(f"{name} must be a whole number from {smallest} to {largest}")
    return int(text)
