"""On a machine with Python and make alone, what cannot run is skipped and named; in CI it fails."""

import os
import subprocess
import sys

import pytest

from tests.support.serving import REPOSITORY

# One test for each thing that is not there.
NODE = "tests/page/test_javascript.py::test_the_page_has_a_text_for_every_problem_and_for_no_other"
CHROMIUM = "tests/page/test_quality.py::test_the_first_tab_leads_past_the_head_of_a_page"
COMPILER = "tests/ledger/test_fsyncs.py::test_each_commit_is_one_fsync_and_nothing_else_is"
CURL = "tests/operations/test_readme_walk.py::test_the_python_line_makes_strong_secrets"


@pytest.fixture
def run_pytest(tmp_path):
    """A function that runs pytest where no program is found; its exit status and lines."""

    def run(*arguments, **variables):
        inherited = {k: v for k, v in os.environ.items() if k not in ("CI", "CHROMIUM")}
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
            cwd=REPOSITORY,
            env=inherited | {"PATH": str(tmp_path)} | variables,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return ran.returncode, ran.stdout.splitlines()

    return run


def test_what_cannot_run_is_skipped_and_the_last_lines_say_how_to_get_it(run_pytest):
    status, lines = run_pytest(NODE, CHROMIUM, COMPILER, CURL)

    assert status == 0
    assert lines[-6:-2] == [
        "1 test: needs node 20 or newer",
        "1 test: needs Chromium",
        "1 test: needs a C compiler with Python's headers",
        "1 test: needs bash and curl",
    ]
    assert "apt-get install --yes bash chromium curl gcc libc6-dev nodejs" in lines[-2]
    assert "4 skipped" in lines[-1]


def test_in_ci_it_fails_and_says_the_same(run_pytest):
    status, lines = run_pytest(NODE, COMPILER, CI="true")

    said = "\n".join(lines)
    assert "skipped, where no test may be: needs node 20 or newer. On Debian" in said
    assert "skipped, where no test may be: needs a C compiler with Python's headers" in said
    assert (status, "2 failed" in lines[-1]) == (1, True)


def test_where_all_is_asked_for_nothing_is_skipped_for_another_reason_either(run_pytest, tmp_path):
    one, whole = tmp_path / "test_one.py", tmp_path / "test_whole.py"
    one.write_text("import pytest\n\n@pytest.mark.skip(reason='no')\ndef test_it():\n    pass\n")
    whole.write_text("import pytest\n\npytest.skip('no', allow_module_level=True)\n")
    options = ["-p", "tests.conftest", "--continue-on-collection-errors", "--all"]

    status, lines = run_pytest(*options, one, whole)

    assert (status, "2 errors" in lines[-1]) == (1, True)


def test_make_check_asks_for_all():
    planned = subprocess.run(
        ["make", "--dry-run", "check", "-o", ".venv/dev.stamp"],
        cwd=REPOSITORY,
        env={k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))},
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert "pytest --all" in planned
