"""The core without its parts needs four packages."""

import re

import pytest

from tests.support.commanding import printed_by, run_program
from tests.support.installing import CORE_FILES, copy_sources, make_environment
from tests.support.serving import clean_environment

# The packages of the core, and pytest to run its tests.
PACKAGES = ("flask", "marshmallow", "argon2-cffi", "gunicorn", "pytest")


@pytest.fixture(scope="session")
def core_python(tmp_path_factory):
    """A Python that has the core's packages and nothing else."""
    directory = tmp_path_factory.mktemp("environment")
    return make_environment(directory, PACKAGES) / "python"


@pytest.mark.slow
def test_the_core_needs_four_packages_and_no_part(core_python, tmp_path):
    assert run_program(core_python, "-c", "import psycopg").returncode == 1

    command = ["-m", "pytest", "-q", "-c", "/dev/null", "--rootdir", ".", "tests/core"]
    printed = printed_by(
        core_python,
        *command,
        cwd=copy_sources(tmp_path, *CORE_FILES, "tests/core"),
        env=clean_environment({"PYTHONPATH": "."}),
    )

    assert int(re.search(r"(\d+) passed", printed)[1]) > 5
