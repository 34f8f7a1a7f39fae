"""Which cost is recommended, on machines whose speed is made up."""

from collections.abc import Callable

import pytest

from deeds.calibration import OWASP_COSTS, cost_for, fastest_rate
from deeds.domain.hashing import ORDINARY_COST
from deeds.domain.model import Argon2Cost
from deeds.hash_rate import HashRate
from deeds.settings import read_settings

# Milliseconds of a hash by its work, KiB times passes, in thousands of it.
MACHINES: dict[str, Callable[[Argon2Cost], float]] = {
    "even": lambda cost: work(cost) / 3,
    "slow to begin": lambda cost: 2 + work(cost) / 5,
    "short of cache": lambda cost: work(cost) / (4 if cost.memory_cost_kib < 16_000 else 2),
    "slow": lambda cost: work(cost) * 3,
}


def work(cost: Argon2Cost) -> float:
    return cost.memory_cost_kib * cost.time_cost / 1000


def rate(cost: Argon2Cost, milliseconds: float) -> HashRate:
    return HashRate(cost, 1, 1000 / milliseconds)


@pytest.mark.parametrize("minimum", OWASP_COSTS, ids=str)
@pytest.mark.parametrize("wanted_ms", [1, 10, 50, 333, 2000])
@pytest.mark.parametrize("machine", MACHINES)
def test_the_cost_takes_the_wanted_time_and_is_never_less_than_the_minimum(
    machine: str, wanted_ms: float, minimum: Argon2Cost
) -> None:
    measure_ms = MACHINES[machine]

    cost = cost_for(wanted_ms, rate(minimum, measure_ms(minimum)), measure_ms)

    assert cost.memory_cost_kib >= minimum.memory_cost_kib
    assert cost.time_cost >= minimum.time_cost
    assert cost.parallelism == 1
    assert measure_ms(cost) == pytest.approx(max(wanted_ms, measure_ms(minimum)), rel=0.25)
    assert read_settings({"DEEDS_ARGON2": str(cost)}, "unused").ordinary_cost == cost


def test_a_machine_of_any_speed_gets_a_cost_that_the_settings_accept() -> None:
    at_once = rate(ORDINARY_COST, 1e-6)

    cost = cost_for(2000, at_once, lambda _cost: 1e-6)

    assert read_settings({"DEEDS_ARGON2": str(cost)}, "unused").ordinary_cost == cost


def test_memory_is_raised_before_passes_but_stays_below_32_mib() -> None:
    measure_ms = MACHINES["even"]
    minimum = rate(ORDINARY_COST, measure_ms(ORDINARY_COST))

    costs = [cost_for(minimum.milliseconds * n, minimum, measure_ms) for n in (2, 4, 8, 64)]

    assert [cost.time_cost for cost in costs] == [5, 5, 10, 73]
    assert [cost.memory_cost_kib for cost in costs] == [14_336, 28_672, 28_672, 31_488]


@pytest.mark.parametrize(
    ("others_per_second", "default_per_second", "is_default"),
    [(100, 100, True), (104, 100, True), (106, 100, False), (50, 100, True)],
)
def test_the_default_stays_unless_another_setting_is_clearly_faster(
    others_per_second: float, default_per_second: float, is_default: bool
) -> None:
    others = [HashRate(cost, 2, others_per_second) for cost in OWASP_COSTS if cost != ORDINARY_COST]

    best = fastest_rate([*others, HashRate(ORDINARY_COST, 2, default_per_second)])

    assert (best.cost == ORDINARY_COST) is is_default
