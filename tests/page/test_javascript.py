"""The page's own code.

Its unit tests run in node, and its texts are those of the service.
"""

import json
import re
import secrets

import pytest

from deeds.raw_output import ITEM_ID_PREFIX, make_id
from parts.pages.card import DeedCard
from tests.support.commanding import printed_by
from tests.support.needs import require
from tests.support.problems import PROBLEMS
from tests.support.serving import REPOSITORY

JS = REPOSITORY / "tests/page/js"
FOLDERS = sorted(
    {path.name for path in JS.iterdir() if path.is_dir()} - {"node_modules"}
)
# Races in many orders, lies of a service over many numbers, and keys that take long on
# purpose.
LONG = ["attack_finding.test.js", "closed_tab.test.js", "file.test.js"]
LONG += ["offer_races.test.js", "two_tabs.test.js"]
# Random walks, which test_fake_service.py runs.
WALKS = ["model.test.js", "twins.test.js"]
# All in one process of node: to start one takes longer than most files.
IMPORT_ALL = "for (const path of process.argv.slice(1)) await import(path);"


def run_node(*arguments):
    """Return what node prints; fail where node fails."""
    require("node 20 or newer")
    command = ["node", "--test-reporter=tap", "--input-type=module", *arguments]
    return printed_by(*command, timeout=600)


def value_of(module, expression):
    """Return the value of an expression that a module of the page can make."""
    names = "import * as page from './parts/pages/static/js/"
    script = f"{names}{module}'; console.log(JSON.stringify({expression}));"
    return json.loads(run_node("--eval", script))


def run_tests(files):
    """Run files of tests; fail where none passes."""
    printed = run_node("--eval", IMPORT_ALL, *map(str, files))
    [passed] = re.findall(r"^# pass (\d+)$", printed, re.MULTILINE)
    assert int(passed) >= len(files) > 0


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_unit_tests_of_the_page_pass(folder):
    found = sorted((JS / folder).rglob("*.test.js"))

    run_tests([path for path in found if path.name not in LONG + WALKS])


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_the_long_tests_of_the_wallet_pass(name):
    run_tests([JS / "wallet" / name])


def test_the_page_has_a_text_for_every_problem_and_for_no_other():
    texts = value_of("texts.js", "page.PROBLEM_TEXTS")

    assert texts.keys() == PROBLEMS.keys()


def test_what_the_wallet_doubts_of_a_mint_is_final_to_the_service():
    doubts = value_of("wallet/settling.js", "[...page.DOUBTS]")

    assert doubts
    assert [code for code in doubts if not PROBLEMS[code].is_final] == []


def test_page_and_service_give_a_deed_the_same_letters():
    ids = [make_id(ITEM_ID_PREFIX, secrets.token_bytes) for _ in range(300)]
    ids += ["deed_", "deed_short", "no prefix"]

    marks = value_of("ui/card.js", f"{json.dumps(ids)}.map(page.markText)")

    assert marks == [DeedCard(each, 1).mark for each in ids]
