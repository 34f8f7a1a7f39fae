"""What is answered is on the disk, and a commit that the disk refuses is undone or in
doubt.

A library that stands before the C library counts what the service asks of the disk, or
refuses it. What a crash would leave is a copy of the files, in which SQLite reads the
log again.
"""

import json
import os
import subprocess
import sys

import pytest

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
from pathlib import Path
import storage.last_operations
from app import create_app
from tests.support.requests import check, mint, swap

# The checkpoint is flushed too, but once a second at most.
storage.last_operations._LOOK_EVERY_S = 3600
app = create_app()
client = app.test_client()
names = "fsyncs_count", "writes_passing", "refuses_sync"
library = CDLL(os.environ["LD_PRELOAD"])
fsyncs_count, writes_passing, refuses_sync = (
    c_int.in_dll(library, name) for name in names
)
path = Path(os.environ["DATABASE_URL"].removeprefix("sqlite:///"))

def fsyncs_of(action):
    before = fsyncs_count.value
    action()
    return fsyncs_count.value - before

item_id = mint(client, *(f"+1.{n}" for n in range(9)))
# The first commit after a start may also write the head of the log.
swap(client, [f"+1.{item_id}.8"], [f"+1.{item_id}.moved 8"])

def swap_4(status):
    for n in range(4):
        answer = swap(client, [f"+1.{item_id}.{n}"], [f"+1.{item_id}.{status} {n}"])
        assert answer.status_code == status

counts = {
    "4 swaps": fsyncs_of(lambda: swap_4(200)),
    "a mint of 20": fsyncs_of(lambda: mint(client, *(f"+1.{n}" for n in range(20)))),
    "4 refused swaps": fsyncs_of(lambda: swap_4(400)),
    "a check": fsyncs_of(lambda: check(client, f"+1.{item_id}.4")),
    "an item": fsyncs_of(lambda: client.get(f"/v1/item/{item_id}")),
}

def after_a_crash(number, outputs):
    copy = path.with_name(f"copy-{number}.sqlite3")
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
    os.environ["DATABASE_URL"] = f"sqlite:///{copy}"
    other = create_app()
    states = check(other.test_client(), *outputs)
    other.extensions["deeds"].close()
    return states

def swap_with(number, passing, refuses):
    item = mint(client, "+5.a")
    outputs = [f"+5.{item}.a", f"+5.{item}.b"]
    writes_passing.value, refuses_sync.value = passing, refuses
    answer = swap(client, *([each] for each in outputs))
    writes_passing.value, refuses_sync.value = -1, False
    states = check(client, *outputs), after_a_crash(number, outputs)
    again = swap(client, *([each] for each in outputs))
    return answer.get_json().get("code"), *states, again.status_code

writes = [swap_with(0, 0, False)]
while writes[-1][0] is not None:
    writes.append(swap_with(len(writes), len(writes), False))
sync = swap_with(len(writes), -1, True)
print(json.dumps({"fsyncs": counts, "writes": writes, "sync": sync}))
app.extensions["deeds"].close()
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
    command = [sys.executable, "-c", PROGRAM]
    ran = subprocess.run(
        command, env=os.environ | settings, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_each_commit_is_one_fsync_and_nothing_else_is(tried):
    assert tried["fsyncs"] == {
        "4 swaps": 4,
        "a mint of 20": 1,
        "4 refused swaps": 0,
        "a check": 0,
        "an item": 0,
    }


def test_a_refused_write_undoes_a_commit_and_a_failed_fsync_may_not(tried):
    # The first, second … write to the log was refused, until there was no further one.
    *refused, done = tried["writes"]
    undone = ["unspent", "unknown"]
    assert refused == [["ledger_unavailable", undone, undone, 200]] * len(refused)
    assert len(refused) > 3
    assert done == [None, ["spent", "unspent"], ["spent", "unspent"], 400]
    code, _, after_a_crash, _ = tried["sync"]
    assert (code, after_a_crash) == ("ledger_in_doubt", ["spent", "unspent"])
