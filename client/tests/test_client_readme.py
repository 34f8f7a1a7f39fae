"""The README of the client, run as it stands."""

import os
import re
import shutil
import subprocess
import sys

from tests.support.needs import require
from tests.support.readme import blocks_of
from tests.support.serving import REPOSITORY, running_service

README = ["client/README.md"]
# Marks, ids and times differ from run to run.
RANDOM = re.compile(
    r"[0-9a-z]{4}·[0-9a-z]{4}|[0-9a-hjkmnp-tv-z]{26,}|\d{4}-\d\d-\d\d \d\d:\d\d"
)


def test_the_readme_can_be_followed_from_the_installation_on(tmp_path):
    require("bash and curl")
    source, installed = tmp_path / "client", tmp_path / "installed"
    shutil.copytree(
        REPOSITORY / "client", source, ignore=shutil.ignore_patterns("tests", "build")
    )
    pip = [sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps"]
    (first, _), *blocks = blocks_of(README, "bash")
    assert first == "pip install ./client\n"
    subprocess.run([*pip, "--quiet", "--target", installed, source], check=True)
    program = "\n".join(text for text, _ in blocks_of(README, "python"))
    path = f"{installed / 'bin'}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(installed)}
    options = {
        "cwd": tmp_path,
        "env": environment,
        "text": True,
        "stdout": subprocess.PIPE,
    }

    def run(command, text):
        text = text.replace("http://127.0.0.1:8000", service.url)
        return subprocess.run(command, input=text, check=True, **options).stdout

    with running_service(tmp_path) as service:
        printed = run(
            ["bash", "-eu", "-o", "pipefail"], "\n".join(text for text, _ in blocks)
        )
        printed = re.sub(" +\n", "\n", printed)
        link, states = run([sys.executable, "-"], program).splitlines()

    shown = "".join(text for _, (_, text) in blocks)
    assert RANDOM.sub("…", printed) == RANDOM.sub("…", shown)
    assert link.startswith(f"{service.url}/claim/deed_")
    assert states == "['spent', 'unspent']"
