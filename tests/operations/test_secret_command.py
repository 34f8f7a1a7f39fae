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


def test_it_prints_one_strong_secret(tmp_path: Path) -> None:
    ran = run_secret(tmp_path)

    assert ran.returncode == 0
    [secret] = ran.stdout.splitlines()
    assert is_strong_secret(secret)


def test_it_prints_as_many_different_ones_as_asked_for(tmp_path: Path) -> None:
    printed = run_secret(tmp_path, "--count", "20").stdout.splitlines()

    assert len(set(printed)) == len(printed) == 20
    assert all(is_strong_secret(secret) for secret in printed)


def test_it_needs_and_makes_no_database(tmp_path: Path) -> None:
    ran = run_secret(tmp_path)

    assert ran.returncode == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("count", ["0", "-1", "10001", "many"])
def test_an_odd_count_is_refused(tmp_path: Path, count: str) -> None:
    ran = run_secret(tmp_path, "--count", count)

    assert ran.returncode == 2
    assert ran.stdout == ""
    assert "Invalid value for '--count'" in ran.stderr
