"""The README and docs/clients.md, as pasted: their bash blocks run against a real service."""

import shlex
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from deeds.domain.raw_output import is_strong_secret
from tests.support.readme import WALK, assert_answers_as_shown, blocks_of, run_bash, walk
from tests.support.serving import Service, running_service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running_service(tmp_path_factory.mktemp("walk")) as service:
        yield service


@pytest.fixture(scope="module")
def printed(service: Service) -> list[str]:
    """What each bash block of the README prints."""
    return walk(service.url)


def test_the_blocks_of_the_readme_answer_as_it_shows(printed: list[str]) -> None:
    assert_answers_as_shown(printed)


def test_the_walk_mints_splits_claims_and_refuses_the_old_secret(printed: list[str]) -> None:
    whole = "".join(printed)

    assert whole.count('{"success":true}') == 4
    assert whole.count('"code":"spent_input"') == 1
    assert whole.count('{"states":["spent","unspent","unknown"]}') == 1


def test_the_python_line_makes_strong_secrets() -> None:
    [block] = [block for block in blocks_of(WALK, "bash") if block.text.startswith("python3 -c")]

    made = [run_bash(block.text).strip() for _ in range(3)]

    assert len(set(made)) == 3
    assert all(is_strong_secret(secret) for secret in made)


def test_the_backup_holds_the_ledger_and_is_its_owners_alone(
    printed: list[str], service: Service
) -> None:
    assert printed  # The walk was made, and the service still runs.
    ledger = service.log.parent / "deeds.db"
    [block] = [
        block for block in blocks_of(["docs/backups.md"], "sh") if "deeds backup" in block.text
    ]
    [line] = [line for line in block.text.splitlines() if "deeds backup" in line]
    backup = service.log.parent / "backup.sqlite3"
    for written, meant in (
        ("/elsewhere/deeds-monday.sqlite3", shlex.quote(str(backup))),
        (".venv/bin/flask ", f"{shlex.quote(sys.executable)} -m flask "),
    ):
        assert written in line
        line = line.replace(written, meant)

    run_bash(f"export DATABASE_URL=sqlite:///{ledger}\n{line}")

    assert backup.stat().st_mode & 0o777 == 0o600
    assert read_outputs(backup) == read_outputs(ledger)
    assert sum(amount for *_, amount, spent_by in read_outputs(backup) if not spent_by) == 100


def read_outputs(database: Path) -> list[tuple[str, bytes, int, int | None]]:
    with closing(sqlite3.connect(database)) as connection:
        query = "SELECT item_id, digest, amount, spent_by FROM outputs ORDER BY item_id, digest"
        return connection.execute(query).fetchall()
