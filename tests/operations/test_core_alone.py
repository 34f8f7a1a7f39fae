"""The core without its parts: what it needs, and that a part may be deleted."""

import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tests.support.serving import REPOSITORY, clean_environment

# What the project was asked to be built on; pytest runs the tests.
PACKAGES = ("flask", "marshmallow", "argon2-cffi", "gunicorn", "pytest")
CORE = (
    "app.py",
    "gunicorn.conf.py",
    "gunicorn_conf.py",
    "deeds",
    "schemas",
    "storage",
    "tests/core",
)


def copied(directory, *names):
    """Copy these of our sources into a directory; return it."""
    for name in names:
        source, target = REPOSITORY / name, directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            skipped = shutil.ignore_patterns("__pycache__", "node_modules")
            shutil.copytree(source, target, ignore=skipped)
        else:
            shutil.copy(source, target)
    return directory


def with_requirements(names):
    """Return the names of distributions, and of all that they need here."""
    found, wanted = set(), set(names)
    while wanted:
        name = wanted.pop()
        found.add(name)
        for line in distribution(name).requires or ():
            required, _, condition = line.partition(";")
            if "extra" not in condition:
                wanted.add(re.match(r"[\w.-]+", required)[0].lower())
        wanted = {each for each in wanted - found if is_installed(each)}
    return found


def is_installed(name):
    try:
        distribution(name)
    except ModuleNotFoundError:
        return False
    return True


@pytest.fixture(scope="session")
def core_python(tmp_path_factory):
    """A Python that has the core's packages and nothing else."""
    directory = tmp_path_factory.mktemp("environment")
    venv.create(directory, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(directory)}))
    for name in with_requirements(PACKAGES):
        own = distribution(name)
        for top in {Path(file).parts[0] for file in own.files or ()} - {".."}:
            source = Path(own.locate_file(top))
            if source.exists() and not (packages / top).exists():
                (packages / top).symlink_to(source)
    return directory / "bin" / "python"


def run_core_tests(python, directory):
    """Run the core's tests in a copy; return what pytest counted."""
    ran = subprocess.run(
        [
            python,
            "-m",
            "pytest",
            "-q",
            "-c",
            "/dev/null",
            "--rootdir",
            ".",
            "tests/core",
        ],
        cwd=directory,
        env=clean_environment({"PYTHONPATH": "."}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return int(re.search(r"(\d+) passed", ran.stdout)[1])


@pytest.mark.slow
def test_the_core_needs_four_packages_and_no_part(core_python, tmp_path):
    missing = subprocess.run(
        [core_python, "-c", "import psycopg"], capture_output=True, check=False
    )
    assert missing.returncode == 1

    assert run_core_tests(core_python, copied(tmp_path, *CORE)) > 5


@pytest.mark.slow
def test_a_part_is_deleted_with_its_folder_and_its_line(tmp_path):
    copy = copied(tmp_path, *CORE, "parts")
    shutil.rmtree(copy / "parts" / "offers")
    app = copy / "app.py"
    app.write_text(app.read_text().replace('    "offers",\n', ""))

    assert run_core_tests(sys.executable, copy) > 5
