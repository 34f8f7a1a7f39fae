"""`make native`, and what `make run` does by itself: Argon2 built for this CPU, or PyPI's."""

import os
import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest

from deeds.domain.hashing import SALT_BYTES
from tests.support.needs import require
from tests.support.serving import REPOSITORY, clean_environment

# A build takes twenty seconds; a loaded machine may need many times that.
BUILD_SECONDS_MAX = 300

FAILED = "Argon2 is PyPI's build: one for this CPU could not be built (make native says why)\n"

DIGEST = f"""
import _argon2_cffi_bindings
from deeds.domain.hashing import STRONG_COST, argon2id_digest
print(_argon2_cffi_bindings.__file__)
print(argon2id_digest("secret", bytes({SALT_BYTES}), STRONG_COST, None).hex())
"""


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment that sees our libraries, as if requirements.txt were installed."""
    path = tmp_path / "venv"
    venv.create(path, symlinks=True, with_pip=False)
    [site] = path.glob("lib/*/site-packages")
    (site / "ours.pth").write_text(sysconfig.get_path("purelib"))
    (path / "run.stamp").touch()
    return path


def make(environment: Path, *variables: str) -> "subprocess.CompletedProcess[str]":
    require("a C compiler with Python's headers")
    # What `make run` makes first. As in the Makefile: relative, while pip builds elsewhere.
    relative = os.path.relpath(environment, REPOSITORY)
    return subprocess.run(
        ["make", f"VENV={relative}", f"{relative}/native.stamp", *variables],
        cwd=REPOSITORY,
        env=clean_environment({}),
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS_MAX,
        check=False,
    )


def in_use(environment: Path) -> list[str]:
    """Return where the environment imports its build from, and a digest by it."""
    command = [environment / "bin" / "python", "-c", DIGEST]
    return subprocess.check_output(command, cwd=REPOSITORY, text=True).split()


def test_make_run_tries_once_to_build_argon2_and_else_goes_on_with_the_wheel(
    environment: Path, tmp_path: Path
) -> None:
    compiler, calls = tmp_path / "cc", tmp_path / "calls"
    compiler.write_text(f'#!/bin/sh\necho call >>"{calls}"\nexit 1\n')
    compiler.chmod(0o755)
    wheel = in_use(environment)

    tried = make(environment, f"CC={compiler}")

    assert (tried.returncode, tried.stdout, calls.exists()) == (0, FAILED, True)
    assert in_use(environment) == wheel
    assert "up to date" in make(environment, "PIP_INSTALL=false").stdout

    (environment / "native.stamp").unlink()
    built = make(environment)

    assert (built.returncode, built.stdout) == (0, ""), built.stderr
    path, digest = in_use(environment)
    assert Path(path).is_relative_to(environment)
    assert digest == wheel[1]
    assert "up to date" in make(environment, "PIP_INSTALL=false").stdout
