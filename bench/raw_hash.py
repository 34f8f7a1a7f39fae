"""The reference of the hash: how many Argon2id evaluations a second argon2-cffi alone does."""

import re
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from argon2.low_level import Type, hash_secret_raw

from deeds.cpus import usable_cpus_count

_PARAMETERS = re.compile(r"m=(\d+),t=(\d+),p=(\d+)")


def ordinary_cost(info: dict[str, Any]) -> tuple[int, int, int]:
    """Return m in KiB, t and p of ordinary secrets, from the answer of GET /v1/info."""
    (policy,) = [each for each in info["hashPolicies"] if each["name"] == "ordinary"]
    match = _PARAMETERS.fullmatch(policy["parameters"])
    assert match is not None
    memory_cost_kib, time_cost, parallelism = map(int, match.groups())
    return memory_cost_kib, time_cost, parallelism


def raw_rate(cost: tuple[int, int, int], seconds: float) -> float:
    """Return the hashes a second on as many threads as there are cores to use."""
    width = usable_cpus_count()
    started_at_s = time.monotonic()
    deadline_s = started_at_s + seconds
    with ThreadPoolExecutor(width) as pool:
        counts = list(pool.map(lambda _: _hash_until(deadline_s, cost), range(width)))
    return sum(counts) / (time.monotonic() - started_at_s)


def _hash_until(deadline_s: float, cost: tuple[int, int, int]) -> int:
    memory_cost_kib, time_cost, parallelism = cost
    salt = secrets.token_bytes(16)
    count = 0
    while time.monotonic() < deadline_s:
        hash_secret_raw(
            b"correct horse battery",
            salt,
            time_cost=time_cost,
            memory_cost=memory_cost_kib,
            parallelism=parallelism,
            hash_len=32,
            type=Type.ID,
        )
        count += 1
    return count
