"""A run in which a test is skipped, and what `make run` fetches and builds."""

import os
import shutil
import sysconfig
import venv
from pathlib import Path

import pytest

from deeds.hashing import SALT_BYTES
from tests.support.commanding import printed_by, run_program, run_python
from tests.support.needs import require
from tests.support.serving import REPOSITORY, clean_environment

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("arguments", "ci"), [([], "true"), (["--all"], "")], ids=["in CI", "with --all"]
)
def test_a_run_that_may_skip_no_test_fails_and_says_so(tmp_path, arguments, ci):
    file = tmp_path / "test_one.py"
    file.write_text("import pytest\n\npytest.skip('no', allow_module_level=True)\n")
    command = ["-m", "pytest", "-p", "no:cacheprovider", "-p", "tests.conftest"]

    # Without plugins, which take a second to load.
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "CI": ci}
    ran = run_python(*command, *arguments, file, **alone)

    assert ran.returncode == 1
    assert "failed, for no test may be skipped" in ran.stdout
    assert "1 test: no" in ran.stdout


def test_make_run_goes_on_without_npm_and_says_what_the_door_then_needs(tmp_path):
    target = tmp_path / ".package-lock.json"
    command = [shutil.which("make"), f"READER_READY={target}", str(target)]

    made = run_program(*command, env={"PATH": str(tmp_path)})

    said = (
        "Door mode needs a browser that reads QR codes itself:"
        " npm could not fetch a reader\n"
    )
    assert (made.returncode, made.stdout, target.exists()) == (0, said, False)


DIGEST = f"""
import _argon2_cffi_bindings
from deeds.hashing import STRONG_COST, HashJob, argon2id
print(_argon2_cffi_bindings.__file__)
print(argon2id(HashJob("secret", bytes({SALT_BYTES}), STRONG_COST, None)).hex())
"""


def make(environment, *variables):
    require("a C compiler with Python's headers")
    # The target that `make run` builds first. The path is relative, as in the Makefile,
    # although pip builds in another directory.
    relative = os.path.relpath(environment, REPOSITORY)
    command = ["make", f"VENV={relative}", f"{relative}/native.stamp", *variables]
    # A build takes twenty seconds; a loaded machine may need many times that.
    return run_program(*command, env=clean_environment({}), timeout=300)


def in_use(environment):
    """Return the path of the environment's build of Argon2, and a digest made by it."""
    python = environment / "bin" / "python"
    return printed_by(python, "-c", DIGEST, cwd=REPOSITORY).split()


def test_make_run_tries_to_build_argon2_once_and_else_uses_the_wheel(tmp_path):
    # An environment that sees this one's libraries, as after installing them.
    environment = tmp_path / "venv"
    venv.create(environment, symlinks=True, with_pip=False)
    [site] = environment.glob("lib/*/site-packages")
    (site / "ours.pth").write_text(sysconfig.get_path("purelib"))
    (environment / "run.stamp").touch()
    compiler, calls = tmp_path / "cc", tmp_path / "calls"
    compiler.write_text(f'#!/bin/sh\necho call >>"{calls}"\nexit 1\n')
    compiler.chmod(0o755)
    wheel = in_use(environment)

    tried = make(environment, f"CC={compiler}")

    said = (
        "Building Argon2 for this CPU, once\n"
        "Argon2 is PyPI's build: one for this CPU could not be built"
        " (make native says why)\n"
    )
    assert (tried.returncode, tried.stdout, calls.exists()) == (0, said, True)
    assert in_use(environment) == wheel
    assert "up to date" in make(environment, "PIP_INSTALL=false").stdout

    (environment / "native.stamp").unlink()
    built = make(environment)

    said = "Building Argon2 for this CPU, once\n"
    assert (built.returncode, built.stdout) == (0, said), built.stderr
    path, digest = in_use(environment)
    assert Path(path).is_relative_to(environment)
    assert digest == wheel[1]
    assert "up to date" in make(environment, "PIP_INSTALL=false").stdout
