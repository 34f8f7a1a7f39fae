"""Disks that a test mounts."""

import subprocess
from contextlib import contextmanager


@contextmanager
def mounted(path, *disk):
    """Mount a disk at an empty directory within the block."""
    subprocess.run(["mount", *disk, path], check=True)
    yield
    # Processes that were killed may still have files of it open.
    subprocess.run(["umount", "--lazy", path], check=True)
