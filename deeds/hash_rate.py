"""How many Argon2id hashes a second a build makes. Of libraries only argon2-cffi.

A build is measured in a process of its own, which runs this module: so one that is not in use can
be measured too, and one that this CPU cannot run ends nobody else.
"""

import os
import secrets
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from argon2.low_level import Type, hash_secret_raw

from deeds.argon2_build import Argon2Build
from deeds.domain.model import Argon2Cost

_SOURCES = Path(__file__).parent.parent


class BuildDiedError(Exception):
    """The process that used the build ended early: most likely the build is for another CPU."""


@dataclass(frozen=True, slots=True)
class HashRate:
    """What was measured of one cost."""

    cost: Argon2Cost
    threads_count: int
    per_second: float

    @property
    def milliseconds(self) -> float:
        """Return how long one hash takes while all the threads hash."""
        return 1000 * self.threads_count / self.per_second


def measure_build(
    build: Argon2Build, cost: Argon2Cost, threads_count: int, seconds: float
) -> HashRate:
    """Measure a build in a process of its own, for about so many seconds.

    Raises:
        BuildDiedError: it cannot be used.
    """
    numbers = (cost.memory_cost_kib, cost.time_cost, cost.parallelism, threads_count, seconds)
    ran = subprocess.run(  # noqa: S603 - numbers only
        [sys.executable, "-m", "deeds.hash_rate", *map(str, numbers)],
        cwd=_SOURCES,
        env=os.environ | build.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode != 0:
        raise BuildDiedError
    return HashRate(cost, threads_count, float(ran.stdout))


def hash_rate(cost: Argon2Cost, threads_count: int, seconds: float) -> float:
    """Return the hashes a second of the build that this process uses.

    Each thread makes at least one, and is over when its last one is: so many short stretches tell
    the same as a long one.
    """
    with ThreadPoolExecutor(threads_count) as pool:
        running = [pool.submit(_thread_rate, cost, seconds) for _ in range(threads_count)]
        return sum(each.result() for each in running)


def _thread_rate(cost: Argon2Cost, seconds: float) -> float:
    salt = secrets.token_bytes(16)
    # Not counted: the first one may have to ask the kernel for its memory.
    _hash(cost, salt)
    count = 0
    started_at_s = now_s = time.monotonic()
    while count == 0 or now_s < started_at_s + seconds:
        _hash(cost, salt)
        count += 1
        now_s = time.monotonic()
    return count / (now_s - started_at_s)


def _hash(cost: Argon2Cost, salt: bytes) -> None:
    hash_secret_raw(
        b"correct horse battery",
        salt,
        time_cost=cost.time_cost,
        memory_cost=cost.memory_cost_kib,
        parallelism=cost.parallelism,
        hash_len=32,
        type=Type.ID,
    )


if __name__ == "__main__":
    *integers, length_s = sys.argv[1:]
    m, t, p, width = map(int, integers)
    sys.stdout.write(str(hash_rate(Argon2Cost(m, t, p), width, float(length_s))))
