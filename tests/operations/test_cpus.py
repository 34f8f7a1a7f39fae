"""Counting CPUs under affinity and cgroup quotas, with the files of a machine made up."""

import os

import pytest

from deeds.server.cpus import default_processes_count, usable_cpus_count

# The groups that a process is in, the files of their quotas, and how many of 16 CPUs it may use.
CASES = {
    "no cgroups": (None, {}, 16),
    "no quota": ("0::/\n", {"cpu.max": "max 100000\n"}, 16),
    "rounded up": ("0::/\n", {"cpu.max": "150000 100000\n"}, 2),
    "at least one": ("0::/\n", {"cpu.max": "0 100000\n"}, 1),
    "more than there are": ("0::/\n", {"cpu.max": "9900000 100000\n"}, 16),
    "nonsense": ("0::/\n", {"cpu.max": "nonsense\n"}, 16),
    "no period": ("0::/\n", {"cpu.max": "100000 0\n"}, 16),
    "the tightest group above": (
        "1:memory:/\n0::/pods/ours/service\n",
        {
            "pods/ours/service/cpu.max": "max 100000\n",
            "pods/ours/cpu.max": "300000 100000\n",
            "pods/cpu.max": "800000 100000\n",
        },
        3,
    ),
    "a path of the host": ("0::/docker/0123abcd\n", {"cpu.max": "100000 100000\n"}, 1),
    "version 1": (
        "4:cpu,cpuacct:/docker/0123abcd\n",
        {"cpu/cpu.cfs_quota_us": "250000\n", "cpu/cpu.cfs_period_us": "100000\n"},
        3,
    ),
    "version 1, no quota": (
        "4:cpu,cpuacct:/\n",
        {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"},
        16,
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


def test_without_affinity_all_cpus_count_and_two_processes_serve_at_least(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 4)

    assert usable_cpus_count(tmp_path / "cgroup", tmp_path / "mount") == 4

    monkeypatch.setattr("deeds.server.cpus.usable_cpus_count", lambda: 1)
    assert default_processes_count() == 2
