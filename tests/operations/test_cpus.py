"""Counting CPUs under affinity and cgroup quotas, with the files of a machine made up."""

import os

import pytest

from deeds.server.cpus import default_processes_count, usable_cpus_count


@pytest.fixture
def count(tmp_path, monkeypatch):
    """A function that counts the CPUs of a machine of 16, given our cgroups and other files."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(16)), raising=False)

    def count_them(own_cgroups=None, **files):
        if own_cgroups is not None:
            (tmp_path / "cgroup").write_text(own_cgroups)
        for name, text in files.items():
            path = tmp_path / "mount" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return usable_cpus_count(tmp_path / "cgroup", tmp_path / "mount")

    return count_them


def test_without_cgroups_the_affinity_counts_and_without_that_all_cpus(count, monkeypatch):
    assert count() == 16

    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 4)

    assert count() == 4


@pytest.mark.parametrize(
    ("cpu_max", "expected"),
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
def test_a_quota_of_version_2_counts_rounded_up(count, cpu_max, expected):
    assert count("0::/\n", **{"cpu.max": cpu_max}) == expected


def test_the_tightest_group_above_counts(count):
    files = {
        "pods/ours/service/cpu.max": "max 100000\n",
        "pods/ours/cpu.max": "300000 100000\n",
        "pods/cpu.max": "800000 100000\n",
    }

    assert count("0::/pods/ours/service\n", **files) == 3


@pytest.mark.parametrize(
    ("own_cgroups", "group", "quota_us", "expected"),
    [
        ("5:memory:/ours\n4:cpu,cpuacct:/ours\n0::/ours\n", "/ours", "-1", 16),
        ("5:memory:/ours\n4:cpu,cpuacct:/ours\n0::/ours\n", "/ours", "250000", 3),
        # In a container without a namespace of its own the path is one of the host's.
        ("4:cpu,cpuacct:/docker/0123abcd\n", "", "100000", 1),
    ],
)
def test_a_quota_of_version_1_counts(count, own_cgroups, group, quota_us, expected):
    files = {
        f"cpu,cpuacct{group}/cpu.cfs_quota_us": f"{quota_us}\n",
        f"cpu,cpuacct{group}/cpu.cfs_period_us": "100000\n",
    }

    assert count(own_cgroups, **files) == expected


def test_there_are_at_least_two_processes_so_that_one_can_be_replaced(monkeypatch):
    assert usable_cpus_count() >= 1

    monkeypatch.setattr("deeds.server.cpus.usable_cpus_count", lambda: 1)

    assert default_processes_count() == 2
