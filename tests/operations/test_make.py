"""`make check` where a test is skipped, its variables, and what `make run` fetches."""

import os
import shutil
import subprocess
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
    ("arguments", "variables"),
    [([], {"CI": "true"}), (["--all"], {"CI": ""})],
    ids=["in CI", "with --all"],
)
def test_where_none_may_be_skipped_the_run_fails_and_says_so(
    tmp_path, arguments, variables
):
    file = tmp_path / "test_one.py"
    file.write_text("import pytest\n\npytest.skip('no', allow_module_level=True)\n")
    command = ["-m", "pytest", "-p", "no:cacheprovider", "-p", "tests.conftest"]

    # Plugins that this run has no use for take a second to load.
    variables = variables | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ran = run_python(*command, *arguments, file, **variables)

    assert ran.returncode == 1
    assert "failed, for no test may be skipped" in ran.stdout
    assert "1 test: no" in ran.stdout


KEPT = {
    "HOME": "/nowhere",
    "CI": "true",
    "CHROMIUM": "/nowhere/chromium",
    "https_proxy": "http://user:a password@127.0.0.1:9",
    "NO_PROXY": "*",
    "SSL_CERT_DIR": "/nowhere/certificates",
    "PIP_INDEX_URL": "http://127.0.0.1:9/?a=b\nc",
    "UV_OFFLINE": "1",
    "npm_config_offline": "true",
}
OTHERS = {
    "PYTHONUNBUFFERED": "1",
    "PYTHONPATH": "/nowhere",
    "PYTHON": "/nowhere/python",
    "DATABASE_URL": "sqlite:////nowhere/deeds.sqlite3",
    "DEEDS_LOG": "console",
    "PORT": "1",
    "GUNICORN_CMD_ARGS": "--check-config",
    "LD_LIBRARY_PATH": "/nowhere",
    "PATHS": "1",
    "MY_PIP_INDEX_URL": "1",
}


def put_programs(directory, names, text):
    directory.mkdir(exist_ok=True)
    for name in names:
        program = directory / name
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)


def test_make_check_has_variables_of_its_own(tmp_path):
    # Nothing is installed or checked.
    reader = tmp_path / "reader"
    for stamp in (tmp_path / "dev.stamp", reader):
        stamp.touch()
    checks = ["ruff", "codespell", "mypy", "lint-imports", "python"]
    put_programs(tmp_path / "bin", checks, "")
    put_programs(tmp_path / "bin", ["show"], "printf '\\0'; env -0")
    command = ["make", "check", f"VENV={tmp_path}", f"READER_READY={reader}"]
    command += ["with_node=true", f"PYTEST={tmp_path / 'bin' / 'show'}"]

    path = {"PATH": os.environ["PATH"]}
    printed = printed_by(*command, cwd=REPOSITORY, env=KEPT | OTHERS | path)

    shown = dict(line.split("=", 1) for line in printed.split("\0") if "=" in line)
    assert {name: shown.get(name) for name in KEPT} == KEPT
    assert shown.keys() & OTHERS.keys() == set()


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
    # What `make run` makes first. As in the Makefile: relative, while pip builds
    # elsewhere.
    relative = os.path.relpath(environment, REPOSITORY)
    command = ["make", f"VENV={relative}", f"{relative}/native.stamp", *variables]
    # A build takes twenty seconds; a loaded machine may need many times that.
    return run_program(*command, env=clean_environment({}), timeout=300)


def in_use(environment):
    """Return where the environment imports its build from, and a digest by it."""
    command = [environment / "bin" / "python", "-c", DIGEST]
    return subprocess.check_output(command, cwd=REPOSITORY, text=True).split()


def test_make_run_tries_to_build_argon2_once_and_else_uses_the_wheel(tmp_path):
    # An environment that sees our libraries, as if requirements.txt were installed.
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
