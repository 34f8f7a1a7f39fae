"""The reference of the hash: how many Argon2id evaluations a second argon2-cffi alone does."""

import re
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from deeds.domain.hashing import SALT_BYTES, argon2id_digest
from deeds.domain.model import Argon2Cost
from deeds.server.cpus import usable_cpus_count

_PARAMETERS = re.compile(r"m=(\d+),t=(\d+),p=(\d+)")


def ordinary_cost(info: dict[str, Any]) -> Argon2Cost:
    """Return the cost of ordinary secrets, from the answer of GET /v1/info."""
    (policy,) = [each for each in info["hashPolicies"] if each["name"] == "ordinary"]
    match = _PARAMETERS.fullmatch(policy["parameters"])
    assert match is not None
    return Argon2Cost(*map(int, match.groups()))


def raw_rate(cost: Argon2Cost, seconds: float) -> float:
    """Return the hashes a second of as many threads as there are cores to use."""
    threads_count = usable_cpus_count()
    with ThreadPoolExecutor(threads_count) as pool:
        return sum(pool.map(_thread_rate, [cost] * threads_count, [seconds] * threads_count))


def _thread_rate(cost: Argon2Cost, seconds: float) -> float:
    salt, count = secrets.token_bytes(SALT_BYTES), 0
    started_s = now_s = time.monotonic()
    while now_s < started_s + seconds:
        argon2id_digest("correct horse battery", salt, cost, None)
        count += 1
        now_s = time.monotonic()
    return count / (now_s - started_s)
