"""The files of a release, as `make release` builds them (docs/releases.md)."""

import hashlib
import json
import re
import sys
import tarfile
import zipfile

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from deeds.blueprints.v1 import VERSION
from tests.support.commanding import printed_by, run_program
from tests.support.installing import copy_sources
from tests.support.needs import require
from tests.support.serving import REPOSITORY, clean_environment

pytestmark = pytest.mark.slow

SERVICE, CLIENT = f"deeds-{VERSION}", f"deeds_client-{VERSION}"
AT = "1796000000"
GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")
RELEASE = (sys.executable, ".ci/release.py")
NO_DATE = f"release: CHANGELOG.md has no date for version {VERSION}\n"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """What is tracked here, committed with a date in the changelog."""
    require("npm: make test fetches what reads codes")
    directory = tmp_path_factory.mktemp("checkout")
    for name in printed_by("git", "ls-files").splitlines():
        # A change that is not committed may have deleted it.
        if (REPOSITORY / name).exists():
            copy_sources(directory, name)
    changelog = directory / "CHANGELOG.md"
    dated = re.sub(
        r"(?m)^(## \[.*\]) - .*", r"\1 - 2026-12-01", changelog.read_text(), count=1
    )
    changelog.write_text(dated)
    printed_by("git", "init", "--quiet", cwd=directory)
    commit(directory)
    return directory


def commit(directory):
    printed_by("git", "add", "--all", cwd=directory)
    environment = clean_environment({"GIT_COMMITTER_DATE": f"@{AT} +0000"})
    printed_by(*GIT, "commit", "--quiet", "-m", "a", cwd=directory, env=environment)


@pytest.fixture(scope="module")
def built(checkout):
    """The files, built by somebody whose new files nobody else may read."""
    shell = ["sh", "-c", 'umask 077 && exec "$@"', "sh", *RELEASE]
    printed = printed_by(*shell, cwd=checkout)
    dist = checkout / "dist"
    assert printed == (dist / "SHA256SUMS").read_text()
    return dist


def test_the_checksums_are_those_of_all_files(built):
    names = [f"{SERVICE}-py3-none-any.whl", f"{SERVICE}.cdx.json", f"{SERVICE}.tar.gz"]
    names += [name.replace(SERVICE, CLIENT) for name in names]
    sums = {
        name: hashlib.sha256((built / name).read_bytes()).hexdigest() for name in names
    }

    lines = (built / "SHA256SUMS").read_text().splitlines()

    assert lines == [f"{sums[name]}  {name}" for name in sorted(names)]
    assert {file.name for file in built.iterdir()} == {*names, "SHA256SUMS"}


@pytest.mark.parametrize("name", [SERVICE, CLIENT])
def test_nothing_tells_who_built_it_where_and_when(name, built):
    with tarfile.open(built / f"{name}.tar.gz") as archive:
        members = archive.getmembers()
    with zipfile.ZipFile(built / f"{name}-py3-none-any.whl") as wheel:
        files = wheel.infolist()

    traces = {(each.mtime, each.uid, each.gid, each.uname) for each in members}
    assert traces == {(int(AT), 0, 0, "")}
    assert {each.mode for each in members} <= {0o644, 0o755}
    assert len({each.date_time for each in files}) == 1
    # setuptools gives what it generates the mode 664.
    assert {each.external_attr >> 16 & 0o777 for each in files} <= {0o644, 0o664}


def test_the_source_is_whole_and_the_wheel_can_read_codes(built):
    with tarfile.open(built / f"{SERVICE}.tar.gz") as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    with zipfile.ZipFile(built / f"{SERVICE}-py3-none-any.whl") as wheel:
        installed = wheel.namelist()

    tracked = printed_by("git", "ls-files", cwd=built.parent).splitlines()
    assert set(tracked) <= packed
    assert "parts/pages/node_modules/qr/decode.js" in installed
    assert not any(name.startswith(("tests/", "client/")) for name in installed)


def test_the_bill_of_materials_names_what_is_locked_and_what_is_in_the_pages(built):
    text = (built / f"{SERVICE}.cdx.json").read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    bom = json.loads(text)
    components = {each["name"]: each for each in bom["components"]}
    needs = {each["ref"]: each.get("dependsOn", []) for each in bom["dependencies"]}

    lock = (REPOSITORY / "requirements.txt").read_text()
    locked = dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", lock, re.MULTILINE))
    pages = json.loads((REPOSITORY / "parts/pages/package.json").read_text())
    locked |= pages["dependencies"]

    assert {name: each["version"] for name, each in components.items()} == locked
    assert all(each["hashes"] for each in components.values())
    assert components["flask"]["licenses"] == [{"license": {"id": "BSD-3-Clause"}}]
    [reader] = [each["purl"] for each in components.values() if each["name"] == "qr"]
    flask, werkzeug = components["flask"]["purl"], components["werkzeug"]["purl"]
    assert {reader, flask} <= set(needs["deeds"])
    assert werkzeug in needs[flask]
    assert werkzeug not in needs["deeds"]


def test_what_is_not_committed_or_has_no_date_is_refused(built):
    checkout = built.parent
    changelog = checkout / "CHANGELOG.md"
    dated = changelog.read_text()

    changelog.write_text(dated.replace(" - 2026-12-01", " - unreleased"))
    changed = run_program(*RELEASE, cwd=checkout)
    commit(checkout)
    undated = run_program(*RELEASE, cwd=checkout)

    assert changed.stderr == "release: commit everything first\n"
    assert undated.stderr == NO_DATE
    assert (changed.returncode, undated.returncode) == (1, 1)
    # What was built before is still there.
    assert (built / "SHA256SUMS").exists()
