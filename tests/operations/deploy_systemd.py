"""systemd's own view of deploy/deeds.service: `make operations`. Needs systemd-analyze."""

import re
import subprocess
import sys
from pathlib import Path

from tests.support.sources import read_text

# Of 10, where 0 is the safest: what systemd calls OK ends at 4.9.
EXPOSURE_MAX = 1.2


def analyze(*arguments):
    return subprocess.run(
        ["systemd-analyze", *arguments], capture_output=True, text=True, check=False
    )


def test_systemd_finds_nothing_wrong_with_the_unit_which_exposes_little(tmp_path):
    text = read_text("deploy/deeds.service")
    gunicorn = "/srv/deeds/app/.venv/bin/gunicorn"
    assert gunicorn in text
    unit = tmp_path / "deeds.service"
    # `verify` looks for the program.
    unit.write_text(text.replace(gunicorn, str(Path(sys.executable).parent / "gunicorn")))

    verified = analyze("verify", unit)
    judged = analyze("security", "--offline=true", "--no-pager", unit)

    assert (verified.returncode, verified.stdout, verified.stderr) == (0, "", "")
    [exposure] = re.findall(r"Overall exposure level for deeds.service: ([0-9.]+)", judged.stdout)
    assert float(exposure) <= EXPOSURE_MAX
