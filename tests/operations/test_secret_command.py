"""`flask --app app deeds secret`, as an operator runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deeds.domain.strong_secret import is_strong_secret
from tests.support.serving import REPOSITORY


def run_secret(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command with a DATABASE_URL whose file could only be made in `directory`."""
    return subprocess.run(
        [sys.executable, "-m", "flask", "--app", "app", "deeds", "secret", *arguments],
        cwd=REPOSITORY,
        env=os.environ | {"DATABASE_URL": f"sqlite:///{directory / 'deeds.db'}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(("arguments", "count"), [([], 1), (["--count", "20"], 20)])
def test_it_prints_as_many_strong_secrets_as_asked_for_and_needs_no_database(
    tmp_path: Path, arguments: list[str], count: int
) -> None:
    printed = run_secret(tmp_path, *arguments).stdout.splitlines()

    assert len(set(printed)) == len(printed) == count
    assert all(is_strong_secret(secret) for secret in printed)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("count", ["0", "10001", "many"])
def test_an_invalid_count_is_refused(tmp_path: Path, count: str) -> None:
    ran = run_secret(tmp_path, "--count", count)

    assert (ran.returncode, ran.stdout) == (2, "")
    assert "Invalid value for '--count'" in ran.stderr
