"""The page's own code.

Its unit tests run in node, and its texts are those of the service.
"""

import json
import re
import subprocess
from dataclasses import asdict

import pytest

from deeds.blueprints.problems import PROBLEMS
from deeds.domain.raw_output import ITEM_ID_PREFIX, make_id
from deeds.page.card import item_mark
from tests.support.needs import require
from tests.support.serving import REPOSITORY


def run_node(*arguments: str) -> str:
    """Return what node prints; fail where node fails."""
    require("node 20 or newer")
    command = ["node", *arguments]
    done = subprocess.run(
        command,
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_unit_tests_of_the_page_pass() -> None:
    # Those of the wallet, which take longest, come first: two run at a time.
    found = sorted((REPOSITORY / "tests/page/js").rglob("*.test.js"), reverse=True)
    files = [str(path) for path in found if "node_modules" not in path.parts]

    output = run_node("tests/page/js/run_all.js", *files)

    counts = {
        name: int(count) for name, count in re.findall(r"^# (\w+) (\d+)$", output, re.M)
    }
    if counts["tests"] != counts["pass"] or counts["tests"] <= len(files):
        pytest.fail(output, pytrace=False)


def test_the_page_has_a_text_for_every_problem_and_for_no_other() -> None:
    script = """
        import { PROBLEM_TEXTS } from "./deeds/page/static/js/texts.js";
        console.log(JSON.stringify(PROBLEM_TEXTS));
    """

    texts = json.loads(run_node("--input-type=module", "--eval", script))

    assert list(texts) == list(PROBLEMS)
    assert [code for code, text in texts.items() if not text.endswith(".")] == []


def test_what_the_wallet_doubts_of_a_mint_is_final_to_the_service() -> None:
    script = """
        import { DOUBTS } from "./deeds/page/static/js/wallet/settling.js";
        console.log(JSON.stringify([...DOUBTS]));
    """

    doubts = json.loads(run_node("--input-type=module", "--eval", script))

    assert doubts
    assert all(PROBLEMS[code].is_final for code in doubts)


def test_page_and_service_give_a_deed_the_same_mark() -> None:
    ids = [make_id(ITEM_ID_PREFIX) for _ in range(300)] + [
        "deed_",
        "deed_short",
        "no prefix",
    ]
    script = f"""
        import {{ markShape, markText }} from "./deeds/page/static/js/ui/card.js";
        const markOf = (id) => ({{ text: markText(id), ...markShape(id) }});
        console.log(JSON.stringify({json.dumps(ids)}.map(markOf)));
    """

    marks = json.loads(run_node("--input-type=module", "--eval", script))

    assert marks == [json.loads(json.dumps(asdict(item_mark(each)))) for each in ids]
