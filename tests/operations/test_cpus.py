"""Counting CPUs under affinity and cgroup quotas, with the files of a machine made up."""

import os
from pathlib import Path

import pytest

from deeds.server.cpus import usable_cpus_count


@pytest.fixture(autouse=True)
def _sixteen_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(16)), raising=False)


class Machine:
    """The two places that the count is read from."""

    def __init__(self, directory: Path) -> None:
        self.own_cgroups = directory / "cgroup"
        self.mount = directory / "mount"

    def write(self, name: str, text: str) -> None:
        path = self.mount / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def count(self) -> int:
        return usable_cpus_count(self.own_cgroups, self.mount)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_without_cgroups_the_affinity_counts(machine: Machine) -> None:
    assert machine.count() == 16


def test_without_affinity_all_cpus_count(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 4)

    assert machine.count() == 4


@pytest.mark.parametrize(
    ("cpu_max", "count"),
    [
        ("max 100000\n", 16),
        ("200000 100000\n", 2),
        ("150000 100000\n", 2),
        ("10000 100000\n", 1),
        ("9900000 100000\n", 16),
        ("", 16),
        ("nonsense\n", 16),
        ("100000 0\n", 16),
    ],
)
def test_a_quota_of_version_2_counts_rounded_up(machine: Machine, cpu_max: str, count: int) -> None:
    machine.own_cgroups.write_text("0::/\n")
    machine.write("cpu.max", cpu_max)

    assert machine.count() == count


def test_the_tightest_group_above_counts(machine: Machine) -> None:
    machine.own_cgroups.write_text("0::/pods/ours/service\n")
    machine.write("pods/ours/service/cpu.max", "max 100000\n")
    machine.write("pods/ours/cpu.max", "300000 100000\n")
    machine.write("pods/cpu.max", "800000 100000\n")

    assert machine.count() == 3


@pytest.mark.parametrize(("quota_us", "count"), [("-1", 16), ("250000", 3)])
def test_a_quota_of_version_1_counts(machine: Machine, quota_us: str, count: int) -> None:
    machine.own_cgroups.write_text("5:memory:/ours\n4:cpu,cpuacct:/ours\n0::/ours\n")
    machine.write("cpu,cpuacct/ours/cpu.cfs_quota_us", quota_us + "\n")
    machine.write("cpu,cpuacct/ours/cpu.cfs_period_us", "100000\n")

    assert machine.count() == count


def test_a_path_of_the_host_falls_back_to_the_top(machine: Machine) -> None:
    """In a container without a namespace of its own the path is one of the host's."""
    machine.own_cgroups.write_text("4:cpu,cpuacct:/docker/0123abcd\n")
    machine.write("cpu,cpuacct/cpu.cfs_quota_us", "100000\n")
    machine.write("cpu,cpuacct/cpu.cfs_period_us", "100000\n")

    assert machine.count() == 1


def test_this_machine_has_at_least_one() -> None:
    assert usable_cpus_count() >= 1
