"""A process that holds the locks of writers and does nothing, as one that was stopped would."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_HOLD = """
import fcntl, sys
file = open(sys.argv[1], "a")
fcntl.lockf(file, fcntl.LOCK_EX, 2, 0)
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def holding_locks(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Let another process hold both locks of writers until the block ends."""
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()
