"""Counts how often a program asks the disk to keep what was written: fsync and fdatasync."""

import os
import subprocess
import sys
from pathlib import Path

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
    source, library = directory / "counter.c", directory / "counter.so"
    source.write_text(_COUNTER_C)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    counts = directory / "fsyncs"
    counts.touch()
    prologue = f"def fsyncs_count():\n    return len(open({str(counts)!r}).read())\n"
    environment = settings | {"LD_PRELOAD": str(library), "FSYNCS_FILE": str(counts)}
    ran = subprocess.run(
        [sys.executable, "-c", prologue + program],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
