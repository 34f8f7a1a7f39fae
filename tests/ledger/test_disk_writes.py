"""What is answered is on the disk, and a commit that the disk refuses is undone or in
doubt.

A library that stands before the C library counts what the service asks of the disk, or
refuses it. What a crash would leave is a copy of the files, in which SQLite reads the
log again.
"""

import json
import subprocess

import pytest

from tests.support.commanding import run_python
from tests.support.needs import require

# Counts each fsync. Of SQLite's log it refuses writes once so many have passed, unless
# that is negative, or what makes writes durable.
LIBRARY_C = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int fsyncs_count, writes_passing = -1, refuses_sync;

static int is_log(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path);
    return length > 4 && memcmp(path + length - 4, "-wal", 4) == 0;
}

static ssize_t written(const char *name, int file, const void *data, size_t count,
                       off_t at) {
    ssize_t (*write_at)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, name);
    int decides = writes_passing >= 0 && is_log(file);
    if (decides && writes_passing > 0) {
        writes_passing--;
    } else if (decides) {
        if (count > 1) return write_at(file, data, count / 2, at);
        errno = ENOSPC;
        return -1;
    }
    return write_at(file, data, count, at);
}

ssize_t pwrite(int file, const void *data, size_t count, off_t at) {
    return written("pwrite", file, data, count, at);
}

ssize_t pwrite64(int file, const void *data, size_t count, off_t at) {
    return written("pwrite64", file, data, count, at);
}

static int synced(const char *name, int file) {
    int (*sync)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    fsyncs_count++;
    if (refuses_sync && is_log(file)) {
        errno = EIO;
        return -1;
    }
    return sync(file);
}

int fsync(int file) { return synced("fsync", file); }
int fdatasync(int file) { return synced("fdatasync", file); }
"""

PROGRAM = """
import json, os, shutil
from ctypes import CDLL, c_int
from itertools import pairwise
from app import create_app
from deeds.settings import read_settings
from tests.support.api import Api

names = "fsyncs_count", "writes_passing", "refuses_sync"
library = CDLL(os.environ["LD_PRELOAD"])
fsyncs_count, writes_passing, refuses_sync = (
    c_int.in_dll(library, name) for name in names
)

def open_core(url):
    settings = read_settings(os.environ | {"DATABASE_URL": url})
    return Api.of_app(create_app(settings, parts=()))

def swap_while(api, passing, refuses):
    item = api.mint("+5.a")
    outputs = [f"+5.{item}.a", f"+5.{item}.b"]
    writes_passing.value, refuses_sync.value = passing, refuses
    answer = api.swap(*outputs)
    writes_passing.value, refuses_sync.value = -1, False
    states = api.check(*outputs)
    copy = f"{url}-{item}"
    for suffix in ("", "-wal"):
        paths = f"{url}{suffix}", f"{copy}{suffix}"
        shutil.copy(*(each.removeprefix("sqlite:///") for each in paths))
    left = open_core(copy).check(*outputs)
    again = api.swap(*outputs)
    return answer.json().get("code"), states, left, again.status_code

url = os.environ["DATABASE_URL"]
api = open_core(url)
item = api.mint(*(f"+1.{n}" for n in range(9)))
# The first commit after a start may also write the head of the log.
api.swap(f"+1.{item}.8", f"+1.{item}.moved 8")
counts = [fsyncs_count.value]
for status in (200, 400):
    for n in range(4):
        answer = api.swap(f"+1.{item}.{n}", f"+1.{item}.{status} {n}")
        assert answer.status_code == status
    counts.append(fsyncs_count.value)
api.mint(*(f"+1.{n}" for n in range(20)))
counts.append(fsyncs_count.value)
api.check(f"+1.{item}.4")
counts.append(fsyncs_count.value)
api.get(f"/v1/item/{item}")
counts.append(fsyncs_count.value)

writes = [swap_while(api, 0, False)]
while writes[-1][0] is not None:
    writes.append(swap_while(api, len(writes), False))
sync = swap_while(api, -1, True)
fsyncs = [after - before for before, after in pairwise(counts)]
print(json.dumps({"fsyncs": fsyncs, "writes": writes, "sync": sync}))
"""


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    """What the program has found."""
    require("a C compiler with Python's headers")
    directory = tmp_path_factory.mktemp("disk")
    source, library = directory / "disk.c", directory / "disk.so"
    source.write_text(LIBRARY_C)
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True
    )
    settings = {
        "DATABASE_URL": f"sqlite:///{directory / 'deeds.sqlite3'}",
        "DEEDS_ARGON2": "m=8,t=1,p=1",
        "DEEDS_LOG_LEVEL": "error",
        "LD_PRELOAD": str(library),
    }
    ran = run_python("-c", PROGRAM, **settings)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.slow
def test_each_commit_is_one_fsync_and_nothing_else_is(tried):
    # Of four swaps, four that are refused, a mint of 20, a check, and an item.
    assert tried["fsyncs"] == [4, 0, 1, 0, 0]


def test_a_commit_of_which_a_write_is_refused_is_undone(tried):
    # The first, second … write to the log was refused, until there was no further one.
    *refused, done = tried["writes"]

    undone = ["unspent", "unknown"]
    assert refused == [["ledger_unavailable", undone, undone, 200]] * len(refused)
    assert len(refused) > 3
    assert done == [None, ["spent", "unspent"], ["spent", "unspent"], 400]


def test_a_commit_whose_fsync_fails_is_in_doubt_and_may_stay(tried):
    code, _, after_a_crash, _ = tried["sync"]

    assert (code, after_a_crash) == ("ledger_in_doubt", ["spent", "unspent"])
