"""Runs a Python program that writes to a disk of ours: one that counts, or refuses, what is asked.

A library that stands before the C library takes its calls.
"""

import os
import subprocess
import sys

from tests.support.needs import require

# Adds a byte to a file for each call.
_COUNTER_C = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static int counted(const char *name, int file) {
    int (*sync)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    int counts = open(getenv("FSYNCS_FILE"), O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (counts < 0 || write(counts, ".", 1) != 1) abort();
    close(counts);
    return sync(file);
}

int fsync(int file) { return counted("fsync", file); }
int fdatasync(int file) { return counted("fdatasync", file); }
"""

# DISK_FILE holds what is refused: "w", and a byte for each write that still passes, or "s" for what
# makes writes durable.
_FAILING_C = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_log(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path);
    return length > 4 && memcmp(path + length - 4, "-wal", 4) == 0;
}

static int refuses(char what) {
    char orders[256];
    int file = open(getenv("DISK_FILE"), O_RDWR);
    ssize_t length = file < 0 ? 0 : read(file, orders, sizeof orders);
    int found = length > 0 && orders[0] == what;
    int passes = found && length > 1;
    if (passes && ftruncate(file, length - 1) != 0) abort();
    if (file >= 0) close(file);
    return found && !passes;
}

static ssize_t written(const char *name, int file, const void *data, size_t count, off_t at) {
    ssize_t (*write_at)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, name);
    if (is_log(file) && refuses('w')) {
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
    if (is_log(file) && refuses('s')) {
        errno = EIO;
        return -1;
    }
    return sync(file);
}

int fsync(int file) { return synced("fsync", file); }
int fdatasync(int file) { return synced("fdatasync", file); }
"""


def run_counting_fsyncs(program, directory, **settings):
    """Run a Python program in which `fsyncs_count()` tells the calls so far; return its output."""
    counts = directory / "fsyncs"
    counts.touch()
    prologue = f"def fsyncs_count():\n    return len(open({str(counts)!r}).read())\n"
    environment = settings | {"FSYNCS_FILE": str(counts)}
    return _run_preloaded(prologue + program, directory, _COUNTER_C, **environment)


def run_on_failing_disk(program, directory, **settings):
    """Run a Python program in which `disk` is the file of orders; return its output."""
    orders = directory / "disk"
    orders.touch()
    prologue = f"from pathlib import Path\ndisk = Path({str(orders)!r})\n"
    environment = settings | {"DISK_FILE": str(orders)}
    return _run_preloaded(prologue + program, directory, _FAILING_C, **environment)


def _run_preloaded(program, directory, c_source, **settings):
    """Build the C source in the directory, run the program with it first; return its output."""
    require("a C compiler with Python's headers")
    source, library = directory / "preloaded.c", directory / "preloaded.so"
    source.write_text(c_source)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | settings | {"LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
