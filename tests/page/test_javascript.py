"""The page's own code: its unit tests run in node, and its texts are those of the service."""

import json
import subprocess

import pytest

from deeds.blueprints.problems import PROBLEMS
from tests.support.needs import require
from tests.support.serving import REPOSITORY

MODULES = REPOSITORY / "deeds" / "page" / "static" / "js"
TIMEOUT_S = 600


def run_node(*arguments: str) -> str:
    """Return what node prints; fail with it where node fails."""
    require("node 20 or newer")
    done = subprocess.run(
        ["node", *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        pytest.fail(f"node {' '.join(arguments)}\n{done.stdout}\n{done.stderr}", pytrace=False)
    return done.stdout


def test_the_unit_tests_of_the_page_pass() -> None:
    found = sorted((REPOSITORY / "tests" / "page" / "js").rglob("*.test.js"))
    files = [path for path in found if "node_modules" not in path.parts]

    output = run_node("--test", "--test-reporter=tap", *(str(path) for path in files))

    assert "# fail 0" in output
    assert "# skipped 0" in output
    assert "# todo 0" in output
    assert files


def test_the_page_has_a_text_for_every_problem_and_for_no_other() -> None:
    module = MODULES / "texts" / "problems.js"
    script = (
        f"import {{ PROBLEM_TEXTS }} from {json.dumps(module.as_uri())};"
        "console.log(JSON.stringify(PROBLEM_TEXTS));"
    )

    texts = json.loads(run_node("--input-type=module", "--eval", script))

    assert list(texts) == list(PROBLEMS)
    assert [code for code, text in texts.items() if not text.endswith(".")] == []
