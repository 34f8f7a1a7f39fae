"""On a machine with Python and make alone, what cannot run is skipped and named; in CI it fails."""

import os
import subprocess
import sys

import pytest

from tests.support.serving import REPOSITORY

# One test for each thing that is not there.
NODE = "tests/page/test_javascript.py::test_the_page_has_a_text_for_every_problem_and_for_no_other"
CHROMIUM = "tests/page/test_quality.py::test_the_first_tab_leads_past_the_head_of_a_page"
COMPILER = "tests/ledger/test_disk_writes.py::test_each_commit_is_one_fsync_and_nothing_else_is"
CURL = "tests/operations/test_readme_walk.py::test_the_python_line_makes_strong_secrets"


@pytest.fixture
def run_pytest(tmp_path):
    """A function that runs pytest where no program is found; its exit status and lines."""
    inherited = {k: v for k, v in os.environ.items() if k not in ("CI", "CHROMIUM")}

    def run(*arguments, **variables):
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
        environment = inherited | {"PATH": str(tmp_path)} | variables
        ran = subprocess.run(
            command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
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


@pytest.mark.parametrize(
    ("text", "arguments", "variables"),
    [
        ("@pytest.mark.skip(reason='no')\ndef test_it():\n    pass", [], {"CI": "true"}),
        ("pytest.skip('no', allow_module_level=True)", ["--all"], {}),
    ],
    ids=["in CI", "with --all"],
)
def test_where_none_may_be_skipped_for_whatever_reason_the_run_fails_and_says_so(
    run_pytest, tmp_path, text, arguments, variables
):
    (tmp_path / "test_one.py").write_text(f"import pytest\n\n{text}\n")

    status, lines = run_pytest(
        "-p", "tests.conftest", *arguments, tmp_path / "test_one.py", **variables
    )

    said = "\n".join(lines)
    assert status == 1
    assert "failed, for no test may be skipped" in said
    assert "1 test: no" in said


def test_make_check_asks_for_all():
    command = ["make", "--dry-run", "check", "-o", ".venv/dev.stamp"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}

    planned = subprocess.check_output(command, cwd=REPOSITORY, env=environment, text=True)

    assert "pytest --all" in planned
