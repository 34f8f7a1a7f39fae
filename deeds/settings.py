"""The settings: one table, read from the environment and validated."""

import os
import re
import socket
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar

from deeds.errors import StartError
from deeds.hashing import ORDINARY_COST, pepper_fingerprint
from deeds.model import ARRAY_LENGTH_MAX, BODY_BYTES_MAX, HashPolicy

_Value = TypeVar("_Value")

# Whether this is a checkout, or sources copied from one, not an installed package.
_SOURCES = Path(__file__).parents[1]
IS_CHECKOUT = (_SOURCES / "setup.cfg").is_file()

# How the command of this service is run.
COMMAND = "python -m app" if IS_CHECKOUT else "deeds"


def _find_default_ledger() -> Path:
    """Return the default ledger, a relative path if this user has no home directory."""
    if IS_CHECKOUT:
        directory = _SOURCES / "instance"
    elif os.geteuid() == 0:
        directory = Path("/var/lib/deeds")
    else:
        with suppress(RuntimeError):
            return Path.home() / ".local/share/deeds/deeds.sqlite3"
        directory = Path()
    return directory / "deeds.sqlite3"


# The ledger if DATABASE_URL is not set. Directories of other ledgers must exist; this
# one's is created.
DEFAULT_LEDGER = _find_default_ledger()

# Variables set by platforms that discard the disk at each start.
_DISCARDING = re.compile(
    "DYNO|K_SERVICE|CLOUD_RUN_JOB|RENDER|FLY_APP_NAME|RAILWAY_(?!(API_)?TOKEN$).+"
)

# RFC 9106 3.1: at least 8 KiB of memory for each of the p lanes. 4 GiB is far above any
# sensible cost.
_COST = re.compile(r"m=([0-9]{1,7}),t=([1-9][0-9]{0,3}),p=([1-9][0-9]{0,2})")
_MEMORY_KIB_PER_LANE_MIN = 8
_MEMORY_KIB_MAX = 4_194_304

# A shorter pepper could be guessed from its fingerprint.
_PEPPER_LENGTH_MIN = 32
# Separates the peppers in a list, so a pepper must not contain it.
_PEPPER_SEPARATOR = re.compile(r"[,\s]")

# Printable ASCII characters, which a header can carry.
_MINT_TOKEN = re.compile("[!-~]{16,255}")

# Texts that look like a URI, and the URIs that a page may link to.
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:\S", re.IGNORECASE)
_CONTACT_ADDRESS = re.compile(r"(?:https://|mailto:)\S+")
_CONTACT_LENGTH_MAX = 200

_RATE_LIMIT = re.compile(
    r"([a-z]+)=(?:(1000000|[1-9][0-9]{0,5})/(second|minute|hour|day)|off)"
)
_PERIODS_S = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}


@dataclass(frozen=True, slots=True)
class RateLimit:
    """At most `count` in `period_s` seconds from one client, on average."""

    name: str
    count: int
    period_s: int


# Name of the limit on wrong secrets. 100 guesses a minute are 53 million a year: on
# average it takes 500 years to guess a secret of 6 random digits and letters, upper and
# lower case. A person who mistypes secrets stays far below the limit.
FAILURES = "failures"
_RATE_LIMITS = (RateLimit(FAILURES, 100, 60),)


def _whole(smallest: int, largest: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        # Limit the digits first, because int() takes quadratic time.
        if (
            not re.fullmatch("[0-9]{1,10}", text)
            or not smallest <= int(text) <= largest
        ):
            raise ValueError(f"must be a whole number from {smallest} to {largest}")
        return int(text)

    return parse


def _one_of(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"must be one of {', '.join(words)}")
        return text

    return parse


def _parse_host(text: str) -> str:
    """Return an IP address; accept a name only if it resolves to loopback addresses.

    Shells and other tools set HOST to names that are not meant for the service.
    """
    try:
        return str(ip_address(text))
    except ValueError:
        pass
    try:
        answers = socket.getaddrinfo(text, None, type=socket.SOCK_STREAM)
    except (OSError, ValueError):
        answers = []
    # IPv4 first, which most clients try for such a name.
    addresses = sorted(str(answer[4][0]) for answer in answers)
    if addresses and all(ip_address(each).is_loopback for each in addresses):
        return addresses[0]
    raise ValueError(
        "must be an IP address, such as 0.0.0.0 or ::1, or a name of a loopback"
        " address; DEEDS_HOST goes before HOST"
    )


def _parse_cost(text: str) -> HashPolicy:
    if match := _COST.fullmatch(text):
        memory, passes, lanes = map(int, match.groups())
        if _MEMORY_KIB_PER_LANE_MIN * lanes <= memory <= _MEMORY_KIB_MAX:
            return HashPolicy(memory, passes, lanes)
    raise ValueError(
        f"must look like {ORDINARY_COST}, with t and p at least 1 and m from 8 times p"
        f" to {_MEMORY_KIB_MAX}"
    )


def _parse_pepper(text: str) -> bytes:
    pepper = text.strip()
    if len(pepper) < _PEPPER_LENGTH_MIN or _PEPPER_SEPARATOR.search(pepper):
        raise ValueError(
            f"must have at least {_PEPPER_LENGTH_MIN} characters, no comma and no"
            ' space; make one with: python3 -c "import secrets;'
            ' print(secrets.token_hex(32))"'
        )
    try:
        return pepper.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("is not UTF-8 text") from None


def _parse_peppers(text: str) -> tuple[bytes, ...]:
    return tuple(_parse_pepper(each) for each in _PEPPER_SEPARATOR.split(text) if each)


def _parse_mint_tokens(text: str) -> tuple[bytes, ...]:
    tokens = [each.strip() for each in re.split(r"[,\r\n]", text)]
    tokens = [each for each in tokens if each]
    if not tokens or not all(map(_MINT_TOKEN.fullmatch, tokens)):
        raise ValueError(
            "must hold tokens of 16 to 255 printable ASCII characters without spaces,"
            " separated by commas or, in a file, by lines"
        )
    return tuple(sha256(each.encode("ascii")).digest() for each in tokens)


def _parse_rate_limits(text: str) -> tuple[RateLimit, ...]:
    limits = {limit.name: limit for limit in _RATE_LIMITS}
    names = set()
    for part in text.split(";"):
        match = _RATE_LIMIT.fullmatch(part.strip())
        if match is None or match[1] in names:
            raise ValueError(
                "must look like mint=10/minute;failures=off, each name once with a"
                " limit of 1 to 1000000 in a second, minute, hour or day, or off"
            )
        name, count, period = match.groups()
        names.add(name)
        limits.pop(name, None)
        if count:
            limits[name] = RateLimit(name, int(count), _PERIODS_S[period])
    return tuple(limits.values())


def _parse_contact(text: str) -> str:
    contact = text.strip()
    is_wrong = _ADDRESS.match(contact) and not _CONTACT_ADDRESS.fullmatch(contact)
    if is_wrong or not contact.isprintable() or len(contact) > _CONTACT_LENGTH_MAX:
        raise ValueError(
            "must be an address that begins with https:// or mailto:, or a text of one"
            f" line that is no address, of at most {_CONTACT_LENGTH_MAX} characters"
        )
    return contact


def _refuse_storage(_text: str) -> None:
    raise ValueError("is no longer supported: each process counts by itself; unset it")


def _setting(
    variable: str,
    parse: Callable[[str], _Value],
    default: _Value,
    *,
    may_be_file: bool = False,
    fallback_variable: str | None = None,
) -> _Value:
    """Return a dataclass field for a setting.

    `fallback_variable` is read if `variable` is unset.
    """
    how = {
        "variable": variable,
        "parse": parse,
        "may_be_file": may_be_file,
        "fallback_variable": fallback_variable,
    }
    return field(default=default, metadata=how)


@dataclass(frozen=True, slots=True, repr=False)
class Settings:
    """Every setting with its variable, its parser and its default.

    Some values are secret, so the repr shows no values.
    """

    database_url: str = _setting(
        "DATABASE_URL", str.strip, f"sqlite:///{DEFAULT_LEDGER}", may_be_file=True
    )
    ordinary_cost: HashPolicy = _setting("DEEDS_ARGON2", _parse_cost, ORDINARY_COST)
    pepper: bytes | None = _setting(
        "DEEDS_PEPPER", _parse_pepper, None, may_be_file=True
    )
    peppers_old: tuple[bytes, ...] = _setting(
        "DEEDS_PEPPERS_OLD", _parse_peppers, (), may_be_file=True
    )
    # Digests suffice to compare tokens. Without a token, anybody may mint.
    mint_token_digests: tuple[bytes, ...] = _setting(
        "DEEDS_MINT_TOKEN", _parse_mint_tokens, (), may_be_file=True
    )
    array_length_max: int = _setting(
        "DEEDS_MAX_ARRAY", _whole(1, 8_000), ARRAY_LENGTH_MAX
    )
    body_bytes_max: int = _setting(
        "DEEDS_MAX_BODY_BYTES", _whole(1, 1024**3), BODY_BYTES_MAX
    )
    # By default only this machine can connect.
    host: str = _setting(
        "DEEDS_HOST", _parse_host, "127.0.0.1", fallback_variable="HOST"
    )
    port: int = _setting("PORT", _whole(0, 65_535), 8_000)
    # Longer than the idle timeout of common routers, of which Heroku's is the longest,
    # 90 s. If we closed first, a router could send a request on a closing connection.
    keepalive_s: int = _setting("DEEDS_KEEPALIVE", _whole(1, 3_600), 95)
    # 0: depends on the number of CPUs.
    processes_count: int = _setting("WEB_CONCURRENCY", _whole(1, 1024), 0)
    # 0: 8, or one for each process if there are more than 8.
    pool_size: int = _setting("DEEDS_POOL_SIZE", _whole(1, 1024), 0)
    checkpoint_file: str | None = _setting("DEEDS_CHECKPOINT_FILE", str, None)
    # More than 16 proxies would be a loop.
    trusted_proxies: int = _setting("DEEDS_TRUSTED_PROXIES", _whole(0, 16), 0)
    # A name without a limit here is unlimited. The parser adds the default limits that
    # the variable does not name.
    rate_limits: tuple[RateLimit, ...] = _setting(
        "DEEDS_RATE_LIMITS", _parse_rate_limits, _RATE_LIMITS
    )
    rate_limits_storage: None = _setting(
        "DEEDS_RATE_LIMITS_STORAGE", _refuse_storage, None
    )
    # `auto` is `console` on a terminal and `json` everywhere else.
    log_form: str = _setting("DEEDS_LOG", _one_of("auto", "json", "console"), "auto")
    log_level: str = _setting(
        "DEEDS_LOG_LEVEL", _one_of("debug", "info", "warning", "error"), "info"
    )
    # Shown on the pages as the contact for questions.
    contact: str = _setting("DEEDS_CONTACT", _parse_contact, "")
    # Off, because metrics reveal how much the service is used, and a proxy that
    # forwards every path would publish them.
    metrics: str = _setting("DEEDS_METRICS", _one_of("off", "on"), "off")

    @property
    def hash_policy(self) -> HashPolicy:
        """Return how the secrets of new items are hashed."""
        fingerprint = pepper_fingerprint(self.pepper)
        return self.ordinary_cost._replace(pepper_fingerprint=fingerprint)

    @property
    def peppers(self) -> dict[str, bytes | None]:
        """Return every pepper by its fingerprint, and None for items without one."""
        peppers = (None, self.pepper, *self.peppers_old)
        return {pepper_fingerprint(pepper): pepper for pepper in peppers}


def read_settings(environ: Mapping[str, str], names: Collection[str] = ()) -> Settings:
    """Return the settings; read the named ones, by default all, from the environment.

    The others have their defaults. Raises StartError for an invalid value.
    """
    names = names or [each.name for each in fields(Settings)]
    return Settings(**{name: read_setting(environ, name) for name in names})


def read_setting(environ: Mapping[str, str], name: str) -> Any:
    """Return one setting; an empty variable counts as not set.

    Raises StartError for an invalid value; its text names the variable, and does not
    quote the value.
    """
    [setting] = [each for each in fields(Settings) if each.name == name]
    variable, parse, may_be_file, fallback_variable = setting.metadata.values()
    text = environ.get(variable)
    if not text and fallback_variable is not None:
        variable, text = fallback_variable, environ.get(fallback_variable)
    try:
        if may_be_file and (path := environ.get(f"{variable}_FILE")):
            if text:
                raise StartError(
                    f"{variable} and {variable}_FILE are both set; set one"
                )
            return parse(Path(path).read_text(encoding="utf-8"))
        if text:
            return parse(text)
    except (OSError, UnicodeDecodeError):
        raise StartError(
            f"{variable}_FILE names a file that cannot be read as text"
        ) from None
    except ValueError as error:
        raise StartError(f"{variable} {error}") from None
    if name == "database_url":
        _check_default_ledger(environ)
    return setting.default


def _check_default_ledger(environ: Mapping[str, str]) -> None:
    """Raise StartError if the default ledger has no directory or would not last."""
    if not DEFAULT_LEDGER.is_absolute():
        raise StartError("DATABASE_URL is not set, and this user has no home directory")
    for variable in sorted(environ):
        if environ[variable] and _DISCARDING.fullmatch(variable):
            raise StartError(
                f"DATABASE_URL is not set, and this platform ({variable}) discards its"
                " disk: set it to a PostgreSQL database, or to an SQLite file on a disk"
                " that is kept, sqlite:////path"
            )
