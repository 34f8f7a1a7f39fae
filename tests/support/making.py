"""Runs `make` as people do, on an environment of its own that borrows our libraries."""

import json
import re
import shutil
import subprocess
import sysconfig
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.needs import require
from tests.support.serving import (
    REPOSITORY,
    Service,
    clean_environment,
    start_command,
    wait_until_it_answers,
)

# A build takes ten seconds; a loaded machine may need ten times that.
BUILD_SECONDS_MAX = 120.0

# What a build for another CPU comes to: an illegal instruction as soon as something is hashed.
BUILDS_FOR_ANOTHER_CPU = r"""
for argument; do
    case $argument in */core.c)
        sed 's/^int fill_memory_blocks(.*{$/& __builtin_trap();/' "$argument" >"$argument.new"
        mv "$argument.new" "$argument";;
    esac
done
"""

ARGON2_REQUIREMENT = re.compile(r"^argon2-cffi-bindings==.*?[^\\]$", re.DOTALL | re.MULTILINE)

GUNICORN = """#!/bin/sh
exec "$(dirname "$0")/python" -m gunicorn "$@"
"""

BUILD_IN_USE = """
import json
from deeds.argon2_build import build_in_use, other_builds
in_use = build_in_use()
print(json.dumps([in_use.kind, *(build.kind for build in other_builds(in_use))]))
"""


@dataclass(frozen=True, slots=True)
class Environment:
    """What `make` takes for .venv."""

    path: Path

    @classmethod
    def create(cls, path: Path) -> "Environment":
        """Make one that sees our libraries, with PyPI's build of Argon2 before whatever we have."""
        venv.create(path, symlinks=True)
        python = path / "bin" / "python"
        site = run_python(python, "import sysconfig; print(sysconfig.get_path('purelib'))")
        ours = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
        (Path(site.strip()) / "ours.pth").write_text("\n".join(ours) + "\n")
        gunicorn = path / "bin" / "gunicorn"
        gunicorn.write_text(GUNICORN)
        gunicorn.chmod(0o755)
        # All that requirements.txt asks for is there.
        (path / "run.stamp").touch()
        environment = cls(path)
        environment._install_wheel()
        return environment

    def copy(self, path: Path) -> "Environment":
        """Return a copy, as old as this one in all its parts."""
        return Environment(Path(shutil.copytree(self.path, path, symlinks=True)))

    @property
    def python(self) -> Path:
        """Return its Python."""
        return self.path / "bin" / "python"

    @property
    def builds(self) -> Path:
        """Return the directory of the builds of Argon2."""
        return self.path / "argon2"

    @property
    def log(self) -> Path:
        """Return what the last `make` that was started wrote."""
        return self.path / "make.log"

    def kinds(self) -> list[str]:
        """Return what kind of build is in use, and after it which others are on disk."""
        kinds: list[str] = json.loads(run_python(self.python, BUILD_IN_USE))
        return kinds

    def make(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run make with these arguments: targets, and variables such as CC=…."""
        return run(self._command(arguments))

    def try_native(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Make what `make run` makes before it starts, on a CPU whose sum is "this"."""
        target = str(self.builds / "native-this.tried")
        return self.make(target, "CPU_SUM=this", *arguments)

    def calibrate(self, *arguments: str, **settings: str) -> "subprocess.CompletedProcess[str]":
        """Run `flask --app app deeds calibrate`, which measures each figure by a hash or two."""
        command = [str(self.python), "-m", "flask", "--app", "app", "deeds", "calibrate"]
        return run([*command, "--stretch-milliseconds", "10", *arguments], **settings)

    @contextmanager
    def make_run(self, *arguments: str) -> Iterator[Service]:
        """Run `make run` until the block ends."""
        with self.start_make("run", *arguments) as process:
            port = wait_until_it_answers(process, self.log, BUILD_SECONDS_MAX)
            yield Service(port, process, self.log)

    @contextmanager
    def start_make(self, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
        """Start make, without waiting for it, and end all its processes after the block."""
        settings = {"DATABASE_URL": f"sqlite:///{self.path / 'deeds.db'}", "WEB_CONCURRENCY": "1"}
        self.log.unlink(missing_ok=True)
        with start_command(self._command(arguments), self.log, settings) as process:
            yield process

    def _install_wheel(self) -> None:
        [requirement] = ARGON2_REQUIREMENT.findall((REPOSITORY / "requirements.txt").read_text())
        wanted = self.path / "requirement.txt"
        wanted.write_text(requirement)
        options = ["--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:"]
        install = [str(self.python), "-m", "pip", "install", *options, "--force-reinstall"]
        installed = run([*install, "--requirement", str(wanted)])
        assert installed.returncode == 0, installed.stderr

    def _command(self, arguments: tuple[str, ...]) -> list[str]:
        return ["make", f"VENV={self.path}", *arguments]


def run_python(python: Path, code: str) -> str:
    """Run code, which must not fail, and return what it printed."""
    ran = run([str(python), "-c", code])
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def run(command: list[str], **settings: str) -> "subprocess.CompletedProcess[str]":
    """Run a command in the directory of the sources."""
    return subprocess.run(
        command,
        cwd=REPOSITORY,
        env=clean_environment(settings),
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS_MAX,
        check=False,
    )


class Compiler:
    """A C compiler that notes each of its calls; `script` is what it does before the real one."""

    def __init__(self, directory: Path, script: str = "") -> None:
        """Write it."""
        require("a C compiler with Python's headers")
        self.path = directory / "cc"
        self._calls = directory / "calls"
        self._calls.touch()
        self.path.write_text(f'#!/bin/sh\necho call >>"{self._calls}"\n{script}\nexec cc "$@"\n')
        self.path.chmod(0o755)

    @property
    def calls_count(self) -> int:
        """Return how often it was called."""
        return len(self._calls.read_text().splitlines())
