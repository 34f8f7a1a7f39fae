"""systemd's own view of deploy/deeds.service: `make operations`. Needs systemd-analyze."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.serving import REPOSITORY

UNIT = REPOSITORY / "deploy" / "deeds.service"

# Of 10, where 0 is the safest: what systemd calls OK ends at 4.9.
EXPOSURE_MAX = 1.2


@pytest.fixture
def unit(tmp_path):
    """The unit with paths that are there: `verify` looks for the program."""
    text = UNIT.read_text()
    gunicorn = "/srv/deeds/app/.venv/bin/gunicorn"
    assert gunicorn in text
    path = tmp_path / "deeds.service"
    path.write_text(text.replace(gunicorn, str(Path(sys.executable).parent / "gunicorn")))
    return path


def analyze(*arguments):
    return subprocess.run(
        ["systemd-analyze", *arguments], capture_output=True, text=True, check=False
    )


def test_systemd_finds_nothing_wrong_with_the_unit(unit):
    ran = analyze("verify", unit)

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_the_unit_exposes_little(unit):
    ran = analyze("security", "--offline=true", "--no-pager", unit)

    [exposure] = re.findall(r"Overall exposure level for deeds.service: ([0-9.]+)", ran.stdout)

    assert float(exposure) <= EXPOSURE_MAX
