"""The page's own code: its unit tests run in node, and its texts are those of the service."""

import json
import subprocess

import pytest

from deeds.blueprints.problems import PROBLEMS
from tests.support.needs import require
from tests.support.serving import REPOSITORY

TESTS = REPOSITORY / "tests" / "page" / "js"
PROBLEM_TEXTS = REPOSITORY / "deeds" / "page" / "static" / "js" / "texts" / "problems.js"
TIMEOUT_S = 600

# Two files at a time, on one CPU too: some wait for the threads of WebCrypto.
RUN_TESTS = """
import { run } from "node:test";
import { tap } from "node:test/reporters";
run({ files: %s, concurrency: 2 }).compose(tap).pipe(process.stdout);
"""

PRINT_TEXTS = """
import { PROBLEM_TEXTS } from %s;
console.log(JSON.stringify(PROBLEM_TEXTS));
"""


def run_node(script: str, given: object) -> str:
    """Return what node prints for a script that is given a value; fail where node fails."""
    require("node 20 or newer")
    done = subprocess.run(
        ["node", "--input-type=module", "--eval", script % json.dumps(given)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_unit_tests_of_the_page_pass() -> None:
    found = sorted(TESTS.rglob("*.test.js"))
    files = [str(path) for path in found if "node_modules" not in path.parts]
    assert files

    output = run_node(RUN_TESTS, files)

    ends = ["# fail 0", "# cancelled 0", "# skipped 0", "# todo 0"]
    if not all(end in output for end in ends):
        pytest.fail(output, pytrace=False)


def test_the_page_has_a_text_for_every_problem_and_for_no_other() -> None:
    texts = json.loads(run_node(PRINT_TEXTS, PROBLEM_TEXTS.as_uri()))

    assert list(texts) == list(PROBLEMS)
    assert [code for code, text in texts.items() if not text.endswith(".")] == []
