"""Builds of argon2-cffi-bindings: the one in use, those on disk, and whether they work here.

PyPI's build runs on every CPU of its kind; one made by `make native` (native.mk) uses all that
this CPU can do, and only its like can run it. The digests are the same.

Run as a module it only tells, by its exit code, whether the build in use works. Of libraries this
module may import only argon2-cffi.
"""

import subprocess
import sys
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import Distribution, distributions
from importlib.util import find_spec
from pathlib import Path

from argon2.low_level import Type, hash_secret_raw

from deeds.domain.errors import StartError

_DISTRIBUTION = "argon2-cffi-bindings"
_SOURCES = Path(__file__).parent.parent

# Where native.mk keeps builds that can be imported by themselves.
BUILDS = Path(sys.prefix) / "argon2"

# What native.mk lets the wheel's metadata say.
_NATIVE = "Build: 1native"
_PORTABLE = ("manylinux", "musllinux", "macosx")

# From the tests of Argon2's reference implementation: passes, lanes and the digest of "password"
# under "somesalt" with 256 KiB.
_KNOWN_ANSWERS = (
    (2, 1, "9dfeb910e80bad0311fee20f9c0e2b12c17987b4cac90c2ef54d5b3021c68bfe"),
    (2, 2, "6d093c501fd5999645e0ea3bf620d7b8be7fd2db59c20d9fff9539da2bf57037"),
)


class BuildKind(StrEnum):
    """What a build was made for."""

    WHEEL = "wheel"
    NATIVE = "native"
    SOURCE = "source"

    @property
    def meaning(self) -> str:
        """Return it in words."""
        return {
            BuildKind.WHEEL: "PyPI's, for all CPUs of its kind",
            BuildKind.NATIVE: "built for this CPU",
            BuildKind.SOURCE: "built from source, without `make native`",
        }[self]


@dataclass(frozen=True, slots=True)
class Argon2Build:
    """A build; `directory` is what PYTHONPATH must name, None for the one in use."""

    kind: BuildKind
    version: str
    tag: str
    directory: Path | None

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment variables by which a Python imports this build."""
        return {} if self.directory is None else {"PYTHONPATH": str(self.directory)}

    def __str__(self) -> str:
        """Return the line that tells all of it."""
        return f"{self.kind}, {self.kind.meaning} ({self.version}, {self.tag})"


def build_in_use() -> Argon2Build:
    """Return the build that this process imports."""
    return _describe(Distribution.from_name(_DISTRIBUTION), None)


def other_builds(in_use: Argon2Build, builds: Path = BUILDS) -> list[Argon2Build]:
    """Return the builds on disk of another kind than the one in use."""
    found = [_build_in(builds / kind) for kind in (BuildKind.WHEEL, BuildKind.NATIVE)]
    return [build for build in found if build is not None and build.kind != in_use.kind]


def check_build_in_use() -> None:
    """See in a process of its own that the build works, unless it is PyPI's.

    One that was made for another CPU kills the process that hashes: an environment was copied, or
    the machine moved to another host.

    Raises:
        StartError: it does not work.
    """
    if build_in_use().kind is BuildKind.WHEEL:
        return
    command = [sys.executable, "-m", "deeds.argon2_build"]
    if subprocess.run(command, cwd=_SOURCES, check=False).returncode != 0:  # noqa: S603 - constant
        raise StartError(
            f"{_DISTRIBUTION} does not work on this CPU; `make native` builds it for this one"
        )


def main(directory: str | None = None) -> None:
    """End the program with a line unless the build hashes right and, if given, lies there."""
    spec = find_spec("_argon2_cffi_bindings")
    origin = Path((spec and spec.origin) or "").resolve()
    if directory is not None and Path(directory).resolve() not in origin.parents:
        sys.exit(f"{_DISTRIBUTION} is imported from {origin}")
    if any(_digest(t, p) != digest for t, p, digest in _KNOWN_ANSWERS):
        sys.exit(f"{_DISTRIBUTION} hashes wrong in {origin}")


def _digest(time_cost: int, parallelism: int) -> str:
    return hash_secret_raw(
        b"password",
        b"somesalt",
        time_cost=time_cost,
        memory_cost=256,
        parallelism=parallelism,
        hash_len=32,
        type=Type.ID,
    ).hex()


def _build_in(directory: Path) -> Argon2Build | None:
    found = list(distributions(name=_DISTRIBUTION, path=[str(directory)]))
    return _describe(found[0], directory) if found else None


def _describe(distribution: Distribution, directory: Path | None) -> Argon2Build:
    lines = (distribution.read_text("WHEEL") or "").splitlines()
    tags = [line.removeprefix("Tag: ") for line in lines if line.startswith("Tag: ")]
    portable = any(part in tag for tag in tags for part in _PORTABLE)
    kind = BuildKind.WHEEL if portable else BuildKind.SOURCE
    if _NATIVE in lines:
        kind = BuildKind.NATIVE
    return Argon2Build(kind, distribution.version, tags[0] if tags else "no tag", directory)


if __name__ == "__main__":
    main(*sys.argv[1:])
