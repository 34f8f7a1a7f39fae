"""What names versions of Python names those of setup.cfg, all or the right one."""

import re
import tomllib

import pytest

from tests.support.sources import found_in, read_setup, read_text

CLASSIFIER = re.compile(r"Programming Language :: Python :: (3\.\d+)")


PYTHONS = CLASSIFIER.findall(read_setup()["metadata"]["classifiers"])
OLDEST, NEWEST = PYTHONS[0], PYTHONS[-1]


def test_the_classifiers_are_a_range_without_gaps():
    minors = [int(version.removeprefix("3.")) for version in PYTHONS]

    assert minors == list(range(minors[0], minors[-1] + 1))


def test_the_client_is_for_the_same_pythons():
    project = tomllib.loads(read_text("client/pyproject.toml"))["project"]

    assert CLASSIFIER.findall("\n".join(project["classifiers"])) == PYTHONS
    assert project["requires-python"] == f">={OLDEST}"


def test_the_workflow_runs_on_each_python():
    [versions] = found_in(".github/workflows/check.yaml", r"python: \[(.*)\]")

    assert versions == ", ".join(f'"{version}"' for version in PYTHONS)


@pytest.mark.parametrize(
    "document",
    [
        "README.md",
        "CONTRIBUTING.md",
        "client/README.md",
        "docs/testing.md",
        "Makefile",
        ".ci/run",
    ],
)
def test_a_document_names_the_oldest_and_the_newest_python(document):
    assert f"Python {OLDEST} to {NEWEST}" in read_text(document)


def test_make_tries_each_python_by_name_the_newest_first():
    [tried] = found_in("Makefile", r"for python in python3 (.*); do")

    assert tried.split() == [f"python{version}" for version in reversed(PYTHONS)]


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("setup.cfg", r"^python_requires = >=(\S+)$"),
        ("setup.cfg", r"^python_version = (\S+)$"),
        ("Makefile", r"--python-version (\S+)"),
        ("Makefile", r'echo "Python (\S+) or newer is needed'),
    ],
    ids=["python_requires", "mypy", "uv", "make"],
)
def test_the_oldest_python_bounds_what_is_written_for_all(path, pattern):
    assert found_in(path, pattern) == [OLDEST]


def test_ruff_formats_for_the_oldest_python():
    target = tomllib.loads(read_text("ruff.toml"))["target-version"]

    assert target == f"py{OLDEST.replace('.', '')}"


def test_the_image_and_platforms_run_one_python():
    [image] = found_in("Dockerfile", r"^FROM python:(3\.\d+)-")

    assert read_text(".python-version") == f"{image}\n"
    assert image in PYTHONS
