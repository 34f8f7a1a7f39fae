"""Digests of one build of Argon2, from a process that imports it and no other.

Run as a module it answers each line of JSON, a secret, a salt in hex and a cost, by one line.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from deeds import argon2_build
from deeds.domain.hashing import argon2id_digest
from deeds.domain.model import Argon2Cost
from tests.support.serving import REPOSITORY, clean_environment

Digest = Callable[[str, bytes, Argon2Cost], str]


@contextmanager
def digesting(directory: Path) -> Iterator[Digest]:
    """Give a function that hashes as the service does, with the build in the directory."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.digesting", directory],
        cwd=REPOSITORY,
        env=clean_environment({"PYTHONPATH": str(directory)}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield partial(_ask, process)
        process.stdin.close()
        assert process.wait(timeout=10) == 0


def _ask(process: "subprocess.Popen[str]", secret: str, salt: bytes, cost: Argon2Cost) -> str:
    """Return the digest in hex."""
    request = [secret, salt.hex(), cost.memory_cost_kib, cost.time_cost, cost.parallelism]
    print(json.dumps(request), file=process.stdin, flush=True)
    return process.stdout.readline().strip()


def _answer(line: str) -> str:
    secret, salt, *numbers = json.loads(line)
    return argon2id_digest(secret, bytes.fromhex(salt), Argon2Cost(*numbers), None).hex()


if __name__ == "__main__":
    # Ends the process unless the build is really the one in the directory.
    argon2_build.main(sys.argv[1])
    for request in sys.stdin:
        sys.stdout.write(_answer(request) + "\n")
        sys.stdout.flush()
