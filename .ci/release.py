"""Builds the files of a release into dist/: `make release` (docs/releases.md).

They are built twice, from the last commit alone, and must be the same bytes both times.
"""

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import uuid
from base64 import b64decode
from collections import defaultdict
from configparser import ConfigParser
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
NPM_CI = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
BUILD = "from setuptools.build_meta import *; build_{}({!r})"
# An entry of a lock file: name, version, and the lines that belong to it.
PINNED = re.compile(r"^([a-z0-9.-]+)==(\S+)(.*(?:\n[ ].*)*)", re.MULTILINE)
REQUIRED_BY = re.compile(r"# (?:via |  )(\S[^\n]*)")


def main() -> None:
    """Build twice, compare, and replace dist/."""
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    version = config["metadata"]["version"]
    check_state(version)
    # Modes of files would else depend on who builds.
    os.umask(0o022)
    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        made = [build(Path(directory), version) for directory in (first, second)]
        sums = [sums_of(files) for files in made]
        if sums[0] != sums[1]:
            sys.exit(f"release: two builds differ:\n{sums[0]}\n{sums[1]}")
        shutil.rmtree(DIST, ignore_errors=True)
        shutil.copytree(made[0], DIST)
    (DIST / "SHA256SUMS").write_text(sums[0])
    print(sums[0], end="")


def check_state(version: str) -> None:
    """Exit if something is not committed, or if the version has no date."""
    if output_of("git", "status", "--porcelain"):
        sys.exit("release: commit everything first")
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$"
    if not re.search(heading, (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE):
        sys.exit(f"release: CHANGELOG.md has no date for version {version}")


def build(directory: Path, version: str) -> Path:
    """Build all files but the checksums; return their directory.

    The wheel is built from the source distribution, which proves that it is whole.
    """
    source, made = directory / "source", directory / "made"
    made.mkdir()
    time_s = int(output_of("git", "log", "-1", "--format=%ct"))
    run("git", "archive", "--output", directory / "source.tar", "HEAD")
    with tarfile.open(directory / "source.tar") as archive:
        archive.extractall(source, filter="data")
    run(*NPM_CI, cwd=source / "parts/pages")
    # All of it goes into the source distribution.
    (source / "MANIFEST.in").write_text("graft .\n")
    locks = {"deeds": "requirements.txt", "deeds_client": "requirements/client.txt"}
    for project, name in ((source, "deeds"), (source / "client", "deeds_client")):
        whole = f"{name}-{version}"
        run_backend("sdist", directory, project, time_s)
        with tarfile.open(directory / f"{whole}.tar.gz") as archive:
            archive.extractall(directory, filter="data")
        pack(directory / whole, made / f"{whole}.tar.gz", time_s)
        run_backend("wheel", made, directory / whole, time_s)
        pages = source / "parts/pages/package-lock.json" if name == "deeds" else None
        bom = bill_of_materials(name, version, source / locks[name], pages, time_s)
        (made / f"{whole}.cdx.json").write_text(bom)
    return made


def pack(directory: Path, target: Path, time_s: int) -> None:
    """Write a directory to a .tar.gz without the traces of a machine.

    setuptools writes times and owners (pypa/setuptools issue 2133).
    """

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.mtime, member.uid, member.gid = time_s, 0, 0
        member.uname = member.gname = ""
        return member

    with (
        gzip.GzipFile(target, "wb", mtime=time_s) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as archive,
    ):
        archive.add(directory, directory.name, filter=plain)


def bill_of_materials(
    name: str, version: str, lock: Path, pages: Path | None, time_s: int
) -> str:
    """Return the packages that a lock file names, and those of the pages, as CycloneDX.

    A package from PyPI has the hash of each of its files.
    """
    root = Component(
        name=name,
        version=version,
        type=ComponentType.APPLICATION,
        bom_ref=name,
        purl=PackageURL("generic", None, name, version),
    )
    components, required_by = {}, defaultdict(set)
    for match in PINNED.finditer(lock.read_text()):
        package, release, rest = match.groups()
        sha256 = re.findall("sha256:([0-9a-f]{64})", rest)
        hashes = [HashType(alg=HashAlgorithm.SHA_256, content=each) for each in sha256]
        components[package] = component("pypi", package, release, hashes)
        required_by[package] |= set(REQUIRED_BY.findall(rest))
    if pages is not None:
        for path, package in json.loads(pages.read_text())["packages"].items():
            if path:
                sha512 = b64decode(package["integrity"].removeprefix("sha512-")).hex()
                hashes = [HashType(alg=HashAlgorithm.SHA_512, content=sha512)]
                short = path.removeprefix("node_modules/")
                components[short] = component("npm", short, package["version"], hashes)
    at = datetime.fromtimestamp(time_s, UTC)
    bom = Bom(
        components=components.values(),
        serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"{root.purl}#{time_s}"),
        metadata=BomMetaData(component=root, timestamp=at),
    )
    for package, parents in required_by.items():
        for parent in parents:
            bom.register_dependency(components.get(parent, root), [components[package]])
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def component(
    registry: str, name: str, version: str, hashes: list[HashType]
) -> Component:
    purl = PackageURL(registry, None, name, version)
    return Component(
        name=name, version=version, bom_ref=str(purl), purl=purl, hashes=hashes
    )


def sums_of(directory: Path) -> str:
    """Return a line for `sha256sum --check` for each file."""
    return "".join(
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n"
        for file in sorted(directory.iterdir())
    )


def run_backend(what: str, target: Path, project: Path, time_s: int) -> None:
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(time_s)}
    program = BUILD.format(what, str(target))
    run(sys.executable, "-c", program, cwd=project, env=environment)


def run(*command: str | Path, **options: object) -> None:
    """Run a program silently; exit with its output if it fails."""
    ran = subprocess.run(
        command, check=False, capture_output=True, text=True, **options
    )
    if ran.returncode:
        sys.exit(f"release: {command[0]} failed:\n{ran.stdout}{ran.stderr}")


def output_of(*command: str) -> str:
    return subprocess.check_output(command, cwd=ROOT, text=True)


if __name__ == "__main__":
    main()
