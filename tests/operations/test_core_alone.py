"""The core without its parts: what it needs, and that a part may be deleted."""

import re
import shutil
import subprocess
import sys

import pytest

from tests.support.installing import copied, make_environment
from tests.support.serving import clean_environment

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


@pytest.fixture(scope="session")
def core_python(tmp_path_factory):
    """A Python that has the core's packages and nothing else."""
    directory = tmp_path_factory.mktemp("environment")
    return make_environment(directory, PACKAGES) / "python"


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
