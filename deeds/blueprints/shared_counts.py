"""The Redis that processes count in together, where DEEDS_RATE_LIMITS_STORAGE names one."""

from importlib.util import find_spec
from typing import Any

from limits.storage import RedisStorage

from deeds.domain.errors import StartError

# A Redis in the same network answers within a millisecond. One that does not must hold up nobody.
STORAGE_OPTIONS: dict[str, Any] = {"socket_timeout": 0.25, "socket_connect_timeout": 0.25}


def open_shared_counts(url: str | None) -> RedisStorage | None:
    """Return the storage behind the URL, without asking it anything, or None without a URL.

    Raises:
        StartError: the client library is missing, or the URL is none. It may hold a password, so it
            is not repeated.
    """
    if url is None:
        return None
    if find_spec("redis") is None:
        raise StartError(
            "DEEDS_RATE_LIMITS_STORAGE needs the package redis: "
            "pip install --requirement requirements/redis.txt"
        )
    try:
        return RedisStorage(url, wrap_exceptions=True, **STORAGE_OPTIONS)
    except Exception:  # noqa: BLE001 - whatever the libraries make of an odd URL
        raise StartError("DEEDS_RATE_LIMITS_STORAGE is not the URL of a Redis") from None
