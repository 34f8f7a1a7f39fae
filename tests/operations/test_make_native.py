"""`make native`, and what `make run` does by itself: Argon2 built for this CPU, or PyPI's."""

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.making import BUILD_SECONDS_MAX, Compiler, Environment
from tests.support.serving import start_gunicorn
from tests.support.waiting import wait_until
from tests.support.watched import said_at_stop

Make = Callable[[Environment], "subprocess.CompletedProcess[str]"]

BUILDING = "Building Argon2 for this CPU, once: about ten seconds"
NO_COMPILER = (
    "Argon2 is PyPI's build, because there is no C compiler with Python's headers. "
    "One for this CPU would hash up to 3 times as fast: install them and start again."
)
FAILED = (
    "Argon2 is PyPI's build, because another could not be built. "
    "One for this CPU would hash up to 3 times as fast: make native tries again and says why."
)

# Looks fit to build with until it has to.
FAILS_TO_BUILD = 'case "$*" in *-fsyntax-only*) ;; *) echo "out of order" >&2; exit 1;; esac'


@pytest.fixture
def environment(wheel_environment: Environment, tmp_path: Path) -> Environment:
    """An environment with PyPI's build, as before the first `make run`."""
    return wheel_environment.copy(tmp_path / "venv")


@pytest.fixture
def native(native_environment: Environment, tmp_path: Path) -> Environment:
    """An environment with a build for this CPU in use."""
    return native_environment.copy(tmp_path / "venv")


def said_by_make_run(environment: Environment, *arguments: str) -> str:
    """Let `make run` start and serve; return the one line that it says about Argon2."""
    with environment.make_run("CPU_SUM=this", *arguments) as service:
        assert service.get_status("/v1/info") == 200
    [line] = lines_about_argon2(environment)
    return line


def lines_about_argon2(environment: Environment) -> list[str]:
    return [line for line in environment.log.read_text().splitlines() if "Argon2" in line]


def test_make_run_with_a_compiler_builds_and_says_so_in_one_line(native: Environment) -> None:
    assert lines_about_argon2(native) == [BUILDING]
    assert native.kinds() == ["native", "wheel"]


def test_what_is_built_is_not_built_again(native: Environment, tmp_path: Path) -> None:
    compiler = Compiler(tmp_path)

    made = native.make("native", f"CC={compiler.path}")

    assert (made.returncode, made.stderr) == (0, "")
    assert compiler.calls_count == 0


def test_another_cpu_gets_a_build_of_its_own(native: Environment, tmp_path: Path) -> None:
    compiler = Compiler(tmp_path)

    made = native.make("native", "CPU_SUM=another", f"CC={compiler.path}")

    assert made.returncode == 0, made.stderr
    assert compiler.calls_count > 1
    assert native.kinds() == ["native", "wheel"]
    assert [path.name for path in native.builds.glob("*.ready")] == ["native-another.ready"]


def test_make_run_without_a_compiler_says_so_in_one_line_and_serves(
    environment: Environment,
) -> None:
    assert said_by_make_run(environment, "CC=false") == NO_COMPILER
    assert environment.kinds() == ["wheel"]


def test_a_compiler_is_looked_for_at_each_start(environment: Environment, tmp_path: Path) -> None:
    compiler = Compiler(tmp_path, "exit 1")
    environment.try_native(f"CC={compiler.path}")
    calls_count = compiler.calls_count

    environment.try_native(f"CC={compiler.path}")

    assert compiler.calls_count == 2 * calls_count > 0


def test_a_build_that_failed_is_not_tried_at_each_start(
    environment: Environment, tmp_path: Path
) -> None:
    compiler = Compiler(tmp_path, FAILS_TO_BUILD)
    environment.try_native(f"CC={compiler.path}")
    calls_count = compiler.calls_count

    assert said_by_make_run(environment, f"CC={compiler.path}") == FAILED
    assert compiler.calls_count == calls_count > 0
    assert environment.kinds() == ["wheel"]


def test_make_native_says_why_a_build_failed(environment: Environment, tmp_path: Path) -> None:
    compiler = Compiler(tmp_path, FAILS_TO_BUILD)

    made = environment.make("native", f"CC={compiler.path}")

    assert made.returncode != 0
    assert "out of order" in made.stderr
    assert environment.kinds() == ["wheel"]


def test_make_native_says_that_there_is_no_compiler(environment: Environment) -> None:
    made = environment.make("native", "CC=there-is-no-such-compiler")

    assert made.returncode != 0
    assert "there-is-no-such-compiler" in made.stderr


def test_a_build_that_does_not_work_is_not_put_to_use(
    environment_after_alien_build: Environment,
) -> None:
    assert environment_after_alien_build.kinds() == ["wheel"]
    assert said_by_make_run(environment_after_alien_build) == FAILED


def test_the_service_does_not_start_on_a_build_for_another_cpu(
    environment_after_alien_build: Environment, tmp_path: Path
) -> None:
    alien = environment_after_alien_build.builds / "native.new"
    log = tmp_path / "service.log"

    with start_gunicorn(log, {"PYTHONPATH": str(alien)}) as process:
        code = process.wait(timeout=30)

    assert code == 1
    assert said_at_stop(log.read_text()) == (
        "deeds cannot start: argon2-cffi-bindings does not work on this CPU; "
        "`make native` builds it for this one"
    )


def test_a_build_that_was_killed_leaves_what_was_there(
    environment: Environment, tmp_path: Path
) -> None:
    gate, reached = tmp_path / "gate", tmp_path / "reached"
    os.mkfifo(gate)
    compiler = Compiler(
        tmp_path, f'case "$*" in *-fsyntax-only*) ;; *) : >"{reached}"; cat "{gate}";; esac'
    )

    with environment.start_make("native", f"CC={compiler.path}") as process:
        wait_until(reached.exists, BUILD_SECONDS_MAX)
        os.killpg(process.pid, signal.SIGKILL)
    # A compiler that was started outside of the process group may stand at the gate still.
    with suppress(OSError):
        os.close(os.open(gate, os.O_WRONLY | os.O_NONBLOCK))

    assert environment.kinds() == ["wheel"]
    assert said_by_make_run(environment, "CC=false") == NO_COMPILER


@pytest.mark.parametrize(
    ("make", "kinds"),
    [
        (lambda environment: environment.make("native"), ["native", "wheel"]),
        (lambda environment: environment.try_native("CC=false"), ["wheel", "native"]),
    ],
    ids=["make native", "make run without a compiler"],
)
def test_an_installation_that_broke_off_is_taken_up_again(
    native: Environment, make: Make, kinds: list[str]
) -> None:
    [module] = native.path.glob("lib/*/site-packages/_argon2_cffi_bindings/__init__.py")
    module.write_text("broken off")
    for stamp in (*native.builds.glob("*.ready"), *native.builds.glob("*.tried")):
        stamp.unlink()

    made = make(native)

    assert made.returncode == 0, made.stderr
    assert native.kinds() == kinds


def test_on_another_cpu_without_a_compiler_the_wheel_is_put_back(native: Environment) -> None:
    made = native.try_native("CC=false")

    assert made.returncode == 0, made.stderr
    assert native.kinds() == ["wheel", "native"]
