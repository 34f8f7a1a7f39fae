"""The reference of the hash: how many Argon2id evaluations a second argon2-cffi alone does."""

import re
from typing import Any

from deeds.argon2_build import Argon2Build
from deeds.domain.model import Argon2Cost
from deeds.hash_rate import measure_build
from deeds.server.cpus import usable_cpus_count

_PARAMETERS = re.compile(r"m=(\d+),t=(\d+),p=(\d+)")


def ordinary_cost(info: dict[str, Any]) -> Argon2Cost:
    """Return the cost of ordinary secrets, from the answer of GET /v1/info."""
    (policy,) = [each for each in info["hashPolicies"] if each["name"] == "ordinary"]
    match = _PARAMETERS.fullmatch(policy["parameters"])
    assert match is not None
    return Argon2Cost(*map(int, match.groups()))


def raw_rate(build: Argon2Build, cost: Argon2Cost, seconds: float) -> float:
    """Return the hashes a second of the build, on as many threads as there are cores to use."""
    return measure_build(build, cost, usable_cpus_count(), seconds).per_second
