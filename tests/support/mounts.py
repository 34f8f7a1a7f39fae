"""Disks that a test mounts."""

import subprocess
from contextlib import contextmanager


@contextmanager
def mounted(path, *disk):
    """Mount a disk at an empty directory for the duration of the block."""
    subprocess.run(["mount", *disk, path], check=True)
    yield
    # Killed processes may still have files open on it.
    subprocess.run(["umount", "--lazy", path], check=True)
