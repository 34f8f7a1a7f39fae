"""Counting CPUs under affinity and cgroup quotas, with the files of a machine made up."""

import os

import pytest

from deeds.server.cpus import default_processes_count, usable_cpus_count

V1 = "5:memory:/ours\n4:cpu,cpuacct:/ours\n0::/ours\n"


def quota_v1(group, quota_us):
    """Return the files of a quota of version 1."""
    directory = f"cpu,cpuacct{group}"
    return {
        f"{directory}/cpu.cfs_quota_us": f"{quota_us}\n",
        f"{directory}/cpu.cfs_period_us": "100000\n",
    }


# The groups that a process is in, the files of their quotas, and how many of 16 CPUs it may use.
CASES = {
    "no cgroups": (None, {}, 16),
    "no quota": ("0::/\n", {"cpu.max": "max 100000\n"}, 16),
    "two": ("0::/\n", {"cpu.max": "200000 100000\n"}, 2),
    "rounded up": ("0::/\n", {"cpu.max": "150000 100000\n"}, 2),
    "at least one": ("0::/\n", {"cpu.max": "10000 100000\n"}, 1),
    "more than there are": ("0::/\n", {"cpu.max": "9900000 100000\n"}, 16),
    "empty": ("0::/\n", {"cpu.max": ""}, 16),
    "nonsense": ("0::/\n", {"cpu.max": "nonsense\n"}, 16),
    "no period": ("0::/\n", {"cpu.max": "100000 0\n"}, 16),
    "the tightest group above": (
        "0::/pods/ours/service\n",
        {
            "pods/ours/service/cpu.max": "max 100000\n",
            "pods/ours/cpu.max": "300000 100000\n",
            "pods/cpu.max": "800000 100000\n",
        },
        3,
    ),
    "version 1, no quota": (V1, quota_v1("/ours", -1), 16),
    "version 1": (V1, quota_v1("/ours", 250_000), 3),
    # In a container without a namespace of its own the path is one of the host's.
    "version 1, a path of the host": (
        "4:cpu,cpuacct:/docker/0123abcd\n",
        quota_v1("", 100_000),
        1,
    ),
}


@pytest.mark.parametrize(("own_cgroups", "files", "expected"), CASES.values(), ids=CASES)
def test_quotas_of_all_groups_count_rounded_up(tmp_path, monkeypatch, own_cgroups, files, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(16)), raising=False)
    if own_cgroups is not None:
        (tmp_path / "cgroup").write_text(own_cgroups)
    for name, text in files.items():
        path = tmp_path / "mount" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    assert usable_cpus_count(tmp_path / "cgroup", tmp_path / "mount") == expected


def test_without_affinity_all_cpus_count(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 4)

    assert usable_cpus_count(tmp_path / "cgroup", tmp_path / "mount") == 4


def test_there_are_at_least_two_processes_so_that_one_can_be_replaced(monkeypatch):
    assert usable_cpus_count() >= 1

    monkeypatch.setattr("deeds.server.cpus.usable_cpus_count", lambda: 1)

    assert default_processes_count() == 2
