"""The README of the client, run as it stands."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.support.needs import require
from tests.support.readme import blocks_of
from tests.support.serving import REPOSITORY, clean_environment, running_service

README = ["client/README.md"]
URL = "http://127.0.0.1:8000"
# Marks, ids and times differ from run to run.
RANDOM = re.compile(
    r"[0-9a-z]{4}·[0-9a-z]{4}|[0-9a-hjkmnp-tv-z]{26,}|\d{4}-\d\d-\d\d \d\d:\d\d"
)


@pytest.mark.slow
def test_the_readme_can_be_followed_from_the_installation_on(tmp_path):
    require("bash and curl")
    source, installed = tmp_path / "client", tmp_path / "installed"
    ignored = shutil.ignore_patterns("tests", "build")
    shutil.copytree(REPOSITORY / "client", source, ignore=ignored)
    pip = [sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps"]
    [(first, _), *script] = blocks_of(README, "bash")
    assert first == 'pip install "./client[wallet]"\n'
    subprocess.run([*pip, "--quiet", "--target", installed, source], check=True)
    path = f"{installed / 'bin'}:{os.environ['PATH']}"
    bash = ["bash", "-eu", "-o", "pipefail"]
    python = [sys.executable, "-"]
    runs = [(bash, script), (python, blocks_of(README, "python"))]

    with running_service(tmp_path) as service:
        for command, blocks in runs:
            text = "\n".join(text for text, _ in blocks)
            ran = subprocess.run(
                command,
                input=text.replace(URL, service.url),
                cwd=tmp_path,
                env=clean_environment({"PATH": path, "PYTHONPATH": str(installed)}),
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            printed = re.sub(" +\n", "\n", ran.stdout.replace(service.url, URL))
            shown = "".join(text for _, (_, text) in blocks)
            assert RANDOM.sub("…", printed) == RANDOM.sub("…", shown)


def test_the_readme_has_all_codes_of_errors():
    text = (REPOSITORY / README[0]).read_text()
    tables = re.findall(r"\| code of `(\w+)` \|.*\n\|-.*\n((?:\| `.*\n)+)", text)
    documented = {
        kind: set(re.findall(r"\w+", " ".join(re.findall(r"^\|(.*?)\|", rows, re.M))))
        for kind, rows in tables
    }

    # Without the codes of the command line, which only people read.
    library = (REPOSITORY / "client/deeds_client").glob("[!_c]*.py")
    library = [*library, *(REPOSITORY / "client/deeds_client").glob("c[!lo]*.py")]
    source = "".join(path.read_text() for path in library)
    raised = set(re.findall(r'WalletError\(\s*"(\w+)"', source))
    problems = (REPOSITORY / "docs/problems.md").read_text()
    codes = set(re.findall(r"^\| `(\w+)` \| \d", problems, re.MULTILINE))

    assert documented == {
        "WalletError": raised,
        "ProblemError": codes - {"ledger_in_doubt", "internal"},
    }
