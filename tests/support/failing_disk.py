"""A disk that refuses what SQLite writes to its log, when a test says so."""

from pathlib import Path

from tests.support.preloading import run_preloaded

# Stands before the C library's functions. DISK_FILE holds what is refused: "w", and a byte for each
# write that still passes, or "s" for what makes writes durable.
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


def run_on_failing_disk(program: str, directory: Path, **settings: str) -> str:
    """Run a Python program in which `disk` is the file of orders; return its output."""
    orders = directory / "disk"
    orders.touch()
    prologue = f"from pathlib import Path\ndisk = Path({str(orders)!r})\n"
    environment = settings | {"DISK_FILE": str(orders)}
    return run_preloaded(prologue + program, directory, _FAILING_C, **environment)
