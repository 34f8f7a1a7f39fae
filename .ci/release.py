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
from configparser import ConfigParser
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from tempfile import TemporaryDirectory

from cyclonedx.contrib.license.factories import LicenseFactory
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
    archived = directory / "source.tar"
    run("git", "archive", "--output", archived, "HEAD", cwd=ROOT)
    with tarfile.open(archived) as archive:
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
    """Return the packages of a lock file, and those in the pages, as CycloneDX.

    A package from PyPI has the hash of each of its files, and the licence that its
    metadata names.
    """
    purl = PackageURL("generic", None, name, version)
    kind = ComponentType.APPLICATION
    root = Component(name=name, version=version, type=kind, bom_ref=name, purl=purl)
    components, parents = {}, {}
    for match in PINNED.finditer(lock.read_text()):
        package, release, rest = match.groups()
        sums = re.findall("sha256:([0-9a-f]{64})", rest)
        hashes = [HashType(alg=HashAlgorithm.SHA_256, content=each) for each in sums]
        licence = licence_of(package)
        components[package] = component("pypi", package, release, hashes, licence)
        parents[package] = REQUIRED_BY.findall(rest)
    for path, facts in packages_of(pages).items():
        package = path.removeprefix("node_modules/")
        digest = b64decode(facts["integrity"].removeprefix("sha512-")).hex()
        hashes = [HashType(alg=HashAlgorithm.SHA_512, content=digest)]
        components[package] = component(
            "npm", package, facts["version"], hashes, facts["license"]
        )
        parents[package] = [name]
    at = datetime.fromtimestamp(time_s, UTC)
    bom = Bom(
        components=components.values(),
        serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"{purl}#{time_s}"),
        metadata=BomMetaData(component=root, timestamp=at),
    )
    for package, names in parents.items():
        # The lock file names requirements.in where the project itself needs a package.
        for parent in names:
            bom.register_dependency(components.get(parent, root), [components[package]])
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def component(
    registry: str, name: str, version: str, hashes: list[HashType], licence: str
) -> Component:
    purl = PackageURL(registry, None, name, version)
    licences = [LicenseFactory().make_from_string(licence)] if licence else []
    return Component(
        name=name,
        version=version,
        bom_ref=str(purl),
        purl=purl,
        hashes=hashes,
        licenses=licences,
    )


def licence_of(package: str) -> str:
    try:
        facts = metadata(package)
    except PackageNotFoundError:
        # It is for another system.
        return ""
    return facts.get("License-Expression") or facts.get("License") or ""


def packages_of(lock: Path | None) -> dict[str, dict[str, str]]:
    """Return what npm has locked, by path; the project itself has none."""
    packages = json.loads(lock.read_text())["packages"] if lock else {}
    return {path: facts for path, facts in packages.items() if path}


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
