"""A process that holds the locks of writers and does nothing, as one that was stopped would."""

import subprocess
import sys
from contextlib import contextmanager

_HOLD = """
import fcntl, sys
file = open(sys.argv[1], "a")
first, count = map(int, sys.argv[2:])
fcntl.lockf(file, fcntl.LOCK_EX, count, first)
print("held", flush=True)
sys.stdin.read()
"""


_PROBE = """
import fcntl, sys
file = open(sys.argv[1], "a")
for byte in 0, 1:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
    except OSError:
        print(byte)
"""


def held_locks(path):
    """Return which locks another process would have to wait for."""
    command = [sys.executable, "-c", _PROBE, str(path)]
    probe = subprocess.run(command, capture_output=True, text=True, check=True)
    return [int(line) for line in probe.stdout.splitlines()]


@contextmanager
def holding_locks(path, *, first=0, count=2):
    """Let another process hold locks of writers, both unless told, until the block ends."""
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path), str(first), str(count)],
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
