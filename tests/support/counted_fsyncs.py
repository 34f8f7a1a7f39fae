"""Counts how often a program asks the disk to keep what was written: fsync and fdatasync."""

from pathlib import Path

from tests.support.preloading import run_preloaded

# Stands before the C library's functions and adds a byte to a file for each call.
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


def run_counting_fsyncs(program: str, directory: Path, **settings: str) -> str:
    """Run a Python program in which `fsyncs_count()` tells the calls so far; return its output."""
    counts = directory / "fsyncs"
    counts.touch()
    prologue = f"def fsyncs_count():\n    return len(open({str(counts)!r}).read())\n"
    environment = settings | {"FSYNCS_FILE": str(counts)}
    return run_preloaded(prologue + program, directory, _COUNTER_C, **environment)
