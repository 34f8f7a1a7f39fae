"""Runs a Python program whose calls of the C library are taken by a library of ours."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.needs import require


def run_preloaded(program: str, directory: Path, c_source: str, **settings: str) -> str:
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
