"""The README of the client, run as it stands."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.support.needs import require
from tests.support.readme import blocks_of
from tests.support.serving import REPOSITORY, running_service

README = ["client/README.md"]
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
    [(first, _), *blocks] = blocks_of(README, "bash")
    assert first == "pip install ./client\n"
    subprocess.run([*pip, "--quiet", "--target", installed, source], check=True)
    path = f"{installed / 'bin'}:{os.environ['PATH']}"
    bash = ["bash", "-eu", "-o", "pipefail"]
    script = "\n".join(text for text, _ in blocks)
    program = "\n".join(text for text, _ in blocks_of(README, "python"))

    printed = []
    with running_service(tmp_path) as service:
        for command, text in ((bash, script), ([sys.executable, "-"], program)):
            ran = subprocess.run(
                command,
                input=text.replace("http://127.0.0.1:8000", service.url),
                cwd=tmp_path,
                env=os.environ | {"PATH": path, "PYTHONPATH": str(installed)},
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            printed.append(re.sub(" +\n", "\n", ran.stdout))

    shown = "".join(text for _, (_, text) in blocks)
    assert RANDOM.sub("…", printed[0]) == RANDOM.sub("…", shown)
    link, states = printed[1].splitlines()
    assert link.startswith(f"{service.url}/claim/deed_")
    assert states == "['spent', 'unspent']"
