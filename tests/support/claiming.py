"""Another process that claims CPUs when told to."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CLAIM = """
import sys
from pathlib import Path
from deeds.domain.shared_cpus import SharedCpus
cpus = SharedCpus(Path(sys.argv[1]), int(sys.argv[2]))
for order in map(str.split, sys.stdin):
    if order[0] == "release":
        print(cpus.release(int(order[1])), flush=True)
    else:
        print(cpus.claim(needed=order[0] == "need"), flush=True)
"""


class Claimant:
    """Claims and releases in its own process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        """Take the process."""
        self._process = process

    def claim(self, *, needed: bool) -> int | None:
        """Return what `SharedCpus.claim` returned there."""
        answer = self._tell("need" if needed else "want")
        return None if answer == "None" else int(answer)

    def release(self, claim: int) -> None:
        """Release a claim there."""
        self._tell(f"release {claim}")

    def kill(self) -> None:
        """End the process as `kill -9` does."""
        self._process.kill()
        self._process.wait()

    def _tell(self, order: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(order + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()


@contextmanager
def claimant(path: Path, count: int) -> Iterator[Claimant]:
    """Run another process with the same CPUs until the block ends."""
    with subprocess.Popen(
        [sys.executable, "-c", _CLAIM, str(path), str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Claimant(process)
        finally:
            process.kill()
